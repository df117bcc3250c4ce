"""
LLM labels of texts, with probabilities
=======================================

A language model (LLM) lists up to three topics for each text, with probabilities. Some first topics are wrong, and
some lists lack the true topic. Fit a classifier to the lists, and find the texts to read.
"""

# %%
# The texts and the lists are simulated, without a language model. The first topic of a list is correct for about three
# of four texts. Wrong topics are often similar to the true one.
import matplotlib.pyplot as plt
import numpy as np

import oneof
from oneof import CandidateSets
from oneof.audit import find_label_issues
from oneof.text import make_vectorizer

rng = np.random.default_rng(0)
words = {
    "cricket": "wicket innings bat over bowler pitch run test",
    "football": "goal penalty keeper pitch corner league run header",
    "law": "court judge appeal verdict act lawyer clause case",
    "politics": "vote party act minister debate election case budget",
}
others = "the a of to in with on for day city people year new said last week two first many still"
topics = np.array(list(words))
similar = [1, 0, 3, 2]
truth = rng.integers(4, size=1000)
texts = [
    " ".join(
        [
            *rng.choice(others.split(), 12),
            *rng.choice(words[topics[k]].split(), 2),
            rng.choice(words[topics[j]].split()),
        ]
    )
    for k, j in zip(truth, rng.integers(4, size=1000), strict=True)
]


def answer(topic):
    """Return a list of topics with probabilities, as a language model might."""
    scores = rng.normal(size=4) + 2.0 * np.eye(4)[topic] + 0.7 * np.eye(4)[similar[topic]]
    probabilities = np.exp(scores) / np.exp(scores).sum()
    listed = np.argsort(-probabilities)[: rng.integers(1, 4)]
    return {str(topics[k]): round(float(probabilities[k]), 2) for k in listed}


lists = [answer(topic) for topic in truth]
for text, labels in zip(texts[:2], lists, strict=False):
    print(labels, text, sep="\n  ")

# %%
# The probabilities are posteriors, and `rest=True` divides the remaining probability among the topics that a list does
# not have. Compare these weights with the sets of the listed topics, and with the first topics alone.
rows, new = slice(0, 700), slice(700, None)
weights = CandidateSets.from_weights(lists[rows], classes=topics, kind="posterior", rest=True)
first = np.array([max(labels, key=labels.get) for labels in lists[rows]])
labelings = {
    "first topic": CandidateSets.from_labels(first),
    "set of the list": CandidateSets.from_sets([list(labels) for labels in lists[rows]], classes=topics),
    "weights": weights,
}
vectorizer = make_vectorizer()
X, X_new = vectorizer.fit_transform(texts[rows]), vectorizer.transform(texts[new])
fits = {name: oneof.PLEM(0.01).fit(X, y) for name, y in labelings.items()}
accuracies = {
    f"labels of {X.shape[0]} texts": [
        np.mean(model.disambiguate().labels == topics[truth[rows]]) for model in fits.values()
    ],
    f"predictions of {X_new.shape[0]} new texts": [
        np.mean(model.predict(X_new) == topics[truth[new]]) for model in fits.values()
    ],
}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.2), sharey=True)
for ax, (title, values) in zip(axes, accuracies.items(), strict=True):
    bars = ax.barh(list(fits), values, height=0.62, color=["#9aa7b3", "#9aa7b3", "#0072b2"])
    ax.bar_label(bars, fmt="{:.3f}", padding=4)
    ax.set(title=title, xlim=(0, 1.18), xlabel="fraction correct", xticks=[0, 0.5, 1])
    ax.tick_params(length=0)
axes[0].invert_yaxis()
plt.show()

# %%
# An audit of the first topics lists the texts whose first topic is probably wrong, to be read by a person.
issues = find_label_issues(X, first, oneof.PLEM(0.01), random_state=0)
is_wrong = first != topics[truth[rows]]
checked = [issue.row for issue in issues.top(50)]
print(f"expected: {issues.n_wrong:.0f} wrong first topics; in fact there are {is_wrong.sum()}")
print(f"{is_wrong[checked].sum()} of the 50 most suspicious ones are wrong")
