"""Rows as the labeling page shows them: table, images, audio, marked words, and proposed labels."""
