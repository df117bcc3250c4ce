"""
Cross-validation by groups: recordings
======================================

Rows of one recording resemble one another. If a recording has rows in the training set and in the test set, the
estimated accuracy is that of known recordings. `groups` keeps each recording in one fold.
"""

# %%
# Simulate recordings of birds. A recording has ten calls of one bird, whose voice differs from those of other birds of
# its species. All calls have the same candidate set: the species, and another one that was heard nearby.
import matplotlib.pyplot as plt
import numpy as np

import oneof

rng = np.random.default_rng(0)
names = np.array(["finch", "owl", "robin", "wren"])


def record(n_recordings, variation):
    """Return features, species and candidate sets of calls, and the recording of each call."""
    species = rng.integers(4, size=n_recordings)
    nearby = (species + rng.integers(1, 4, size=n_recordings)) % 4
    voices = 2 * np.eye(4, 6)[species] + variation * rng.normal(size=(n_recordings, 6))
    recordings = np.repeat(np.arange(n_recordings), 10)
    X = voices[recordings] + 0.6 * rng.normal(size=(len(recordings), 6))
    sets = np.stack([names[species], names[nearby]], axis=1)[recordings].tolist()
    return X, names[species][recordings], oneof.CandidateSets.from_sets(sets, classes=names), recordings


X, truth, y, recordings = record(150, 1.0)
print(y)

# %%
# The two estimates of one method, with true labels for the evaluation.
methods = {"PLKNN": oneof.PLKNN(n_neighbors=5)}
for groups in (None, recordings):
    comparison = oneof.compare(X, y, methods, groups=groups, truth=truth, random_state=0)
    print(f"{comparison.evaluation}: accuracy {comparison.results[0].accuracy:.2f}")

# %%
# Repeat this for voices that differ more, and compare with the accuracy on 300 new recordings. The difference between
# the estimates grows with the variation, and the estimate by groups is close to the accuracy on new recordings.
variations = (0.0, 0.4, 0.8, 1.2, 1.6)
rates = {"folds of rows": [], "folds by groups": [], "new recordings": []}
for variation in variations:
    X, truth, y, recordings = record(150, variation)
    for name, groups in (("folds of rows", None), ("folds by groups", recordings)):
        comparison = oneof.compare(X, y, methods, groups=groups, truth=truth, random_state=0)
        rates[name].append(comparison.results[0].accuracy)
    X_new, truth_new, *_ = record(300, variation)
    rates["new recordings"].append(np.mean(comparison.best_estimator.predict(X_new) == truth_new))

figure, ax = plt.subplots(figsize=(6.6, 3.4))
for (name, values), style in zip(rates.items(), ("s-", "o-", "D--"), strict=True):
    ax.plot(variations, values, style, label=name)
ax.set(xlabel="standard deviation of the voices of a species", ylabel="accuracy")
ax.grid(axis="y")
ax.legend()
plt.show()
