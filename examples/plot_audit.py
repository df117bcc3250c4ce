"""
Find wrong labels (label noise)
===============================

Eight percent of the labels are wrong. An audit compares each label with a prediction that was made without it.
It shows the rows that are probably wrong, with the label proposed instead.
"""

# %%
# The images are handwritten digits. The errors are put in at random; the audit does not have the true labels.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.audit import find_label_issues

rng = np.random.default_rng(0)
data = oneof.datasets.load("digits")
X, truth = data.X[:900] / 16, data.y[:900]
wrong = rng.random(len(X)) < 0.08
y = np.where(wrong, (truth + rng.integers(1, 10, size=len(X))) % 10, truth)
issues = find_label_issues(X, y)
low, high = issues.n_wrong_interval
print(f"expected: {issues.n_wrong:.0f} wrong labels ({low:.0f} to {high:.0f}); in fact there are {wrong.sum()}")

# %%
# The sixteen most suspicious rows. The label that was given is crossed out, and the proposed one follows.
figure, axes = plt.subplots(2, 8, figsize=(8.4, 2.7), layout="constrained")
for ax, issue in zip(axes.flat, issues.top(16)):
    ax.imshow(X[issue.row].reshape(8, 8), cmap="gray_r", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    right = issue.proposed == truth[issue.row]
    label = f"{issue.candidates[0]}\N{COMBINING LONG STROKE OVERLAY} → {issue.proposed}"
    ax.set_title(label, fontsize=11, color="#2166ac" if right else "#d55e00")
plt.show()

# %%
# The probabilities separate the wrong labels from the right ones. Most rows have a probability near 0 or 1.
figure, ax = plt.subplots(figsize=(6.6, 2.6), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist([issues.probability[wrong], issues.probability[~wrong]], bins, stacked=True, color=["#d55e00", "#9cc3e3"],
        label=["wrong label", "right label"])  # fmt: skip
ax.set(yscale="log", xlabel="probability that the label is wrong", ylabel="rows")
ax.legend(frameon=False)
plt.show()

# %%
# A refit on the corrected weights is more accurate than a fit to the labels.
X_new, truth_new = data.X[900:] / 16, data.y[900:]
for estimator in (oneof.LOORidge(), oneof.PLSVM(), oneof.PLEM()):
    plain = np.mean(estimator.fit(X, y).predict(X_new) == truth_new)
    refit = np.mean(estimator.fit(X, issues.corrected()).predict(X_new) == truth_new)
    print(f"{type(estimator).__name__:8} {plain:.3f} -> {refit:.3f}")
