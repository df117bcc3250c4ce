"""Answers of annotators: the files that they are read from, and the description of the annotators."""
