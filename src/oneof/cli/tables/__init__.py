"""The table of a command: candidate sets, features, columns that reveal the labels, its summary, and the time of a fit."""
