"""One file an experiment: its citation, its trials, its drawing, its claims."""
