"""
Prediction sets (conformal prediction)
======================================

A prediction set contains the true class of a new row with a given probability. It has one class for a clear image, and
several for an unclear one.
"""

# %%
# The classifier is fitted to 200 digits, whose leave-one-out predictions calibrate the sets.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.conformal import ConformalClassifier, evaluate_sets

data = oneof.datasets.load("digits")
order = np.random.default_rng(0).permutation(len(data.y))
X, truth = data.X[order] / 16, data.y[order]
model = ConformalClassifier(oneof.LOORidge(kernel="rbf"), coverage=0.985, cv="leave_one_out")
model.fit(X[:200], truth[:200])
sets = model.predict_set(X[200:])
print(f"{(sets.sizes == 1).mean():.0%} of the sets have one class, the largest has {sets.sizes.max()}")

# %%
# The coverage of the new rows follows the nominal one, within the sampling error of 200 calibration rows. Below the
# accuracy, the sets have one class each, and cover more than requested, since no set is empty.
nominal = np.linspace(0.9, 0.985, 35)
results = [evaluate_sets(model.predict_set(X[200:], coverage=coverage), truth[200:]) for coverage in nominal]
accuracy = model.score(X[200:], truth[200:])

# %%
# On the left, digits with sets of one, two and three classes, and the true class. On the right, the coverage
# and the mean size.
figure = plt.figure(figsize=(9.6, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1.15, 1])
axes = left.subplots(3, 4)
for row, chosen in zip(axes, (sets.sizes == 1, sets.sizes == 2, sets.sizes == 3), strict=True):
    for ax, i in zip(row, np.flatnonzero(chosen)[:4], strict=False):
        ax.imshow(X[200 + i].reshape(8, 8), cmap="gray_r", interpolation="bilinear")
        members = ", ".join(map(str, sorted(sets[[i]].to_sets()[0])))
        ax.set_title(f"{{{members}}}", fontsize=10, color="C0")
        ax.set_xlabel(f"true: {truth[200 + i]}", fontsize=8)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
upper, lower = right.subplots(2, 1, sharex=True)
upper.plot(nominal, nominal, color="#9aa7b3", linestyle="--", label="nominal")
upper.plot(nominal, [result.coverage for result in results], label="new rows")
upper.axhline(accuracy, color="#d55e00", linewidth=1, label="accuracy")
upper.set(ylabel="coverage", ylim=(0.895, 1.003))
upper.legend(frameon=False, fontsize=8, loc="upper left")
lower.plot(nominal, [result.mean_size for result in results])
lower.set(xlabel="nominal coverage", ylabel="mean size", ylim=(0.95, None))
plt.show()
