"""A script as users write it; mypy must know the type of each result."""

from typing import reveal_type

import numpy as np

import oneof
from oneof import PLSVM, CandidateSets, LOORidge, compare, make_partial_labels

data = oneof.datasets.load("iris")
sets = make_partial_labels(data.y, random_state=0)
reveal_type(data)
reveal_type(sets)
reveal_type(CandidateSets.from_strings(["finch|wren", "wren"]))
reveal_type(CandidateSets.from_labels([1, 2]))
reveal_type(sets[:10])
reveal_type(sets.mask)
reveal_type(sets.is_unlabeled)
reveal_type(sets.sizes)
reveal_type(sets.to_sets())
reveal_type(len(sets))

X = np.asarray(data.X)
machine = PLSVM(lam=0.01)
reveal_type(machine)
reveal_type(machine.fit(X, sets))
reveal_type(machine.predict(X))
reveal_type(machine.decision_function(X))
reveal_type(machine.score(X, sets))
reveal_type(machine.disambiguate())
reveal_type(machine.disambiguate().labels)
reveal_type(machine.coef_)
reveal_type(LOORidge().fit(X, sets).predict_proba(X))
reveal_type(oneof.PLGP().fit(X, sets))
reveal_type(oneof.PLKNN().fit(X, sets).predict_proba(X))
reveal_type(oneof.HarmonicField().fit(X, sets).transduction_)
reveal_type(oneof.MaxPerceptron().partial_fit(X, sets))
reveal_type(oneof.GraphLogisticRegression().fit(X, sets))

comparison = compare(X, sets, cv=2)
reveal_type(comparison)
reveal_type(oneof.compare(X, sets))
reveal_type(oneof.metrics.covering_rate(sets, data.y))
reveal_type(oneof.persistence.load("model.skops"))
reveal_type(oneof.model_selection.CandidateKFold(2))
reveal_type(oneof.__version__)
