"""Data sets in one form, and ambiguity made around true labels."""
