"""`python -m di_tui`."""

from di_tui.cli import main

main()
