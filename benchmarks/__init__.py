"""Benchmarks of speed, accuracy and reliability: run ``python -m benchmarks`` for the list of themes and parts."""
