"""Ten topics of Reuters-21578 from 17 labeled documents, beside published precision/recall break-even points.

Joachims (1999) learns each of the ten most frequent topics against the rest from 17 labeled documents of the ModApte
split's training part, and ranks all 3,299 documents of its test part, which the transductive machine has as unlabeled
documents. How his 17 documents were drawn, and how often, is not in the texts that we have; a topic can be learned only
if one of them has it. Here 17 of the 9,603 training documents are drawn uniformly among all draws in which every topic
occurs (other draws are thrown away; 3 in 1,000 are kept), ten times, the same for all methods.

What was fixed before anything was measured. Words have two letters or more and occur in three training documents or
more. The main representation is that of Jebara's lecture: stop words left out, the others stemmed; for machines then
TF-IDF (scikit-learn's defaults: rows of length 1), with the document frequencies of the 17 + 3,299 documents, and for
methods of counts the counts. "stop words" does without stems, and "all words" without either. C = 1 / mean |x|^2, and
everything else is a default: num_+ of the transductive machine is the share of positives among the 17. Variants that
are shown beside: "-share" gives it the topic's share of all 9,603 training documents instead, which 17 labels do not
tell; "-cv" lets the weight of the unlabeled documents be chosen from the 17.

Run with `python benchmarks/reuters.py [method ...]`; the set is read from $ONEOF_DATA.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC, LinearSVC

import oneof
from oneof.multilabel import breakeven_score
from oneof.text import StemTokenizer

LABELED, DRAWS = 17, 10
TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
PUBLISHED = {"naive Bayes": 35.9, "SVM": 48.4, "transductive SVM": 60.8}
REPRESENTATIONS = ("stop words and stems", "stop words", "all words")


# LinearSVC regularizes its intercept, SVC does not. C and positive_fraction are set for each topic.
METHODS = {
    "naive Bayes": MultinomialNB(),
    "LinearSVC": LinearSVC(loss="hinge", max_iter=100_000),
    "SVC": SVC(kernel="linear"),
    "TransductiveSVM": oneof.TransductiveSVM(),
    "TransductiveSVM-share": oneof.TransductiveSVM(),
    "MultinomialEM": oneof.MultinomialEM(),
    "MultinomialEM-cv": oneof.MultinomialEM("cv"),
}


def documents():
    """Return the counts of words of every document, the words, the topics in the order of `TOPICS`, and `n_train`."""
    data = oneof.datasets.load("reuters21578")
    with np.load(Path(os.environ["ONEOF_DATA"]) / "reuters21578.npz", allow_pickle=False) as archive:
        words = archive["vocabulary"].tolist()
    return data.X.astype(float), words, data.Y[:, [data.classes.tolist().index(name) for name in TOPICS]], data.n_train


def represented(counts, words, representation):
    """Return the counts without stop words, or of stems, as asked for."""
    kept = [j for j, word in enumerate(words) if representation == "all words" or word not in ENGLISH_STOP_WORDS]
    terms = [words[j] for j in kept]
    if "stems" in representation:
        stemmed = StemTokenizer("english")
        terms = [stemmed(term)[0] for term in terms]
    _, columns = np.unique(terms, return_inverse=True)
    merge = sp.csr_array((np.ones(len(kept)), (kept, columns)), shape=(len(words), columns.max() + 1))
    return sp.csr_array(counts @ merge)


def draws(topics):
    """Return rows for each draw: uniform among the sets of rows in which every topic occurs."""
    random, found = np.random.default_rng(0), []
    while len(found) < DRAWS:
        rows = random.choice(len(topics), LABELED, replace=False)
        if topics[rows].any(axis=0).all():
            found.append(rows)
    return found


def scores_of(method, counts, topics, n_train, splits):
    """Return break-even points in percent, draws by topics."""
    estimator, found = clone(METHODS[method]), []
    machine, transductive = hasattr(estimator, "C"), method not in ("naive Bayes", "LinearSVC", "SVC")
    for rows in splits:
        taken = np.concatenate([rows, np.arange(n_train, len(topics))])
        X = TfidfTransformer().fit_transform(counts[taken]) if machine else counts[taken]
        if machine:
            estimator.set_params(C=X.shape[0] / sp.linalg.norm(X) ** 2)
        for k, share in enumerate(topics[:n_train].mean(axis=0)):
            if method.endswith("-share"):
                estimator.set_params(positive_fraction=share)
            known = topics[taken][:, [k]]
            found.append(breakeven_score(estimator, X, known, np.arange(LABELED), transductive=transductive).mean)
    return 100 * np.reshape(found, (len(splits), len(TOPICS)))


def main():
    """Print a line a method and representation."""
    counts, words, topics, n_train = documents()
    splits = draws(topics[:n_train])
    print(f"{'break-even, %':48s}" + "".join(f"{name:>9s}" for name in TOPICS) + "   average +- s.d. of draws")
    for name, average in PUBLISHED.items():
        print(f"{'published: ' + name:48s}" + " " * 9 * len(TOPICS) + f"{average:8.1f}")
    names = sys.argv[1:] or METHODS
    for representation in REPRESENTATIONS:
        X = represented(counts, words, representation)
        for name in names:
            start = time.process_time()
            found = scores_of(name, X, topics, n_train, splits)
            seconds = (time.process_time() - start) / len(splits)
            line = "".join(f"{value:9.1f}" for value in found.mean(axis=0))
            average = found.mean(axis=1)
            print(
                f"{name + ', ' + representation:48s}{line}{average.mean():8.1f} +- {average.std(ddof=1):.1f}"
                f"   {seconds:.1f} s a draw",
                flush=True,
            )


if __name__ == "__main__":
    main()
