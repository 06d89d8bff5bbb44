"""The two themes of the app and the few names that text may be styled with. A colour means one thing and never stands alone."""

from rich.theme import Theme as RichTheme
from textual.theme import Theme

DARK = Theme(
    name="di-dark",
    primary="#7aa2f7",
    secondary="#8c93b0",
    accent="#7dcfff",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    foreground="#c8cede",
    background="#16161e",
    surface="#16161e",
    panel="#232433",
    dark=True,
    variables={"muted": "#787c99", "footer-key-foreground": "#7dcfff", "block-cursor-background": "#30344d"},
)
LIGHT = Theme(
    name="di-light",
    primary="#2e5cb8",
    secondary="#5a6078",
    accent="#0f6f8f",
    success="#3a7216",
    warning="#8a5a00",
    error="#b3253f",
    foreground="#24283b",
    background="#fbfbf8",
    surface="#fbfbf8",
    panel="#e8e8e2",
    dark=False,
    variables={"muted": "#6b7089", "footer-key-foreground": "#0f6f8f", "block-cursor-background": "#ccd8f2"},
)


def text_styles(theme: Theme) -> RichTheme:
    """Style names for rich texts: `good`, `bad`, `warning`, `muted`, `accent`."""
    return RichTheme(
        {
            "good": theme.success,
            "bad": theme.error,
            "warning": theme.warning,
            "muted": theme.variables["muted"],
            "accent": theme.accent,
        },
        inherit=False,
    )
