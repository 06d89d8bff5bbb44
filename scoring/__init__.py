"""From rows and results to numbers. Knows nothing of engines at work or of screens."""
