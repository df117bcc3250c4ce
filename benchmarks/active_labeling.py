"""Labeling sessions: accuracy by the number of answers, and the time to the next question."""

import http.client
import json
import secrets
import threading
import time
from pathlib import Path
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
from benchmarks.common import candidate_columns
from oneof.labeling import LabelingSession
from oneof.labeling.http.server import LabelingServer

ANSWER_BATCH = 10
N_ANSWERS, N_DRAWS = 300, 10
POINTS = (20, 50, 100, 150, 200, 250, 300)
ARMS = [(strategy, answers) for answers in ("exact", "sets") for strategy in ("mutual_information", "random")]
TITLES = {"digits": "digits", "news": "20 Newsgroups"}


def load_rows(name, seed):
    """Return the rows and labels of the session, and the held-out ones."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[len(y) // 3 :], order[: len(y) // 3]
        return X[train] / 16, y[train], X[test] / 16, y[test]
    data = oneof.datasets.load("news20")
    n_train, y = int(data.n_train), candidate_columns(data)
    words = TfidfTransformer(sublinear_tf=True).fit(data.X[:n_train]).transform(data.X)
    rows = normalize(TruncatedSVD(100, random_state=0).fit(words[:n_train]).transform(words))
    return rows[:n_train], y[:n_train], rows[n_train:], y[n_train:]


def confusion_counts(X, y):
    """Return the counts of confusions between classes, (K, K), all positive."""
    predicted = cross_val_predict(LogisticRegression(max_iter=500), X, y, cv=3)
    return confusion_matrix(y, predicted) + 0.1


def run_session(data, n_answers, strategy, sets, seed):
    """Return the accuracy after every batch of answers."""
    X, y, X_test, y_test = data
    classes = np.unique(y)
    options = {
        "strategy": strategy,
        "check_interval": 0,
        "refit_every": ANSWER_BATCH,
        "prefetch": ANSWER_BATCH,
        "random_state": seed,
    }
    accuracies = []
    with LabelingSession(X, classes=classes, **options) as session:
        for n in range(1, n_answers + 1):
            question = session.ask()
            session.answer(question, sets[question.row])
            if n % ANSWER_BATCH == 0:
                session.train()
                accuracies.append(float((session.snapshot.model.predict(X_test) == y_test).mean()))
    return accuracies


def answers_of(data, kind, seed):
    """Return the answer to each row: the true label, or the true label and a distractor."""
    X, y = data[:2]
    if kind == "exact":
        return [[label] for label in y.tolist()]
    confusion = confusion_counts(X, y)
    partial = oneof.make_partial_labels(y, distractors="confusable", confusion=confusion, random_state=seed)
    return [sorted(labels) for labels in partial.to_sets()]


def accuracy_curves(name, draws, records):
    """Return accuracies of shape (draws, points) for every setting; each finished curve is a file of `records`."""
    accuracies = {arm: [] for arm in ARMS}
    for seed in range(draws):
        data = None
        for strategy, answers in ARMS:
            record = records and Path(records) / f"{name}-{seed}-{answers}-{strategy}.json"
            if record and record.exists():
                accuracies[strategy, answers].append(json.loads(record.read_text()))
                continue
            data = data or load_rows(name, seed)
            start = time.process_time()
            curve = run_session(data, N_ANSWERS, strategy, answers_of(data, answers, seed), seed)
            accuracies[strategy, answers].append(curve)
            if record:
                record.parent.mkdir(parents=True, exist_ok=True)
                record.write_text(json.dumps(curve))
            seconds = (time.process_time() - start) / len(curve)
            values = " ".join(f"{value:.3f}" for value in curve)
            print(f"  {name} draw {seed} {answers} {strategy}: {values}; {seconds:.1f} s per fit", flush=True)
    return {arm: np.array(values) for arm, values in accuracies.items()}


def print_accuracies(name, accuracies):
    """Print a table of means and standard deviations."""
    print(f"{TITLES[name]}: accuracy in percent after " + ", ".join(map(str, POINTS)) + " answers")
    for (strategy, answers), values in accuracies.items():
        at = values[:, [n // ANSWER_BATCH - 1 for n in POINTS]] * 100
        spread = at.std(axis=0, ddof=1) if len(at) > 1 else np.zeros(at.shape[1])
        print(
            f"| {answers}, {strategy} | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(at.mean(0), spread)) + " |"
        )


def draw_labeling_figure(all_results, path):
    """Plot the mean curves with a band of one standard deviation."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (5.2 * len(all_results), 4.4)
    figure, axes = plt.subplots(1, len(all_results), figsize=size, layout="constrained", squeeze=False)
    colors = {"mutual_information": "#2166ac", "random": "#c8610a"}
    for axis, (name, accuracies) in zip(axes[0], all_results.items()):
        n = ANSWER_BATCH * np.arange(1, N_ANSWERS // ANSWER_BATCH + 1)
        for (strategy, answers), values in accuracies.items():
            mean, spread = 100 * values.mean(0), 100 * values.std(0)
            style = "-" if answers == "exact" else "--"
            how = "by information" if strategy == "mutual_information" else "at random"
            label = f"{'one label' if answers == 'exact' else 'two labels'}, asked {how}"
            axis.plot(n, mean, style, color=colors[strategy], label=label)
            axis.fill_between(n, mean - spread, mean + spread, color=colors[strategy], alpha=0.12, linewidth=0)
        axis.set(title=TITLES[name], xlabel="answers", ylabel="accuracy on held-out rows, %")
        axis.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def measure_latency(pause, n_answers):
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
        time.sleep(pause)
        answers_of = {"kind": "one of", "labels": [int(y[question["row"]])], "key": secrets.token_hex(8)}
        start = time.perf_counter()
        response = post("answer", {"question": question["id"]} | answers_of)
        seconds.append(time.perf_counter() - start)
    connection.close()
    server.stop()
    thread.join()
    session.close()
    return np.array(seconds)


def labeling(*names: str, draws=N_DRAWS, records="", figure=""):
    """Print the accuracy by the number of answers in a labeling session, on digits and on 20 Newsgroups.

    Answers are correct: the true label ("exact"), or two labels of which one is true ("sets"). The distractor is drawn
    once for each row, in proportion to the confusions of logistic regression on left-out rows. Questions are chosen by
    mutual information or at random. The session is that of `oneof label` with its default model, without questions
    that check it; the model is refitted after every 10 answers and evaluated on rows outside the session.

    * digits: 1,797 rows, of which a third, drawn anew each time, is for evaluation.
    * news: the split by date, 11,314 messages and 7,532 for evaluation; TF-IDF of words as the command line computes
      it, in the 100 directions of greatest variance, which the session would use itself and which are fitted to the
      rows of the session; rows of length 1. The data are read from $ONEOF_DATA.

    Constants of the selection were chosen on other rows. The random rows at the start of a session were added, and the
    number of neighbors of the density was raised, after curves without them had been seen. With `--records DIR` each
    finished curve is stored there, and an interrupted measurement continues.
    """
    all_results = {name: accuracy_curves(name, draws, records) for name in names or TITLES}
    for name, accuracies in all_results.items():
        print_accuracies(name, accuracies)
    if figure:
        draw_labeling_figure(all_results, figure)


def latency():
    """Print the time from sending an answer to receiving the next question over HTTP.

    10,000 rows of 60 features and ten classes, while the model is fitted in the background: with an annotator who
    pauses for a second before each answer, and with one who does not.
    """
    for pause, n_answers in ((1.0, 100), (0.0, 300)):
        milliseconds = 1000 * measure_latency(pause, n_answers)
        median, high, largest = np.percentile(milliseconds, [50, 95, 100])
        print(f"pause {pause:.0f} s: median {median:.0f} ms, 95 % within {high:.0f} ms, at most {largest:.0f} ms")
