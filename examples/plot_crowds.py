"""
Labels of annotators (crowdsourcing)
====================================

Twelve annotators label digits. Some of them answer at random, some copy, and some answer with sets such as "3 or 8".
Estimate their accuracies, correct the labels, and fit a classifier, without any true label.
"""

# %%
# Each simulated annotator answers 30 % of the rows, and a wrong answer is mostly a digit that looks similar. Gus and
# Hal give two digits in half of their answers. Ida and Jon answer at random. Kim and Lea repeat nine of ten answers of
# Ann.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof import CandidateSets
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier, krippendorff_alpha

rng = np.random.default_rng(0)
data = oneof.datasets.load("digits")
X, truth = data.X[:800] / 16, data.y[:800]
names = ["Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea"]
skill = np.array([0.6, 0.85, 0.75, 0.7, 0.6, 0.5, 0.85, 0.7, 0, 0, 0, 0])
looks_like = np.array([6, 7, 8, 8, 9, 3, 0, 1, 3, 4])  # the label that each digit is mistaken for

shape = (len(X), len(names))
mistakes = np.where(rng.random(shape) < 0.7, looks_like[truth][:, None], rng.integers(10, size=shape))
labels = np.where(rng.random(shape) < skill, truth[:, None], mistakes)
labels[:, 8:10] = rng.integers(10, size=(len(X), 2))  # Ida and Jon
answers = labels.astype(object)
for i, j in np.argwhere(rng.random(shape) < 0.5):
    if names[j] in ("Gus", "Hal"):
        answers[i, j] = [labels[i, j], looks_like[labels[i, j]]]
answers[rng.random(shape) > 0.3] = None
for j in (10, 11):  # Kim and Lea
    is_copied = rng.random(len(X)) < 0.9
    answers[is_copied, j] = answers[is_copied, 0]
crowd = Answers.from_table(answers, classes=range(10), annotators=names)
print(crowd)
print(f"Krippendorff's alpha of the answers: {krippendorff_alpha(crowd):.2f}")

# %%
# `AnnotatorModel` estimates the accuracies and the labels from the answers alone. It lists the annotators who are no
# better than chance, and pairs of whom one may copy the other.
model = AnnotatorModel().fit(crowd)
print("no better than chance:", ", ".join(model.no_better_than_chance_))
print("may be copies:", "; ".join(" and ".join(pair.annotators) for pair in model.copied_pairs_))

# %%
# `CrowdClassifier` also uses the features: the prediction of a row by the other rows is the prior of its label. The
# answers alone give too high accuracies for annotators who make the same mistakes, and for copies. An answer with two
# digits is correct if one of them is the true label.
classifier = CrowdClassifier(random_state=0).fit(X, crowd)
is_correct = [[truth[i] in np.atleast_1d(a) for i, a in enumerate(column) if a is not None] for column in answers.T]
true_accuracy = np.array([np.mean(column) for column in is_correct])
order = np.argsort(true_accuracy)
heights = np.arange(len(names))
remarks = dict.fromkeys(model.no_better_than_chance_, "no better than chance")
remarks |= {name: "may be a copy" for pair in model.copied_pairs_ for name in pair.annotators}

figure, ax = plt.subplots(figsize=(7.2, 4.6))
estimates = {"answers alone": (model, -0.16), "answers and features": (classifier.annotator_model_, 0.16)}
for (name, (fitted, shift)), color in zip(estimates.items(), ("#e69f00", "#0072b2"), strict=True):
    ax.hlines(heights + shift, *fitted.accuracy_interval_[order].T, color=color, linewidth=2.2)
    ax.plot(fitted.accuracy_[order], heights + shift, "o", color=color, markersize=5, label=name)
ax.plot(true_accuracy[order], heights, "|", color="#1b2733", markersize=15, markeredgewidth=1.4, label="true accuracy")
for height, j in enumerate(order):
    ax.text(1.02, height, remarks.get(names[j], ""), va="center", fontsize=9.5, color="#d55e00")
ax.set(xlim=(0, 1), xlabel="accuracy of the answers, with 90 % intervals", yticks=heights)
ax.set_yticklabels(np.array(names)[order])
ax.tick_params(length=0)
ax.grid(axis="x")
figure.legend(loc="outside upper center", ncols=3)
plt.show()

# %%
# Compare four ways to use the answers, each with `LOORidge` as the classifier: the label with the most votes, with ties
# broken at random and half a vote for each of two digits; the candidate set of all answers; the weights of
# `AnnotatorModel`; and `CrowdClassifier`.
votes = np.zeros((len(X), 10))
for i, j in zip(*np.nonzero(np.not_equal(answers, None)), strict=True):
    votes[i, answers[i, j]] += 1 / np.size(answers[i, j])
answered = votes.any(axis=1)
most_votes = np.where(answered, (votes + 1e-6 * rng.random(votes.shape)).argmax(axis=1), -1)
all_answers = CandidateSets((votes > 0) | ~answered[:, None], range(10))
fits = {"most votes": most_votes, "candidate sets": all_answers, "AnnotatorModel": model.candidates_}
fits = {name: oneof.LOORidge().fit(X, y) for name, y in fits.items()} | {"CrowdClassifier": classifier}

X_new, y_new = data.X[800:] / 16, data.y[800:]
correct = {
    f"labels of the {answered.sum()} rows with answers": [
        np.mean(fit.transduction_[answered] == truth[answered]) for fit in fits.values()
    ],
    f"predictions of {len(y_new)} new rows": [np.mean(fit.predict(X_new) == y_new) for fit in fits.values()],
}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.5), sharey=True)
for ax, (title, values) in zip(axes, correct.items(), strict=True):
    bars = ax.barh(list(fits), values, height=0.62, color=[*["#9aa7b3"] * 3, "#0072b2"])
    ax.bar_label(bars, fmt="{:.3f}", padding=4)
    ax.set(title=title, xlim=(0, 1.18), xlabel="fraction correct", xticks=[0, 0.5, 1])
    ax.tick_params(length=0)
axes[0].invert_yaxis()
plt.show()
