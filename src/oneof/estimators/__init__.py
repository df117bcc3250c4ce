"""The estimators: one method in one file, in one folder for each family.

An estimator is the list of its parameters, its docstring and `_fit`, which calls a solver and stores the solution.
Reading order: `base` (`fit` from the validation of X and y on, prediction, disambiguation), `parameters` (the
constructor, checks and documentation of the parameters), then the family of a method, whose docstring gives its order.
Families do not import each other; the modules at the top are common to several of them.

* `loo_ridge`: `LOORidge`, kernel ridge regression, which is a family of its own
* `linear`: `CLPL`, `PLEM`
* `neighbors`: `PLKNN`, `IPAL`
* `svm`: `PLSVM`, `TransductiveSVM`
* `gaussian_process`: `PLGP`
* `online`: `AvgPerceptron`, `MaxPerceptron`, `AvgPegasos`, `MaxPegasos`
* `graph`: `HarmonicField`, `LocalGlobalConsistency`, `MarkovWalk`, `PoissonLearning`,
  `SpectralGraphTransducer`
* `graph_logistic`: `GraphLogisticRegression`
* `generative`: `GaussianEM`, `MultinomialEM`
* `wrappers`: `CandidateEM`, `PLECOC`, which fit classifiers of scikit-learn
* `candidate_stacking`: `CandidateStacking`, a weighted mean of several estimators of any family

`tensors` adds torch tensors to `LOORidge` and `PLGP`; `deduplicate` merges equal rows.
"""
