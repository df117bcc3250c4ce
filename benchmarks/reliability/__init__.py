"""Reliability: determinism, shared models, workers, fuzzing, numerical errors, memory and dependencies."""
