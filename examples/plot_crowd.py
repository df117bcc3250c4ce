"""
Answers of a crowd
==================

Five annotators answer, most of them in haste. A majority vote throws away what the minority said. Candidate sets
keep it, and let the features decide.
"""

# %%
# Annotators of different care. Each is right with some probability, and otherwise takes the digit for the one that
# looks like it; a twentieth of the answers is anything, and four in ten are missing.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof import CandidateSets

rng = np.random.default_rng(0)
data = oneof.datasets.load("digits")
X, truth = data.X[:800], data.y[:800]
care = np.array([0.75, 0.6, 0.5, 0.45, 0.4])
looks_like = np.array([6, 7, 8, 8, 9, 3, 0, 1, 3, 4])  # what each digit is taken for
right = rng.random((len(X), 5)) < care
answers = np.where(right, truth[:, None], looks_like[truth][:, None])
lost = rng.random((len(X), 5)) < 0.05
answers = np.where(lost, rng.integers(10, size=lost.shape), answers)
answers[rng.random(answers.shape) < 0.4] = -1  # nobody sees every row
print(answers[:4])

# %%
# `from_annotations` collects the answers of each row. `min_votes` asks for more than one voice, and `top_k` keeps those
# with most votes: `top_k=1` is the majority, with ties left as they are.
ways = {
    "all answers": CandidateSets.from_annotations(answers),
    "two votes": CandidateSets.from_annotations(answers, min_votes=2),
    "majority": CandidateSets.from_annotations(answers, top_k=1),
}
holds = {name: y.mask[np.arange(len(y)), truth].mean() for name, y in ways.items()}
for name, y in ways.items():
    print(f"{name:12} {y.sizes[~y.is_unlabeled].mean():.2f} labels a set, of which {holds[name]:.0%} hold the truth")

# %%
# A hard majority has to settle ties before anything is learned, here by chance. Sets leave them open for the features.
hard = np.array([rng.choice(sorted(labels)) for labels in ways["majority"].to_sets()])
hard[ways["majority"].is_unlabeled] = -1
found = {}
for name, y in {"hard majority": hard, **ways}.items():
    model = oneof.LOORidge(kernel="rbf").fit(X / 16, y)
    found[name] = np.mean(model.predict(data.X[800:] / 16) == data.y[800:])
    print(f"{name:14} {found[name]:.3f} right on new rows")

# %%
figure, ax = plt.subplots(figsize=(6.6, 2.8))
order = sorted(found, key=found.__getitem__)
bars = ax.barh(order, [found[name] for name in order], height=0.62)
bars[order.index("hard majority")].set_color("#9aa7b3")
ax.bar_label(bars, fmt="{:.3f}", padding=4)
ax.axvline(np.mean(hard == truth), color="#d55e00", linestyle="--", linewidth=1.2)
ax.text(np.mean(hard == truth) - 0.008, -0.72, "labels of the majority: right", color="#d55e00", fontsize=9, ha="right")
ax.set(xlim=(0, 1.08), ylim=(-0.95, 3.6), xlabel="accuracy on new rows")
plt.show()
