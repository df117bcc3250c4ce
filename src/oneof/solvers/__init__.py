"""Functions from arrays to frozen, named results; they know nothing of estimators or label values."""
