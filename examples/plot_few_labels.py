"""
Choose a method with few labels
===============================

Compare methods that use unlabeled rows by their accuracies on held-out labels. With 100 labels these separate the
methods only roughly.
"""

# %%
# The data are 500 digits, of which 100 have a label. `None` marks the unlabeled ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

import oneof

data = oneof.datasets.load("digits")
X, truth = data.X[:500], data.y[:500]
y = np.full(500, None, dtype=object)
rng = np.random.default_rng(0)
labeled = np.concatenate([rng.choice(np.flatnonzero(truth == k), 10, replace=False) for k in range(10)])
y[labeled] = truth[labeled]
comparison = oneof.compare(X, y, "few_labels", random_state=0)
print(comparison)

# %%
# Compare it with the accuracy on the 400 unlabeled rows, for which each method is fitted to all labels.
unlabeled = np.setdiff1d(np.arange(500), labeled)
results = [result for result in comparison.results if result.incomplete is None][::-1]
accuracy = []
for result in results:
    fitted = clone(comparison.estimators[result.method]).fit(X, y)
    accuracy.append(np.mean(fitted.predict(X[unlabeled]) == truth[unlabeled]))

figure, ax = plt.subplots(figsize=(7.2, 3.4))
ax.plot(accuracy, range(len(results)), "o", label="accuracy on the unlabeled rows")
ax.plot([result.covering_rate for result in results], range(len(results)), "s", label="accuracy on held-out labels")
names = [f"{r.method}, chosen" if r.method == comparison.best_method else r.method for r in results]
ax.set_yticks(range(len(results)), names)
ax.grid(axis="x")
ax.legend(loc="upper left")
plt.show()

# %%
# The labels of all rows are in `transduction_`.
print(comparison.best_method, f"{np.mean(comparison.transduction_[unlabeled] == truth[unlabeled]):.3f}")
