"""Answers of a labeling session: their log, their combination, degrees of certainty, and files of answers."""
