"""Accuracy against the number of answers in a labeling session, and how long the next question takes.

Rows are labeled by somebody who knows: by the label itself ("exact"), or by two labels of which one is right ("sets").
The false one is drawn, once for each row, in proportion to how often logistic regression takes the one class for the
other on left-out rows. Questions are chosen by mutual information or at random. The session is the one that `oneof
label` serves, with its default model, without questions that check it; the model is fitted after every 10 answers.
Judged is the model on rows that the session has not seen.

* digits: 1,797 rows, of which a third, drawn anew each time, judges.
* 20 Newsgroups: the split by date, 11,314 messages and 7,532 that judge; TF-IDF of words as the command line makes it,
  in their 100 directions of greatest variance, which the session would take itself and which are fitted to the rows
  of the session; rows of length 1.

Fixed before anything was measured: all of this, and to show every curve; the numbers of answers and draws on 20
Newsgroups were cut afterwards, from 300 and 5, for time and when ends of curves had been seen.

"latency" measures over HTTP, at 10,000 rows of 60 features and ten classes, the time from an answer's sending to the
next question's arrival, while the model is fitted in the background: with a person who thinks for a second, and with
one who does not think.

Run with `python benchmarks/labeling.py [digits news latency ...] [--draws N] [--figure PATH]`; 20 Newsgroups is read
from $ONEOF_DATA.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import http.client
import json
import secrets
import sys
import threading
import time
from urllib.parse import urlsplit

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import normalize

import oneof
from oneof.labeling import LabelingSession
from oneof.labeling.server import LabelingServer

BATCH = 10
ANSWERS = {"digits": 200, "news": 200}
DRAWS = {"digits": 5, "news": 2}
ARMS = [(strategy, answers) for answers in ("exact", "sets") for strategy in ("mutual_information", "random")]
TITLES = {"digits": "digits", "news": "20 Newsgroups"}


def read(name, seed):
    """Return the session's rows and labels, and those that judge."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[len(y) // 3 :], order[: len(y) // 3]
        return X[train] / 16, y[train], X[test] / 16, y[test]
    data = oneof.datasets.load("news20")
    n_train, y = int(data.n_train), np.searchsorted(data.classes, data.y)
    words = TfidfTransformer(sublinear_tf=True).fit(data.X[:n_train]).transform(data.X)
    rows = normalize(TruncatedSVD(100, random_state=0).fit(words[:n_train]).transform(words))
    return rows[:n_train], y[:n_train], rows[n_train:], y[n_train:]


def confusions(X, y):
    """Return how often each class is taken for another, (K, K), none of them never."""
    guessed = cross_val_predict(LogisticRegression(max_iter=500), X, y, cv=3)
    return confusion_matrix(y, guessed) + 0.1


def run(data, n_answers, strategy, sets, seed):
    """Return the accuracy after every batch of answers."""
    X, y, X_test, y_test = data
    classes = np.unique(y)
    options = {"strategy": strategy, "check_interval": 0, "refit_every": BATCH, "prefetch": BATCH, "random_state": seed}
    found = []
    with LabelingSession(X, classes=classes, **options) as session:
        for n in range(1, n_answers + 1):
            question = session.ask()
            session.answer(question, sets[question.row])
            if n % BATCH == 0:
                session.train()
                found.append(float((session.snapshot.model.predict(X_test) == y_test).mean()))
    return found


def curves(name, draws):
    """Return accuracies of shape (draws, points) for every arm, told line by line."""
    found = {arm: [] for arm in ARMS}
    for seed in range(draws):
        data = read(name, seed)
        X, y = data[:2]
        said = {"exact": [[label] for label in y.tolist()]}
        partial = oneof.make_partial_labels(
            y, n_distractors=1, distractors="confusable", confusion=confusions(X, y), random_state=seed
        )
        said["sets"] = [sorted(labels) for labels in partial.to_sets()]
        for strategy, answers in ARMS:
            start = time.process_time()
            found[strategy, answers].append(run(data, ANSWERS[name], strategy, said[answers], seed))
            last = found[strategy, answers][-1]
            seconds = (time.process_time() - start) / len(last)
            curve = " ".join(f"{value:.3f}" for value in last)
            print(f"  {name} draw {seed} {answers} {strategy}: {curve}; {seconds:.1f} s a fit", flush=True)
    return {arm: np.array(values) for arm, values in found.items()}


def show(name, found):
    """Print a table of means and standard deviations."""
    points = [n for n in (20, 50, 100, 150, 200) if n <= ANSWERS[name]]
    print(f"{TITLES[name]}: accuracy in percent after " + ", ".join(map(str, points)) + " answers")
    for (strategy, answers), values in found.items():
        at = values[:, [n // BATCH - 1 for n in points]] * 100
        spread = at.std(axis=0, ddof=1) if len(at) > 1 else np.zeros(at.shape[1])
        print(
            f"| {answers}, {strategy} | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(at.mean(0), spread)) + " |"
        )


def draw_figure(all_found, path):
    """Draw the mean curves with a band of one standard deviation."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (5.2 * len(all_found), 4.4)
    figure, axes = plt.subplots(1, len(all_found), figsize=size, layout="constrained", squeeze=False)
    colors = {"mutual_information": "#2166ac", "random": "#c8610a"}
    for axis, (name, found) in zip(axes[0], all_found.items()):
        n = BATCH * np.arange(1, ANSWERS[name] // BATCH + 1)
        for (strategy, answers), values in found.items():
            mean, spread = 100 * values.mean(0), 100 * values.std(0)
            style = "-" if answers == "exact" else "--"
            how = "by information" if strategy == "mutual_information" else "at random"
            label = f"{'one label' if answers == 'exact' else 'two labels'}, asked {how}"
            axis.plot(n, mean, style, color=colors[strategy], label=label)
            axis.fill_between(n, mean - spread, mean + spread, color=colors[strategy], alpha=0.12, linewidth=0)
        axis.set(title=TITLES[name], xlabel="answers", ylabel="accuracy on other rows, %")
        axis.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def latency(think, n_answers):
    """Return the seconds from each answer to the next question."""
    X, y = make_blobs(10_000, 60, centers=10, cluster_std=6.0, center_box=(-2, 2), random_state=0)
    session = LabelingSession(X, classes=np.arange(10), background=True, random_state=0)
    server = LabelingServer(session)
    thread = threading.Thread(target=server.run)
    thread.start()
    where = urlsplit(server.link)
    connection = http.client.HTTPConnection(where.netloc)
    headers = {"content-type": "application/json", "origin": f"http://{where.netloc}"}

    def post(name, content):
        connection.request("POST", f"{where.path}api/{name}", json.dumps(content), headers)
        return json.loads(connection.getresponse().read())

    response, seconds = post("ask", {"annotator": "Ann", "window": "w"}), []
    for _ in range(n_answers):
        question = response["question"]
        time.sleep(think)
        content = {"kind": "one of", "labels": [int(y[question["row"]])], "key": secrets.token_hex(8)}
        start = time.perf_counter()
        response = post("answer", {"question": question["id"]} | content)
        seconds.append(time.perf_counter() - start)
    connection.close()
    server.stop()
    thread.join()
    session.close()
    return np.array(seconds)


def main():
    """Print tables, and draw the figure if asked."""
    words = sys.argv[1:]
    path = words.pop(words.index("--figure") + 1) if "--figure" in words else None
    draws = int(words.pop(words.index("--draws") + 1)) if "--draws" in words else None
    names = [word for word in words if not word.startswith("--")] or ["digits", "news", "latency"]
    all_found = {name: curves(name, draws or DRAWS[name]) for name in names if name != "latency"}
    for name, found in all_found.items():
        show(name, found)
    if path and all_found:
        draw_figure(all_found, path)
    if "latency" in names:
        for think, n_answers in ((1.0, 100), (0.0, 300)):
            taken = 1000 * latency(think, n_answers)
            low, high, most = np.percentile(taken, [50, 95, 100])
            print(f"{think:.0f} s of thought: median {low:.0f} ms, 95 % within {high:.0f} ms, at most {most:.0f} ms")


if __name__ == "__main__":
    main()
