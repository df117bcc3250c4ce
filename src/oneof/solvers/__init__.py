"""Functions from arrays to frozen, named results, independent of estimators and label values.

Weights of linear scores are (n_classes, n_features), with a constant feature in the last column if there is one; in
the memory order of the rows, so that solvers of sparse rows store them feature by feature. Coefficients of rows, whose
sums over rows are such weights, are (n_rows, n_classes), as are scores; those of Nystroem features of a prior stand in
the place of the rows.
"""
