"""Predictions of a saved model: for a table or a stream, with sets of classes if a coverage is given."""
