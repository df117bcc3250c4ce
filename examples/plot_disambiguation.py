"""
Disambiguated labels and their confidence
=========================================

`disambiguate` returns the most probable candidate of each training row with a confidence. Most errors are among the
few rows with a low confidence, which are the ones to review by hand.
"""

# %%
# In this difficult case every row has seven candidates of ten classes.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.plots import plot_decisions

data = oneof.datasets.load("digits")
X, truth = data.X[:900] / 16, data.y[:900]
y = oneof.make_partial_labels(truth, n_distractors=6, random_state=0)
model = oneof.LOORidge(kernel="rbf").fit(X, y)
labels, confidence = model.disambiguate()
correct = labels == truth
print(f"accuracy of the labels: {correct.mean():.3f}; mean confidence: {confidence.mean():.3f}")

# %%
# Left: the label chosen for each candidate. Right: the accuracy if only the most confident rows are kept.
order = np.argsort(-confidence)
n_selected = np.arange(1, len(order) + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.9), width_ratios=(1.15, 1))
plot_decisions(y, labels, ax=left)
left.set_title("fraction of the sets with candidate a (row)\ndisambiguated as b (column)")
right.plot(n_selected / len(order), np.cumsum(correct[order]) / n_selected)
right.set(
    xlabel="fraction of rows kept, most confident first",
    title="accuracy of their labels",
    ylim=(0.94, 1.002),
    xlim=(0, 1),
)
right.grid(axis="y")
plt.show()

# %%
# Plot the rows to review. Each title has the chosen label and the true one.
doubtful = order[::-1][:8]
figure, axes = plt.subplots(1, 8, figsize=(8.6, 1.55))
for ax, row in zip(axes, doubtful, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="Greys")
    ax.set_axis_off()
    ax.set_title(f"{labels[row]}, true {truth[row]}", fontsize=9)
plt.show()
