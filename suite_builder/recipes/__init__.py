"""One module per benchmark: source files in, rows out."""
