"""The table of a command: candidate sets, features, columns that reveal the labels, its summary, and its times."""
