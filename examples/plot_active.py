"""
Active learning: selecting the rows to label next
=================================================

Labels are expensive. `query` selects the most informative rows of a pool; `simulate` runs the loop on labels that are
known, to compare query strategies.
"""

# %%
# The data are the 569 rows of breast cancer. Each run starts with four labels and queries forty more, one at a time.
# The accuracy is measured on rows that are never queried. With two classes "margin" selects the same rows as "entropy".
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import oneof
from oneof.active import simulate

data = oneof.datasets.load("breast_cancer")
X, y = StandardScaler().fit_transform(data.X), data.y
n_runs, n_queries = 6, 40


def run_simulation(estimator, seed, **options):
    """Simulate the queries on 369 random rows, with the other 200 as the test set."""
    order = np.random.default_rng(seed).permutation(len(X))
    pool, held_out = order[:369], order[369:]
    test = {"X_test": X[held_out], "y_test": y[held_out]}
    return simulate(estimator, X[pool], y[pool], start=4, n_queries=n_queries, random_state=seed, **test, **options)


# A run starts with more labels if its first four rows have one class only; the curves are aligned at their ends.
curves = {}
for strategy in ("entropy", "random"):
    runs = [run_simulation(LogisticRegression(C=0.1), seed, strategy=strategy) for seed in range(n_runs)]
    curves[strategy] = np.array([run.accuracy[-n_queries:] for run in runs])

# %%
# "mutual_information" is the information between a label and the weights. It needs the posterior of
# `GraphLogisticRegression`, which also learns from unlabeled rows; here it selects batches of five.
runs = [run_simulation(oneof.GraphLogisticRegression(tol=1e-4), seed, batch_size=5) for seed in range(2)]
curves["mutual information,\ngraph prior"] = np.array([run.accuracy[-n_queries // 5 :] for run in runs])

# %%
figure, ax = plt.subplots()
for (name, accuracy), dash in zip(curves.items(), ("-", "--", "-."), strict=True):
    labels = np.linspace(4 + n_queries - n_queries * (1 - 1 / accuracy.shape[1]), 4 + n_queries, accuracy.shape[1])
    mean, error = accuracy.mean(axis=0), accuracy.std(axis=0) / len(accuracy) ** 0.5
    ax.plot(labels, mean, dash, label=name)
    ax.fill_between(labels, mean - error, mean + error, alpha=0.15, linewidth=0)
ax.set(xlabel="labels", title=f"accuracy on held-out rows, ± one standard error of {n_runs} seeds (graph prior: 2)")
ax.grid(axis="y")
ax.legend(loc="lower right")
plt.show()
