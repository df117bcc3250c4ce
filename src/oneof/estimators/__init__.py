"""The estimators: a family of methods in one file.

An estimator is the list of its parameters, its docstring and `_fit`, which calls a solver and stores the solution.
Reading order: `base` (`fit` from the validation of X and y on, prediction, disambiguation), `parameters` (the
constructor, checks and documentation of the parameters), then the family of a method, whose docstring gives its order.
Families do not import each other; the other modules are common to several of them.

* `loo_ridge`: `LOORidge`, kernel ridge regression
* `linear`: `CLPL`, `PLEM`
* `neighbors`: `PLKNN`, `IPAL`
* `svm`: `PLSVM`, `TransductiveSVM`
* `plgp`: `PLGP`, a Gaussian process
* `online`: `AvgPerceptron`, `MaxPerceptron`, `AvgPegasos`, `MaxPegasos`
* `graph`: `HarmonicField`, `LocalGlobalConsistency`, `MarkovWalk`, `PoissonLearning`,
  `SpectralGraphTransducer`
* `graph_logistic`: `GraphLogisticRegression`
* `generative`: `GaussianEM`, `MultinomialEM`
* `candidate_em`, `plecoc`: `CandidateEM`, `PLECOC`, which fit classifiers of scikit-learn; `soft_labels` has their
  common parts
* `candidate_stacking`: `CandidateStacking`, a weighted mean of several estimators of any family

`deduplicate` merges equal rows.
"""
