"""
Comparing methods without a truth
=================================

`compare` fits methods under the same folds and judges them by held-out candidate sets. How near is that to what true
labels would have said?
"""

# %%
# Wine, with one false label beside every true one. The truth is given here so that we can look behind the curtain: it
# fills a column of the table, and is never used to choose.
import matplotlib.pyplot as plt

import oneof

data = oneof.datasets.load("wine")
y = oneof.make_partial(data.y, extra=1, random_state=1)
methods = ["LOORidge", "CLPL", "PLEM", "PLSVM", "PLKNN", "IPAL", "PLECOC", "AvgPerceptron", "MaxPegasos", "GaussianEM"]
found = oneof.compare(data.X, y, methods, truth=data.y, cv=5, random_state=0)
print(found)

# %%
# Each dot is a method. What covers more held-out sets is right more often, by and large: the covering rate is an upper
# bound of the accuracy, with false candidates that are hit by chance on top.
figure, ax = plt.subplots(figsize=(6.4, 4.2))
for result in found.results:
    best = result.method == found.winner
    ax.errorbar(
        result.covering_rate, result.accuracy, yerr=result.accuracy_std / 5**0.5, fmt="o", markersize=9 if best else 6,
        color="#d55e00" if best else "#0072b2", elinewidth=1, zorder=3 if best else 2,
    )  # fmt: skip
spots = sorted(found.results, key=lambda result: result.accuracy)
for at, result in enumerate(spots):
    side = -1 if at % 2 else 1
    ax.annotate(
        result.method, (result.covering_rate, result.accuracy), xytext=(8 * side, -3), textcoords="offset points",
        ha="left" if side > 0 else "right", fontsize=9,
    )  # fmt: skip
ax.axline((0.9, 0.9), slope=1, color="0.7", linewidth=1, linestyle=":")
ax.set(xlabel="covering rate, no truth needed", ylabel="accuracy (± standard error)")
ax.margins(0.16)
ax.grid(alpha=0.6)
plt.show()

# %%
# `best_estimator` is the winner's pipeline, scaler included, ready to be fitted to all rows.
found.best_estimator.fit(data.X, y)
