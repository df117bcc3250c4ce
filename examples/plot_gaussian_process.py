"""
Probabilities of a Gaussian process
===================================

`PLGP` has a posterior over latent functions. Its class probabilities are therefore close to uniform far from the
training rows and between classes.
"""

# %%
# Two features of iris suffice to plot the probabilities. Half of the rows have one distractor.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import oneof

data = oneof.datasets.load("iris")
X = StandardScaler().fit_transform(data.X[:, 2:])
y = oneof.make_partial_labels(data.y, fraction=0.5, n_distractors=1, random_state=0)
model = oneof.PLGP(random_state=0).fit(X, y)
print(model.kernel_)

# %%
# Left: the most probable class, paler at a lower probability; circles mark rows with two candidates. Right: the entropy
# of the probabilities, which is largest far from the rows.
grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.4, 70), np.linspace(-2.2, 2.4, 70)), axis=-1)
proba = model.predict_proba(grid.reshape(-1, 2)).reshape(70, 70, 3)
colors = np.array([[0.00, 0.45, 0.70], [0.90, 0.62, 0.00], [0.00, 0.62, 0.45]])
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.9), width_ratios=(1, 1.18))
extent = (-2.2, 2.4, -2.2, 2.4)
saturation = ((proba.max(axis=-1) - 1 / 3) * 1.5)[..., None]
left.imshow(1 - 0.6 * saturation * (1 - colors[proba.argmax(axis=-1)]), extent=extent, origin="lower", aspect="auto")
for k, marker in enumerate("os^"):
    left.scatter(
        *X[data.y == data.classes[k]].T, s=20, color=colors[k], marker=marker, edgecolor="white", linewidth=0.5
    )
left.scatter(*X[y.sizes == 2].T, s=70, facecolor="none", edgecolor="#1b2733", linewidth=0.7)
left.set(xlabel="petal length", ylabel="petal width", title="most probable class")
entropy = -(proba * np.log(np.maximum(proba, 1e-12))).sum(axis=-1)
image = right.imshow(entropy / np.log(3), extent=extent, origin="lower", cmap="cividis", aspect="auto", vmin=0, vmax=1)
right.scatter(*X.T, s=5, color="white", alpha=0.7)
right.set(xlabel="petal length", title="entropy as a fraction of its maximum")
figure.colorbar(image, ax=right)
plt.show()

# %%
# Calibration on digits, with two distractors in every row: of the predictions with probability .8, 80 % should be
# correct. As published the model is strongly underconfident over ten classes. A temperature that is fitted to the
# candidate sets by leave-one-out probabilities brings it close to the diagonal; it is slightly overconfident at low
# probabilities.
digits = oneof.datasets.load("digits")
sets = oneof.make_partial_labels(digits.y[:500], n_distractors=2, random_state=0)
figure, ax = plt.subplots(figsize=(4.6, 4.2))
ax.axline((0, 0), slope=1, color="0.6", linewidth=1)
for temperature, marker in ((1.0, "o"), ("loo", "s")):
    process = oneof.PLGP(temperature=temperature, optimizer=None, random_state=0).fit(digits.X[:500] / 16, sets)
    probabilities = process.predict_proba(digits.X[500:1500] / 16)
    top, hit = probabilities.max(axis=1), probabilities.argmax(axis=1) == digits.y[500:1500]
    parts = np.array_split(np.argsort(top), 8)
    ax.plot([top[p].mean() for p in parts], [hit[p].mean() for p in parts], marker=marker, label=f"{temperature=}")
ax.set(xlabel="predicted probability", ylabel="accuracy", xlim=(0, 1.02), ylim=(0, 1.02))
ax.legend(loc="lower right")
ax.grid()
plt.show()
