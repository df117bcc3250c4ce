"""
Graphs: two moons and two labels
================================

With one label a class, a classifier of labeled rows can do little. The other rows show where the classes lie:
labels travel along the links of a graph of near rows.
"""

# %%
# 300 rows in two half moons. Two have a label, -1 stands for "none".
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import oneof

X, truth = make_moons(300, noise=0.06, random_state=0)
y = np.full(len(X), -1)
labeled = [int(np.flatnonzero(truth == k)[np.argmin(np.abs(X[truth == k, 0] - (0.0, 1.0)[k]))]) for k in (0, 1)]
y[labeled] = truth[labeled]

# %%
# A machine that sees two rows, and three methods that see all. `transduction_` is what they decide of the rows of fit.
methods = {
    "PLSVM, the two labels alone": oneof.PLSVM(),
    "HarmonicField": oneof.HarmonicField(),
    "LocalGlobalConsistency": oneof.LocalGlobalConsistency(),
    "SpectralGraphTransducer": oneof.SpectralGraphTransducer(affinity="gaussian", n_neighbors=8),
}
figure, axes = plt.subplots(2, 2, figsize=(8.2, 5.4), sharex=True, sharey=True)
for ax, (name, method) in zip(axes.ravel(), methods.items(), strict=True):
    method.fit(X, y)
    given = getattr(method, "transduction_", None)
    guess = method.predict(X) if given is None else given
    for k, color, marker in ((0, "#0072b2", "o"), (1, "#e69f00", "s")):
        ax.scatter(*X[guess == k].T, s=16, color=color, marker=marker, linewidth=0)
    ax.scatter(*X[labeled].T, s=150, facecolor="none", edgecolor="#1b2733", linewidth=1.8)
    ax.set_title(f"{name}: {np.mean(guess == truth):.1%} right")
    ax.set_aspect("equal")
    ax.set_axis_off()
plt.show()

# %%
# The links themselves, and how sure each row is of its class: `label_distributions_` fades from one moon to the other
# where a few links bridge the gap.
model = methods["HarmonicField"]
links = model.affinity_.tocoo()
figure, ax = plt.subplots(figsize=(7.2, 3.6))
for i, j in zip(links.row, links.col, strict=True):
    if i < j:
        ax.plot(*X[[i, j]].T, color="#c3ccd5", linewidth=0.7, zorder=0)
shown = ax.scatter(*X.T, c=model.label_distributions_[:, 1], cmap="cividis", s=22, vmin=0, vmax=1)
ax.scatter(*X[labeled].T, s=150, facecolor="none", edgecolor="#d55e00", linewidth=2)
figure.colorbar(shown, ax=ax, label="share of the second class")
ax.set_axis_off()
plt.show()
