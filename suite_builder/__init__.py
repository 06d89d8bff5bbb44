"""Pinned sources -> normalized files -> frozen suite. Knows nothing of engines, scores or screens."""
