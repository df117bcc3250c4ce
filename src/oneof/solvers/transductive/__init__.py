"""Transductive support vector machines (Joachims 1999): two classes, or one against the others.

Reading order: `tsvm` (label switching with annealed costs, for two classes and for one class against the others),
`weighted_svm` (the SVM with one cost for each row, and its Newton steps).
"""
