"""Answer requests; run a suite. Knows the row types of a suite, nothing of scores or screens."""
