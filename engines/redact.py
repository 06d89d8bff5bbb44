"""Keeps secrets out of files, events and logs."""

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SECRET_NAME = re.compile(r"token|secret|password|api_?key|authorization|credential", re.IGNORECASE)
HIDDEN = "***"


def redact(value: Any, name: str = "") -> Any:
    """A copy of a JSON value without secrets: what has a secret's name becomes `***`, URLs lose their credentials."""
    if SECRET_NAME.search(name) and value not in (None, True, False):
        return HIDDEN
    if isinstance(value, dict):
        return {key: redact(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return without_credentials(value) if isinstance(value, str) else value


def without_credentials(text: str) -> str:
    """A URL without user name and password; any other text as it is."""
    if "://" not in text or "@" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
