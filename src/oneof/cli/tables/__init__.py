"""The table of a command: candidate sets, features, columns that reveal the labels, and its summary."""
