"""One module per benchmark: source files in, rows out. `recipe` in benchmarks.json names a benchmark's module.

A recipe declares `CATALOG_ID`, `DATA` where it has data files in this package, and `rows(files)`, which takes the
source files by their path. That of a base benchmark declares `STYLE`, how its normalized lines are written, and yields
(track, row), one track after the other; that of an added one yields rows without `_evaluation`. Keys come in the
published order. Rows name the pinned sources, wherever and in whatever equal release the files were found.
"""
