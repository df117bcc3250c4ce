"""
Which candidate is it, and how sure is that?
============================================

A fitted model names the likeliest member of each training row's set, with a confidence. Rows of which it is unsure
are few, and most errors are among them: those are the ones to look at by hand.
"""

# %%
# Hard on purpose: every row has seven candidates of ten. Less is said of a row by its set than is left open.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof.plots import plot_decisions

data = oneof.datasets.load("digits")
X, truth = data.X[:900] / 16, data.y[:900]
y = oneof.make_partial_labels(truth, n_distractors=6, random_state=0)
model = oneof.LOORidge(kernel="rbf").fit(X, y)
labels, confidence = model.disambiguate()
right = labels == truth
print(f"{right.mean():.3f} of the labels are right; the mean confidence is {confidence.mean():.3f}")

# %%
# Left: what became of the candidates. Right: if only the surest rows are kept, how many of their labels are right?
order = np.argsort(-confidence)
kept = np.arange(1, len(order) + 1)
figure, (left, middle) = plt.subplots(1, 2, figsize=(8.6, 3.9), width_ratios=(1.15, 1))
plot_decisions(y, labels, ax=left)
left.set_title("share of the sets with a (row)\ndecided as b (column)")
middle.plot(kept / len(order), np.cumsum(right[order]) / kept)
middle.set(
    xlabel="share of rows kept, the surest first", title="labels that are right", ylim=(0.94, 1.002), xlim=(0, 1)
)
middle.grid(axis="y")
plt.show()

# %%
# The rows that are left for a person. The title has what was decided, and the true label.
doubtful = order[::-1][:8]
figure, axes = plt.subplots(1, 8, figsize=(8.6, 1.55))
for ax, row in zip(axes, doubtful, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="Greys")
    ax.set_axis_off()
    ax.set_title(f"{labels[row]}, true {truth[row]}", fontsize=9)
plt.show()
