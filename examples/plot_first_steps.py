"""
First steps with candidate sets
===============================

Four rows in five carry three candidate labels, one of them right. What is a classifier worth that learns from these?
"""

# %%
# Handwritten digits come with scikit-learn. `make_partial_labels` puts two false labels beside the true one.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.plots import plot_set_sizes

data = oneof.datasets.load("digits")
y = oneof.make_partial_labels(data.y, fraction=0.8, n_distractors=2, random_state=0)
X, y_train, X_test, truth = data.X[:1200], y[:1200], data.X[1200:], data.y[1200:]
print(y_train)

# %%
# A row's set is all that is known of it. `to_sets` shows what the first rows say.
for row, labels in enumerate(y_train[:5].to_sets()):
    print(row, sorted(labels))

# %%
# Every estimator takes such sets, and any mixture of exact, partial and missing labels. `score` is the *covering rate*:
# how often the prediction lies in the set. The accuracy needs the truth, which nothing here has seen.
model = oneof.PLKNN().fit(X, y_train)
print(f"covering rate on new rows: {model.score(X_test, y[1200:]):.3f}")
print(f"accuracy on new rows:      {np.mean(model.predict(X_test) == truth):.3f}")

# %%
# `disambiguate` names the likeliest member of each training row's set, and how sure the model is.
labels, confidence = model.disambiguate()
print(f"labels of the training rows: {np.mean(labels == data.y[:1200]):.3f} right")

# %%
# How much do false candidates cost? With one to five of them in *every* row, beside a model that was told the truth:
counts = range(6)
known = oneof.PLKNN().fit(X, data.y[:1200])
bound = np.mean(known.predict(X_test) == truth)
accuracy = []
for extra in counts:
    sets = oneof.make_partial_labels(data.y[:1200], n_distractors=extra, random_state=0) if extra else data.y[:1200]
    accuracy.append(np.mean(oneof.PLKNN().fit(X, sets).predict(X_test) == truth))

figure, (left, right) = plt.subplots(1, 2, width_ratios=(1, 1.4))
plot_set_sizes(y_train, ax=left)
left.set_title("the training sets")
right.plot(counts, accuracy, marker="o", label="learned from sets")
right.axhline(bound, color="0.55", linestyle="--", linewidth=1.2, label="learned from true labels")
right.set(title="accuracy on new rows", xlabel="false candidates in every row", ylim=(0.8, 1.0))
right.grid(axis="y")
right.legend(loc="lower left")
plt.show()
