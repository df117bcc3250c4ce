"""The races of each discipline: comparable methods, their data, and the target.

Every peer has all the forms that its documentation offers for the task, and the fastest that reaches the target runs.
Its settings are ordered in advance: the search for the loosest sufficient tolerance is not timed.
"""

from benchmarks.peers import data
from benchmarks.peers.race import Entrant, Race, Target

FORMS = tuple({"form": form} for form in ("dense32", "dense64", "csr32", "csr64"))
SPARSE = FORMS[2:]
EPOCHS = tuple({"n_epochs": n} for n in (1, 2, 3, 5, 10))
ONE_PASS = Target("pass", "one pass of the peer in its fastest form; `oneof` as accurate as the peer's best form")
ROWS = Target("rows", "every row once; accuracies reported")
OBJECTIVE = Target("objective", "objective within 0.1 % of the lowest of both", 1e-3)


def _with(forms, **options):
    return tuple({**form, **options} for form in forms)


def _online(task, make, n_rows, forms, peer, learners, sets=False, asked=10):
    # The scale of the weights does not change predictions, so that the learner is chosen by accuracy alone.
    variants = tuple(
        option
        for learner in learners
        for average in (False, True)
        for option in _with(forms, learner=learner, sets=sets, average=average)
    )
    return Race("online", task, make, Entrant("oneof", "online", variants, EPOCHS), peer, ONE_PASS, asked, n_rows)


def _sgd(learner, forms):
    # Ours have no intercept by default; theirs run with and without one.
    variants = [_with(forms, learner=learner, fit_intercept=constant) for constant in (True, False)]
    return Entrant("scikit-learn", "online", (*variants[0], *variants[1]))


def _vowpal_wabbit(bits):
    readings = [{"reading": reading, "bits": bits} for reading in ("text", "cache", "parsed")]
    variants = tuple({**reading, "options": options} for reading in readings for options in ("", "--sgd"))
    return Entrant("vowpalwabbit", "csoaa", variants)


def _river(n_rows):
    one = tuple({"model": model, "n_rows": n_rows} for model in ("SoftmaxRegression", "Perceptron"))
    return Entrant("river", "learn_one", one)


def _river_batches(n_rows):
    many = tuple({"model": model, "n_rows": n_rows, "batch": 500} for model in ("Perceptron", "LogisticRegression"))
    return Entrant("river", "learn_many", many)


BOTH_FAMILIES = ("AvgPegasos", "MaxPegasos", "AvgPerceptron", "MaxPerceptron")
PEGASOS, PERCEPTRONS = ("AvgPegasos", "MaxPegasos"), ("AvgPerceptron", "MaxPerceptron")
MNIST, WORDS = "60,000 x 784 pixels, 10 classes", "100,000 x 50,000 words, 20 classes"


def online_races():
    """Return the races of online learners, which use each row once."""
    few, pixels, words = 2_000, data.mnist_rows, data.synthetic_words
    batches = tuple({"learner": name, "form": "dense32", "n_rows": few} for name in PERCEPTRONS)
    single = tuple({"learner": name, "n_rows": few} for name in PERCEPTRONS)
    batch, row = "exact labels, mini-batches of 500, 2,000 x 784", "exact labels, one row per call, 2,000 x 784 pixels"
    one_by_one = Entrant("oneof", "row_by_row", single)
    sets = {"learners": BOTH_FAMILIES, "sets": True}
    return [
        _online(f"hinge, exact labels, {MNIST}", pixels, 60_000, FORMS, _sgd("SGDClassifier", FORMS), PEGASOS),
        _online(f"Perceptron, exact, {MNIST}", pixels, 60_000, FORMS, _sgd("Perceptron", FORMS), PERCEPTRONS),
        _online(f"hinge, exact, {WORDS}", words, 100_000, SPARSE, _sgd("SGDClassifier", SPARSE), PEGASOS),
        _online(f"Perceptron, exact, {WORDS}", words, 100_000, SPARSE, _sgd("Perceptron", SPARSE), PERCEPTRONS),
        _online(f"sets of 2, {MNIST}", pixels, 60_000, FORMS, _vowpal_wabbit(18), **sets),
        _online(f"sets of 2, {WORDS}", words, 100_000, SPARSE, _vowpal_wabbit(20), **sets),
        Race("online", f"{batch} pixels", pixels, Entrant("oneof", "online", batches, EPOCHS), _river_batches(few),
             ONE_PASS, 10, few),
        Race("online", row, pixels, one_by_one, _river(few), ROWS, 10, few),
    ]  # fmt: skip


def svm_races():
    """Return the races of linear SVMs to the same objective."""
    ours = tuple({"tol": tol} for tol in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6))
    theirs = tuple({"tol": tol} for tol in (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3))
    squared = tuple({"tol": tol} for tol in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-8))
    races = []
    for make, what, forms, weight in (
        (data.usps_rows, "USPS, 7,291 x 256, lam 1e-3", FORMS[1:4:2], 1e-3),
        (data.newsgroup_rows, "20 Newsgroups, 11,314 x 32,443, lam 1e-4", SPARSE[1:], 1e-4),
    ):
        plsvm = Entrant("oneof", "support_vectors", _with(forms, lam=weight), ours)
        task = f"Crammer and Singer's SVM, {what}"
        svc = _with(forms, multi_class="crammer_singer", lam=weight)
        races += [
            Race("linear SVMs", task, make, plsvm, peer, OBJECTIVE)
            for peer in (
                Entrant("scikit-learn", "linear_svc", svc, theirs),
                Entrant("liblinear-official", "linear", ({"kind": 4, "lam": weight},), theirs),
            )
        ]
    for make, what, forms in (
        (data.ten_clusters, "5,000 x 100, 10 classes", FORMS[1:4:2]),
        (data.newsgroup_rows, "20 Newsgroups", SPARSE[1:]),
    ):
        clpl = Entrant("oneof", "squared_hinges", _with(forms, C=1.0), squared)
        task = f"one squared hinge per class, {what}, C = 1"
        svc = tuple({**form, "dual": dual, "C": 1.0} for form in forms for dual in (True, False))
        races += [
            Race("linear SVMs", task, make, clpl, peer, OBJECTIVE)
            for peer in (
                Entrant("scikit-learn", "linear_svc", svc, theirs),
                Entrant("liblinear-official", "linear", tuple({"kind": k, "C": 1.0} for k in (1, 2)), theirs),
            )
        ]
    return races


def gaussian_process_races():
    """Return the races of Gaussian processes: each library finds its own mode, with the same kernel."""
    length = data.length_scale()
    both = {"length": length}
    modes = Target("rows", "each to its own mode, kernel 1.0 * RBF(l) with the same l; accuracies reported")
    learned = Target("rows", "each to its own maximum of the evidence, over variance and length; accuracies reported")
    races = []
    for task, n, options, line in (
        ("mode, exact labels, MNIST, 2,000 x 784", 2_000, {}, modes),
        ("hyper-parameters and mode, exact labels, MNIST, 500 x 784", 500, {"optimizer": "fmin_l_bfgs_b"}, learned),
        ("probabilities of 1,000 rows after it, 2,000 x 784", 2_000, {"probabilities": True}, modes),
    ):
        # One model for each pair of classes is by far the faster form, but has no probabilities.
        kinds = ("one_vs_rest",) if "probabilities" in options else ("one_vs_rest", "one_vs_one")
        peers = tuple({**both, **options, "multi_class": kind} for kind in kinds)
        ours = Entrant("oneof", "gaussian_process", ({**both, **options},))
        peer = Entrant("scikit-learn", "gaussian_process", peers)
        races.append(Race("Gaussian processes", task, data.make_mnist_rows(n), ours, peer, line, 10))
    return races


def graph_races():
    """Return the races over graphs, to the peer's accuracy on the unlabeled rows after many sweeps."""
    line = Target("accuracy", "accuracy of the peer after 1,000 sweeps, less 0.1 points", 1e-3)
    short = Target("accuracy", "accuracy of the peer after 1,000 sweeps or its own convergence, less 0.1 points", 1e-3)
    sweeps = tuple({"max_iter": n} for n in (1, 3, 10, 30, 100, 300, 1000))
    iterations = tuple({"max_iter": n} for n in (1, 2, 3, 4, 5, 6, 8, 10, 30, 10_000))
    races = []
    for given, how in (("given", "graph given"), ("approximate", "from the rows")):
        graph, knn = ({"graph": given},), ({"graph": "given" if given == "given" else "knn"},)
        task = f"20,000 rows, 10 labels per class, {how}"
        ours, peer = (
            Entrant("oneof", "harmonic", graph, iterations),
            Entrant("scikit-learn", "propagation", knn, sweeps),
        )
        races.append(Race("graphs", f"harmonic functions, {task}", data.blobs, ours, peer, line))
        for alpha in (0.2, 0.99):
            words = f"local and global consistency, alpha {alpha}, {task}"
            ours = Entrant("oneof", "local_global_consistency", _with(graph, alpha=alpha), iterations)
            peer = Entrant("scikit-learn", "spreading", _with(knn, alpha=alpha), sweeps)
            races.append(Race("graphs", words, data.blobs, ours, peer, short))
    cuts = Target("rows", "each with its own tolerance; accuracies reported")
    for sizes, volume in ((False, False), (True, False), (True, True)):
        options = ({"sizes": sizes, "volume_constraint": volume},)
        words = f"{'cuts, ' if volume else ''}{'class sizes known' if sizes else 'class sizes unknown'}"
        peer = Entrant("graphlearning", "poisson", options)
        task = f"Poisson learning, {words}, MNIST, 70,000 rows, 1 label per class, graph given"
        races.append(Race("graphs", task, data.mnist_labels, Entrant("oneof", "poisson", options), peer, cuts))
    return races


def naive_bayes_races():
    """Return the races of naive Bayes."""
    exact = Target("rows", "the same parameters")
    words = "20 Newsgroups, 11,314 x 32,443 counts"
    thresholds = tuple({"form": "csr64", "threshold": t} for t in (0.75, 0.9, 0.99))
    best = tuple({"form": "csr64", "criterion": "k_best", "k_best": k, "max_iter": None} for k in (100, 500, 2000))
    ours, theirs = (Entrant(library, "naive_bayes", SPARSE[1:]) for library in ("oneof", "scikit-learn"))
    few = Target("accuracy", "accuracy on new documents of the best of six self-training settings")
    steps = tuple({"max_iter": n} for n in (1, 2, 3, 5, 10, 30, 1000))
    unlabeled = Entrant("oneof", "naive_bayes_unlabeled", SPARSE[1:], steps)
    trained = Entrant("scikit-learn", "self_training", thresholds + best)
    counts = data.newsgroup_counts
    return [
        Race("naive Bayes", f"exact labels, {words}", counts, ours, theirs, exact),
        Race("naive Bayes", f"300 labeled documents, {words}", counts, unlabeled, trained, few),
    ]


DISCIPLINES = {
    "online": online_races,
    "svm": svm_races,
    "gaussian-processes": gaussian_process_races,
    "graphs": graph_races,
    "naive-bayes": naive_bayes_races,
}
