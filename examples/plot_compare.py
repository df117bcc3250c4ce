"""
Comparing methods without a truth
=================================

`compare` fits methods under the same folds and judges them by held-out candidate sets. How near is that to what true
labels would have said?
"""

# %%
# 400 digits, each with two false labels that look like the true one. The truth is given here so that we can look behind
# the curtain: it fills a column of the table, and is never used to choose.
import matplotlib.pyplot as plt

import oneof

data = oneof.datasets.load("digits")
X, truth = data.X[:400], data.y[:400]
y = oneof.make_partial_labels(truth, extra=2, kind="confusable", random_state=1)
methods = [
    "LOORidge",
    "CLPL",
    "PLEM",
    "PLSVM",
    "PLKNN",
    "IPAL",
    "AvgPerceptron",
    "MaxPegasos",
    "GaussianEM",
    "MultinomialEM",
]
found = oneof.compare(X, y, methods, truth=truth, cv=4, random_state=0)
print(found)

# %%
# What covers more held-out sets is right more often, by and large. The covering rate is above the accuracy, since some
# predictions hit a false candidate. The approximated accuracy asks how sure a method is, and so cannot compare methods
# whose scores are on different scales, such as votes of neighbors (`PLKNN`, `IPAL`).
names = [result.method for result in found.results][::-1]
figure, ax = plt.subplots(figsize=(7.2, 4.2))
for at, result in enumerate(found.results[::-1]):
    ax.plot([result.accuracy, result.covering_rate], [at, at], color="#d3dae1", linewidth=3, zorder=0)
    half = result.accuracy_std / 2
    ax.plot([result.accuracy - half, result.accuracy + half], [at, at], color="#0072b2", linewidth=1.2)
ax.plot([result.accuracy for result in found.results[::-1]], range(len(names)), "o", label="accuracy ± standard error")
ax.plot(
    [result.covering_rate for result in found.results[::-1]], range(len(names)), "D", label="covering rate, no truth"
)
ax.set_yticks(range(len(names)), [f"{name}, chosen" if name == found.best_method else name for name in names])
ax.grid(axis="x")
ax.legend(loc="upper left")
plt.show()

# %%
# `best_estimator` is the winner's pipeline, scaler included, ready to be fitted to all rows.
found.best_estimator.fit(X, y)
