"""
Model selection without true labels
===================================

`compare` cross-validates methods and ranks them by their expected accuracy on held-out candidate sets. This example
compares that ranking with the ranking by true labels.
"""

# %%
# The data are 400 digits, each with two distractors that resemble the true label. `truth` adds a column of accuracies
# to the table; it is never used to choose.
import matplotlib.pyplot as plt

import oneof

data = oneof.datasets.load("digits")
X, truth = data.X[:400], data.y[:400]
y = oneof.make_partial_labels(truth, n_distractors=2, distractors="confusable", random_state=1)
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
comparison = oneof.compare(X, y, methods, truth=truth, cv=4, random_state=0)
print(comparison)

# %%
# Methods with a higher expected accuracy tend to have a higher accuracy. The covering rate exceeds the accuracy,
# because some predictions are distractors. The approximated accuracy depends on the confidence, so it cannot compare
# methods whose scores have different scales, such as votes of neighbors (`PLKNN`, `IPAL`).
names = [result.method for result in comparison.results][::-1]
figure, ax = plt.subplots(figsize=(7.2, 4.2))
for position, result in enumerate(comparison.results[::-1]):
    ax.plot([result.accuracy, result.covering_rate], [position, position], color="#d3dae1", linewidth=3, zorder=0)
    error = result.accuracy_std / 2  # the standard error of four folds
    ax.plot([result.accuracy - error, result.accuracy + error], [position, position], color="#0072b2", linewidth=1.2)
ax.plot(
    [result.accuracy for result in comparison.results[::-1]], range(len(names)), "o", label="accuracy ± standard error"
)
for rate, marker in (("expected accuracy", "s"), ("covering rate", "D")):
    values = [getattr(result, rate.replace(" ", "_")) for result in comparison.results[::-1]]
    ax.plot(values, range(len(names)), marker, label=rate)
ax.set_yticks(range(len(names)), [f"{name}, chosen" if name == comparison.best_method else name for name in names])
ax.grid(axis="x")
ax.legend(loc="upper left")
plt.show()

# %%
# `best_estimator` is the pipeline of the chosen method, including its scaler, fitted on all rows.
print(comparison.best_estimator[-1])
