"""Labels of tables: columns of labels and weights, known labels of some rows, and classes that may be misspelled."""
