"""The one error that this package raises for a person to read."""


class SuiteError(Exception):
    """A suite, source or rows file cannot be used; the message says which, why and what to do."""
