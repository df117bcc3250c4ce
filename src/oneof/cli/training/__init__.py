"""Fits and their files: a model on a table or a stream, and the time that it takes."""
