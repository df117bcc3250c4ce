"""
Two views, with missing sensors
===============================

Each row was measured by one or both of two sensors. `GraphLogisticRegression(views=...)` fits weights for each sensor,
regularizes their predictions to agree on rows with both, and classifies a row by the views that it has.
"""

# %%
# The data are simulated mines and clutter, measured by a spectral sensor with 40 bands and a radar with 9
# features. The columns of a missing sensor are NaN. One sixth of the rows are labeled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

import oneof
from oneof.datasets import make_two_sensors

rows = make_two_sensors(n_rows=(120, 200, 250), n_features=(40, 9), random_state=1)
both = ~np.isnan(rows.X).any(axis=1)
rng = np.random.default_rng(0)
labeled = rng.random(len(rows.y)) < np.where(both, 0.25, 0.1)
y = np.where(labeled, rows.y, None)
test = both & ~labeled
print(f"{labeled.sum()} of {len(y)} rows are labeled; the test set has {test.sum()} rows with both sensors")

# %%
# One model of both views predicts from the first view, from the second, and from both: `predict_proba(view=...)` uses
# a single view.
model = oneof.GraphLogisticRegression(views=rows.views, tol=1e-4).fit(rows.X, y)
mine = list(model.classes_).index("mine")
scores = {
    "first sensor": model.predict_proba(rows.X[test], view=0)[:, mine],
    "second sensor": model.predict_proba(rows.X[test], view=1)[:, mine],
    "both": model.predict_proba(rows.X[test])[:, mine],
}
print("weights of the views:", model.view_weights_.round(2))

# %%
# Each sensor misses some mines, but both rarely miss the same one.
truth = rows.y[test] == "mine"
figure, ax = plt.subplots(figsize=(5, 4.4))
ax.axline((0, 0), slope=1, color="0.75", linewidth=1, linestyle=":")
for (name, score), dash in zip(scores.items(), ("--", "-.", "-"), strict=True):
    false, true, _ = roc_curve(truth, score)
    ax.plot(false, true, dash, label=f"{name}: area {roc_auc_score(truth, score):.3f}")
ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1), ylim=(0, 1.01))
ax.legend(loc="lower right")
plt.show()
