"""Fits and their files: a model on a table or a stream."""
