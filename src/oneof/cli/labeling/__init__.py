"""Labeling sessions: the rows and options of a session, and several annotators."""
