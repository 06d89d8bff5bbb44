"""The one error that this package raises for a person to read."""


class ScoreError(Exception):
    """A run cannot be scored; the message says why and what to do."""
