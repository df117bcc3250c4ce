"""
First steps with partial labels
===============================

Four rows of five have three candidate labels, one of which is true. This example fits a classifier to them and
measures its accuracy.
"""

# %%
# Handwritten digits are included in scikit-learn. `make_partial_labels` adds two distractors to the true label.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.plots import plot_set_sizes

data = oneof.datasets.load("digits")
y = oneof.make_partial_labels(data.y, fraction=0.8, n_distractors=2, random_state=0)
X, y_train, X_test, truth = data.X[:1200], y[:1200], data.X[1200:], data.y[1200:]
print(y_train)

# %%
# The candidate set of a row is the only supervision. `to_sets` returns the sets of the first rows.
for row, labels in enumerate(y_train[:5].to_sets()):
    print(row, sorted(labels))

# %%
# Every estimator accepts any mixture of exact, partial and unlabeled rows. `score` is the *covering rate*: the fraction
# of predictions that lie in the candidate set. The accuracy needs the true labels, which were not used in `fit`.
model = oneof.PLKNN().fit(X, y_train)
print(f"covering rate on new rows: {model.score(X_test, y[1200:]):.3f}")
print(f"accuracy on new rows:      {np.mean(model.predict(X_test) == truth):.3f}")

# %%
# `disambiguate` returns the most probable candidate of each training row with its confidence.
labels, confidence = model.disambiguate()
print(f"accuracy of the disambiguated labels: {np.mean(labels == data.y[:1200]):.3f}")

# %%
# Compute the accuracy with one to five distractors in *every* row, and compare it with a model fitted to true labels:
counts = range(6)
reference = oneof.PLKNN().fit(X, data.y[:1200])
bound = np.mean(reference.predict(X_test) == truth)
accuracy = []
for n_distractors in counts:
    sets = data.y[:1200]
    if n_distractors:
        sets = oneof.make_partial_labels(sets, n_distractors=n_distractors, random_state=0)
    accuracy.append(np.mean(oneof.PLKNN().fit(X, sets).predict(X_test) == truth))

figure, (left, right) = plt.subplots(1, 2, width_ratios=(1, 1.4))
plot_set_sizes(y_train, ax=left)
left.set_title("training candidate sets")
right.plot(counts, accuracy, marker="o", label="candidate sets")
right.axhline(bound, color="0.55", linestyle="--", linewidth=1.2, label="true labels")
right.set(title="accuracy on new rows", xlabel="distractors in every row", ylim=(0.8, 1.0))
right.grid(axis="y")
right.legend(loc="lower left")
plt.show()
