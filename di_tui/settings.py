"""What the app remembers between two starts: one small JSON file in the user's configuration folder."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from engines.run_dir import RunError, read_json, write_json


@dataclass(frozen=True)
class Settings:
    """Remembered choices."""

    dark: bool = True


def settings_file() -> Path:
    """`$XDG_CONFIG_HOME/di-tui/settings.json`, by default below `~/.config`."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "di-tui" / "settings.json"


def load() -> Settings:
    """The remembered choices; the usual ones where the file is missing or not readable."""
    try:
        record = read_json(settings_file()) or {}
        return Settings(dark=bool(record.get("dark", True)))
    except (RunError, OSError, AttributeError):
        return Settings()


def save(settings: Settings) -> None:
    """Remember choices.

    Raises:
        RunError: the file cannot be written.
    """
    path = settings_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot create {path.parent}: {error.strerror}") from None
    write_json(path, asdict(settings))
