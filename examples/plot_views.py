"""
Multi-view learning with missing sensors
========================================

Each row was measured by one or both of two sensors. `GraphLogisticRegression(views=...)` fits weights for each sensor,
regularizes their predictions to agree on rows with both, and classifies a row by the views that it has.
"""

# %%
# The data are simulated mines and clutter, measured by a spectral sensor with 40 bands and a radar with 9
# features. Each sensor sees three quarters of the mines. The columns of a missing sensor are NaN. One sixth of the rows
# are labeled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

import oneof

rng = np.random.default_rng(1)
truth = np.where(rng.random(570) < 0.25, "mine", "clutter")
views = [np.arange(40), np.arange(40, 49)]
X = rng.normal(size=(570, 49))
for columns, distance in zip(views, (5.0, 3.0), strict=True):
    seen = (truth == "mine") & (rng.random(570) < 0.75)
    X[np.ix_(seen, columns)] += rng.uniform(0.5, 1.5, (seen.sum(), 1)) * distance / np.sqrt(len(columns))
X[:120, views[1]] = np.nan
X[120:320, views[0]] = np.nan
both = ~np.isnan(X).any(axis=1)
labeled = rng.random(570) < np.where(both, 0.25, 0.1)
y = np.where(labeled, truth, None)
test = both & ~labeled
print(f"{labeled.sum()} of {len(y)} rows are labeled; the test set has {test.sum()} rows with both sensors")

# %%
# One model of both views predicts from the first view, from the second, and from both: `predict_proba(view=...)` uses
# a single view.
model = oneof.GraphLogisticRegression(views=views, tol=1e-4).fit(X, y)
mine = list(model.classes_).index("mine")
scores = {
    "first sensor": model.predict_proba(X[test], view=0)[:, mine],
    "second sensor": model.predict_proba(X[test], view=1)[:, mine],
    "both": model.predict_proba(X[test])[:, mine],
}
print("weights of the views:", model.view_weights_.round(2))

# %%
# Each sensor misses some mines, but both rarely miss the same one.
figure, ax = plt.subplots(figsize=(5, 4.4))
ax.axline((0, 0), slope=1, color="0.75", linewidth=1, linestyle=":")
for (name, score), dash in zip(scores.items(), ("--", "-.", "-"), strict=True):
    false, true, _ = roc_curve(truth[test] == "mine", score)
    ax.plot(false, true, dash, label=f"{name}: area {roc_auc_score(truth[test] == 'mine', score):.3f}")
ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1), ylim=(0, 1.01))
ax.legend(loc="lower right")
plt.show()
