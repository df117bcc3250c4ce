"""Labeling sessions: the rows and options of a session, their stored options, and several annotators."""
