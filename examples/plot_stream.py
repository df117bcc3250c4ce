"""
Online learning from a stream
=============================

Online learners predict each row before the update with it, and process each row once. The mean loss of these
predictions, the *progressive loss*, needs no held-out rows.
"""

# %%
# The stream has 20,000 rows of ten overlapping classes, each with two distractors, in batches of 200. In the middle of
# the stream the distribution changes: the features are permuted.
import matplotlib.pyplot as plt
import numpy as np

import oneof

rng = np.random.default_rng(0)
n, n_classes, batch = 20_000, 10, 200
centers = 1.6 * rng.normal(size=(n_classes, 12))
truth = rng.integers(n_classes, size=n)
X = centers[truth] + rng.normal(size=(n, 12))
X[n // 2 :] = np.roll(X[n // 2 :], 5, axis=1)
y = oneof.make_partial_labels(truth, n_distractors=2, random_state=0)

# %%
# `partial_fit` continues from the current state. Every split into batches gives exactly the same weights.
learners = {
    "AvgPerceptron": oneof.AvgPerceptron(),
    "MaxPerceptron": oneof.MaxPerceptron(),
    "AvgPegasos": oneof.AvgPegasos(lam=1e-3),
    "MaxPegasos": oneof.MaxPegasos(lam=1e-3),
}
wrong = {name: [] for name in learners}
covered = {name: [] for name in learners}
for start in range(0, n, batch):
    rows = slice(start, start + batch)
    for name, learner in learners.items():
        if start:
            guess = learner.predict(X[rows])
            wrong[name].append(np.mean(guess != truth[rows]))
            covered[name].append(oneof.metrics.ambiguous_zero_one_loss(y[rows], guess))
        learner.partial_fit(X[rows], y[rows], classes=range(n_classes))

# %%
# The progressive loss (left, from the candidate sets) shows the same course as the true error (right).
figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.7), sharex=True)
thousands = np.arange(1, n // batch) * batch / 1000
for ax, curves, title in ((axes[0], covered, "predictions outside the set"), (axes[1], wrong, "wrong predictions")):
    for (name, values), dash in zip(curves.items(), ("-", "--", "-.", ":"), strict=True):
        smooth = np.convolve(np.pad(values, 3, mode="edge"), np.ones(7) / 7, mode="valid")
        ax.plot(thousands, smooth, dash, label=name)
    ax.axvline(n / 2000, color="0.6", linewidth=1)
    ax.set(title=title, xlabel="thousands of rows", ylim=(0, None))
    ax.grid(axis="y")
axes[1].legend(loc="upper left")
plt.show()

# %%
# `progressive_loss_` is the mean over the whole stream, row by row.
for name, learner in learners.items():
    print(f"{name:14} {learner.progressive_loss_:.3f}")
