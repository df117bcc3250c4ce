"""
Which row to label next?
========================

Labels cost. `query` names the rows of a pool that would tell the model most; `simulate` plays the loop against labels
that are known, so that ways of asking can be compared.
"""

# %%
# Breast cancer, 569 rows. Each run starts from four labels and asks for forty more, one at a time; the accuracy is that
# on rows that are never asked for. With two classes "margin" would ask what "entropy" asks.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import oneof
from oneof.active import simulate

data = oneof.datasets.load("breast_cancer")
X, y = StandardScaler().fit_transform(data.X), data.y
n_mc_samples, n_queries = 6, 40


def learn(estimator, draw, **options):
    """Play the loop on 369 rows of the draw, judged on the other 200."""
    order = np.random.default_rng(draw).permutation(len(X))
    pool, held_out = order[:369], order[369:]
    test = {"X_test": X[held_out], "y_test": y[held_out]}
    return simulate(estimator, X[pool], y[pool], start=4, n_queries=n_queries, random_state=draw, **test, **options)


# A start is larger where its first four rows have one class alone: the curves end together.
curves = {}
for strategy in ("entropy", "random"):
    runs = [learn(LogisticRegression(C=0.1), draw, strategy=strategy) for draw in range(n_mc_samples)]
    curves[strategy] = np.array([run.accuracy[-n_queries:] for run in runs])

# %%
# "Information" is the mutual information between a label and the weights. It needs the posterior of
# `GraphLogisticRegression`, which learns from the rows without a label too; here it chooses five at a time.
runs = [learn(oneof.GraphLogisticRegression(tol=1e-4), draw, batch_size=5) for draw in range(2)]
curves["information,\ngraph prior"] = np.array([run.accuracy[-n_queries // 5 :] for run in runs])

# %%
figure, ax = plt.subplots()
for (name, accuracy), dash in zip(curves.items(), ("-", "--", "-."), strict=True):
    labels = np.linspace(4 + n_queries - n_queries * (1 - 1 / accuracy.shape[1]), 4 + n_queries, accuracy.shape[1])
    mean, error = accuracy.mean(axis=0), accuracy.std(axis=0) / len(accuracy) ** 0.5
    ax.plot(labels, mean, dash, label=name)
    ax.fill_between(labels, mean - error, mean + error, alpha=0.15, linewidth=0)
ax.set(
    xlabel="labels", title=f"accuracy on held-out rows, ± one standard error of {n_mc_samples} draws (graph prior: 2)"
)
ax.grid(axis="y")
ax.legend(loc="lower right")
plt.show()
