"""
Two sensors, some rows with one alone
=====================================

Each row was seen by one sensor or by both. `GraphLogisticRegression(views=...)` keeps weights for each sensor, lets
them agree on rows that both have seen, and classifies a row by what it has.
"""

# %%
# Made-up mines and clutter: a spectral sensor of 40 bands, a radar of 9 features. A row lacks a sensor where all of its
# columns are NaN. A sixth of the rows have a label.
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
judged = both & ~labeled
print(f"{labeled.sum()} of {len(y)} rows have a label; judged are {judged.sum()} rows that both sensors have seen")

# %%
# One model of both views, asked with the first alone, the second alone, and both: `predict_proba(view=...)` looks at
# one.
model = oneof.GraphLogisticRegression(views=rows.views, tol=1e-4).fit(rows.X, y)
mine = list(model.classes_).index("mine")
scores = {
    "first sensor": model.predict_proba(rows.X[judged], view=0)[:, mine],
    "second sensor": model.predict_proba(rows.X[judged], view=1)[:, mine],
    "both": model.predict_proba(rows.X[judged])[:, mine],
}
print("what each view is worth:", model.view_weights_.round(2))

# %%
# A mine hides from either sensor now and then, from both seldom.
truth = rows.y[judged] == "mine"
figure, ax = plt.subplots(figsize=(5, 4.4))
ax.axline((0, 0), slope=1, color="0.75", linewidth=1, linestyle=":")
for (name, score), dash in zip(scores.items(), ("--", "-.", "-"), strict=True):
    false, true, _ = roc_curve(truth, score)
    ax.plot(false, true, dash, label=f"{name}: area {roc_auc_score(truth, score):.3f}")
ax.set(xlabel="clutter taken for mines", ylabel="mines found", xlim=(-0.01, 1), ylim=(0, 1.01))
ax.legend(loc="lower right")
plt.show()
