"""Functions from arrays to frozen, named results, independent of estimators and label values."""
