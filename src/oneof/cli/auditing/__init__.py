"""Audits on the command line: those of `oneof audit`, of a fit with a noise rate, and of the labeling page."""
