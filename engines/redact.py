"""Keeps secrets out of files, events and logs."""

import json
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SECRET_NAME = re.compile(r"(^|[_-])(token|secret|password|api[_-]?key|authorization|credentials?)$", re.IGNORECASE)
HIDDEN = "***"


def redact(value: Any, name: str = "") -> Any:
    """A copy of a JSON value without secrets: a text with a secret's name becomes `***`, URLs lose their credentials. A
    text that is itself a JSON object or array is treated as one."""
    if isinstance(value, str):
        return HIDDEN if SECRET_NAME.search(name) else _redact_text(value)
    if isinstance(value, dict):
        return {key: redact(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _redact_text(text: str) -> str:
    if text[:1] in ("{", "["):
        try:
            return json.dumps(redact(json.loads(text)), ensure_ascii=False)
        except ValueError:
            pass
    return without_credentials(text)


def without_credentials(text: str) -> str:
    """A URL without user name and password; any other text as it is."""
    if "://" not in text or "@" not in text:
        return text
    parts = urlsplit(text)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
