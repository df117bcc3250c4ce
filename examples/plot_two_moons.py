"""
Graphs with few labels: two moons
=================================

With one label in each class a supervised classifier performs poorly. Graph methods also use the unlabeled rows: labels
propagate along the edges of a nearest-neighbor graph.
"""

# %%
# There are 300 rows in two half moons. Two rows have a label; -1 marks the unlabeled ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import oneof

X, truth = make_moons(300, noise=0.06, random_state=0)
y = np.full(len(X), -1)
labeled = [int(np.flatnonzero(truth == k)[np.argmin(np.abs(X[truth == k, 0] - (0.0, 1.0)[k]))]) for k in (0, 1)]
y[labeled] = truth[labeled]

# %%
# Compare a supervised SVM with three graph methods. `transduction_` has the labels of the rows of `fit`.
methods = {
    "PLSVM, labeled rows only": oneof.PLSVM(),
    "HarmonicField": oneof.HarmonicField(),
    "LocalGlobalConsistency": oneof.LocalGlobalConsistency(),
    "SpectralGraphTransducer": oneof.SpectralGraphTransducer(affinity="gaussian", n_neighbors=8),
}
figure, axes = plt.subplots(2, 2, figsize=(8.2, 5.4), sharex=True, sharey=True)
for ax, (name, method) in zip(axes.ravel(), methods.items(), strict=True):
    method.fit(X, y)
    transduction = getattr(method, "transduction_", None)
    labels = method.predict(X) if transduction is None else transduction
    for k, color, marker in ((0, "#0072b2", "o"), (1, "#e69f00", "s")):
        ax.scatter(*X[labels == k].T, s=16, color=color, marker=marker, linewidth=0)
    ax.scatter(*X[labeled].T, s=150, facecolor="none", edgecolor="#1b2733", linewidth=1.8)
    ax.set_title(f"{name}: {np.mean(labels == truth):.1%} accuracy")
    ax.set_aspect("equal")
    ax.set_axis_off()
plt.show()

# %%
# Plot the edges of the graph and the label distributions: `label_distributions_` changes gradually where a few edges
# cross the gap between the moons.
model = methods["HarmonicField"]
edges = model.affinity_.tocoo()
figure, ax = plt.subplots(figsize=(7.2, 3.6))
for i, j in zip(edges.row, edges.col, strict=True):
    if i < j:
        ax.plot(*X[[i, j]].T, color="#c3ccd5", linewidth=0.7, zorder=0)
points = ax.scatter(*X.T, c=model.label_distributions_[:, 1], cmap="cividis", s=22, vmin=0, vmax=1)
ax.scatter(*X[labeled].T, s=150, facecolor="none", edgecolor="#d55e00", linewidth=2)
figure.colorbar(points, ax=ax, label="probability of the second class")
ax.set_axis_off()
plt.show()
