"""
Soft labels: labels with probabilities
======================================

A language model or a classifier returns a few labels with probabilities. A candidate set discards the probabilities,
and the first label discards the alternatives. Weights keep both.
"""

# %%
# Each row is a point on one of three arms. Its label has a weight for each class. In two of three rows, the true class
# has the largest weight.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

import oneof
from oneof import CandidateSets

rng = np.random.default_rng(0)
truth = rng.integers(3, size=900)
angle = np.sqrt(rng.random(900)) * 4.2
arm = angle + truth * 2 * np.pi / 3
X = np.c_[angle * np.cos(arm), angle * np.sin(arm)] + rng.normal(scale=0.16, size=(900, 2))
weights = oneof.make_partial_labels(truth, n_distractors=2, weights="graded", strength=1.1, random_state=0)
print(weights)
print(weights.weights[:3].round(2))

# %%
# Fit the first 600 rows with weights, and with the class of the largest weight alone. `label_distributions_` combines
# the weights of a row with the predictions of its neighborhood.
model = oneof.LOORidge(kernel="rbf", features="standard").fit(X[:600], weights[:600])
first = weights.weights.argmax(axis=1)
plain = oneof.LOORidge(kernel="rbf", features="standard").fit(X[:600], first[:600])
colors = np.array([to_rgb(color) for color in ("#0072b2", "#e69f00", "#009e73")])


def draw(ax, shares, title):
    """Plot the rows of fit; the color of a row mixes those of the classes by their shares."""
    shares = shares / shares.sum(axis=1, keepdims=True)
    ax.scatter(*X[:600].T, s=14, c=np.clip(shares @ colors, 0, 1), linewidth=0)
    ax.set_title(title, fontsize=10, loc="center")
    ax.set_aspect("equal")
    ax.set_axis_off()


first_correct, fit_correct = (np.mean(labels == truth[:600]) for labels in (first[:600], model.transduction_))
figure, axes = plt.subplots(1, 3, figsize=(8.6, 3.5))
draw(axes[0], weights.weights[:600], f"weights: the largest one is\ncorrect in {first_correct:.0%} of the rows")
draw(axes[1], model.label_distributions_, f"label distributions after the fit:\n{fit_correct:.0%} correct")
draw(axes[2], np.eye(3)[truth[:600]], "true labels\n")
plt.show()
for name, fitted in (("weights", model), ("first label", plain)):
    print(f"{name:12} {np.mean(fitted.predict(X[600:]) == truth[600:]):.3f} accuracy on new rows")

# %%
# Compare weights, sets and first labels on digits. Every row has four candidates, and `strength` determines how often
# the true one has the largest weight.
data = oneof.datasets.load("digits")
rows, new = slice(0, 500), slice(500, None)
strengths = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
result = {"weights": [], "candidate sets": [], "first label": []}
share = []
for strength in strengths:
    y = oneof.make_partial_labels(data.y[rows], n_distractors=3, weights="graded", strength=strength, random_state=0)
    labels = {"weights": y, "candidate sets": CandidateSets(y.mask, y.classes), "first label": y.weights.argmax(axis=1)}
    share.append(np.mean(labels["first label"] == data.y[rows]))
    for name, label in labels.items():
        fitted = oneof.PLEM().fit(data.X[rows] / 16, label)
        result[name].append(np.mean(fitted.predict(data.X[new] / 16) == data.y[new]))

figure, ax = plt.subplots(figsize=(6.6, 3.4))
for (name, values), marker in zip(result.items(), "Dso", strict=True):
    ax.plot(share, values, marker + "-", label=name)
ax.set(xlabel="fraction of rows with the largest weight at the true class", ylabel="accuracy on new rows")
ax.grid(axis="y")
ax.legend()
plt.show()
