"""The estimators: one method, one file."""
