"""The experiments: one module for each, with its citation, trials, figures and claims."""
