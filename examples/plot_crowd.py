"""
Crowdsourced labels
===================

Five annotators label the rows, most of them with low accuracy. A majority vote discards the answers of the minority;
candidate sets keep them, and the features disambiguate.
"""

# %%
# Each annotator has a different accuracy, and otherwise answers a digit that looks similar; 5 % of the
# answers are random, and 40 % are missing.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof import CandidateSets

rng = np.random.default_rng(0)
data = oneof.datasets.load("digits")
X, truth = data.X[:800], data.y[:800]
accuracy = np.array([0.75, 0.6, 0.5, 0.45, 0.4])
looks_like = np.array([6, 7, 8, 8, 9, 3, 0, 1, 3, 4])  # the label that each digit is mistaken for
correct = rng.random((len(X), 5)) < accuracy
answers = np.where(correct, truth[:, None], looks_like[truth][:, None])
is_random = rng.random((len(X), 5)) < 0.05
answers = np.where(is_random, rng.integers(10, size=is_random.shape), answers)
answers[rng.random(answers.shape) < 0.4] = -1  # no annotator labels every row
print(answers[:4])

# %%
# `from_annotations` collects the answers of each row. `min_votes` is the number of votes that a candidate needs, and
# `top_k` keeps the labels with the most votes: `top_k=1` is the majority, with ties kept.
sets = {
    "all answers": CandidateSets.from_annotations(answers),
    "two votes": CandidateSets.from_annotations(answers, min_votes=2),
    "majority": CandidateSets.from_annotations(answers, top_k=1),
}
coverage = {name: y.mask[np.arange(len(y)), truth].mean() for name, y in sets.items()}
for name, y in sets.items():
    mean_size = y.sizes[~y.is_unlabeled].mean()
    print(f"{name:12} {mean_size:.2f} candidates on average, {coverage[name]:.0%} contain the true label")

# %%
# A hard majority vote breaks ties before any learning, here at random. Candidate sets leave ties to the features.
hard = np.array([rng.choice(sorted(labels)) for labels in sets["majority"].to_sets()])
hard[sets["majority"].is_unlabeled] = -1
result = {}
for name, y in {"hard majority": hard, **sets}.items():
    model = oneof.LOORidge(kernel="rbf").fit(X / 16, y)
    result[name] = np.mean(model.predict(data.X[800:] / 16) == data.y[800:])
    print(f"{name:14} {result[name]:.3f} accuracy on new rows")

# %%
figure, ax = plt.subplots(figsize=(6.6, 2.8))
order = sorted(result, key=result.__getitem__)
bars = ax.barh(order, [result[name] for name in order], height=0.62)
bars[order.index("hard majority")].set_color("#9aa7b3")
ax.bar_label(bars, fmt="{:.3f}", padding=4)
ax.text(
    np.mean(hard == truth) - 0.008, -0.72, "accuracy of the majority labels", color="#d55e00", fontsize=9, ha="right"
)
ax.set(xlim=(0, 1.08), ylim=(-0.95, 3.6), xlabel="accuracy on new rows")
plt.show()
