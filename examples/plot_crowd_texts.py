"""
Annotators who disagree about texts
===================================

Six annotators sort messages to a shop into four topics. One of them is careless, one overlooks complaints, and one has
read few messages. Find these annotators, and fit a text classifier to all answers, without any true label.
"""

# %%
# The messages are simulated: four words of each have a topic, of which one in three is of another topic, and ten words
# have none. Each annotator reads half of the messages. A wrong answer is a topic at random.
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier, krippendorff_alpha, pairwise_agreement
from oneof.text import make_vectorizer

rng = np.random.default_rng(0)
words = {
    "bill": "invoice pay paid amount bank due charge receipt euros transfer account tax",
    "complaint": "broken late refund bad disappointed damaged wrong missing angry worse never faulty",
    "order": "send order two size ship basket address deliver parcel blue large express",
    "question": "how when which open does possible hours stock know where help available",
}
others = "the a please we my for of today hello team this with and is it to you your very just now still"
topics = np.array(list(words))


def write(topic):
    """Return a message about a topic."""
    sources = np.where(rng.random(4) < 0.67, topic, rng.integers(0, 4, 4))
    chosen = [rng.choice(words[topics[k]].split()) for k in sources]
    return " ".join(rng.permutation([*rng.choice(others.split(), 10), *chosen]))


truth = rng.integers(0, 4, 1000)
texts = np.array([write(topic) for topic in truth], dtype=object)
X, y, X_new, y_new = texts[:400], truth[:400], texts[400:], truth[400:]
print(X[0])

names = ["Ann", "Ben", "Cleo", "Dan", "Eva", "Finn"]
skill = np.repeat([[0.9], [0.75], [0.7], [0.85], [0.0], [0.7]], 4, axis=1)
skill[3, 1] = 0.15  # Dan overlooks complaints
correct = rng.random((400, 6)) < skill[:, y].T
given = np.where(correct, y[:, None], rng.integers(0, 4, (400, 6)))
table = topics[given].astype(object)
table[rng.random((400, 6)) < 0.5] = None
table[12:, 5] = None  # Finn has read a few messages
answers = Answers.from_table(table, classes=topics, annotators=names)
print(answers)

# %%
# The agreement of all annotators, and the pairs that agree the least, compared with chance. Then `AnnotatorModel`
# estimates the accuracies from the answers alone. Its notes name the annotators to look at.
print(f"Krippendorff's alpha: {krippendorff_alpha(answers):.2f}")
pairs = pairwise_agreement(answers)
for i in np.argsort(pairs.kappa)[:3]:
    print(f"{pairs.first[i]} and {pairs.second[i]}: {pairs.n_shared[i]} rows, kappa {pairs.kappa[i]:.2f}")
model = AnnotatorModel().fit(answers)
for note in model.notes_:
    print(textwrap.fill(note, 88))

# %%
# `CrowdClassifier` fits a pipeline of raw texts: the vectorizer of `oneof.text` and any classifier with probabilities.
# Its predictions improve the labels, and with them the accuracies. A star marks an accuracy that differs from that of
# the annotator in the other topics beyond chance.
pipeline = make_pipeline(make_vectorizer(stop_words="english"), LogisticRegression(C=10))
classifier = CrowdClassifier(pipeline, random_state=0).fit(X, answers)
by_class = classifier.annotator_model_.class_accuracies()

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True)
is_given = np.not_equal(table, None)
is_correct = given == y[:, None]
true_rates = np.array([[is_correct[is_given[:, j] & (y == k), j].mean() for k in range(4)] for j in range(6)])
for ax, title, rates in zip(
    axes, ("estimated accuracy", "true accuracy"), (by_class.accuracy, true_rates), strict=True
):
    ax.imshow(rates, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for j, k in np.ndindex(rates.shape):
        star = " *" if ax is axes[0] and by_class.differs[j, k] else ""
        color = "white" if rates[j, k] > 0.6 else "#1b2733"
        ax.text(k, j, f"{100 * rates[j, k]:.0f}{star}", ha="center", va="center", color=color, fontsize=9.5)
    ax.set(title=f"{title}, %", xticks=range(4), yticks=range(6))
    ax.set_xticklabels(topics)
    ax.set_yticklabels(names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
plt.show()

# %%
# Compare three ways to use the answers, each with the same pipeline: the topic with the most votes, with ties broken at
# random; the most probable topic by `AnnotatorModel`; and `CrowdClassifier`.
votes = np.stack([(table == topic).sum(axis=1) for topic in topics], axis=1)
answered = votes.any(axis=1)
by_votes = (votes + 1e-6 * rng.random(votes.shape)).argmax(axis=1)
by_model = model.posterior_.argmax(axis=1)
by_classifier = classifier.label_distributions_.argmax(axis=1)
labelings = {"most votes": by_votes, "AnnotatorModel": by_model, "CrowdClassifier": by_classifier}
fits = {name: pipeline.fit(X[answered], topics[labels[answered]]).predict(X_new) for name, labels in labelings.items()}
fits["CrowdClassifier"] = classifier.predict(X_new)
fractions = {
    f"labels of the {answered.sum()} messages": [np.mean((y == labels)[answered]) for labels in labelings.values()],
    f"predictions of {len(X_new)} new messages": [np.mean(topics[y_new] == predicted) for predicted in fits.values()],
}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.2), sharey=True)
for ax, (title, values) in zip(axes, fractions.items(), strict=True):
    bars = ax.barh(list(fits), values, height=0.62, color=[*["#9aa7b3"] * 2, "#0072b2"])
    ax.bar_label(bars, fmt="{:.3f}", padding=4)
    ax.set(title=title, xlim=(0, 1.18), xlabel="fraction correct", xticks=[0, 0.5, 1])
    ax.tick_params(length=0)
axes[0].invert_yaxis()
plt.show()
