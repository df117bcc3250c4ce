"""Graph-prior logistic regression: the cost of its solvers, accuracy by the number of labels, and co-training."""

import time
import warnings

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import oneof
from benchmarks.common import candidate_columns, hide_labels, labeled_per_class, peak_memory
from oneof import GraphLogisticRegression
from oneof.solvers.graph_logistic import LogisticPosterior, PriorTerm, solve_graph_logistic


def make_problem(n=2000, m=500, d=100, n_classes=10):
    """Return m labeled rows with a constant column, the mask of their labels, and the graph and ridge priors."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(n_classes, d))
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d))
    y = (X @ centers.T / np.sqrt(d) * 2.0 + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    affinity = sp.csr_array(kneighbors_graph(X, 5))
    laplacian = sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T)))
    X = np.hstack([X, np.ones((n, 1))])
    matrix = X.T @ (laplacian @ X)
    matrix = (matrix + matrix.T) / 2.0
    matrix[-1], matrix[:, -1] = 0.0, 0.0
    ridge = sp.csr_array(np.diag(np.append(np.ones(d), 0.0)))
    return X[:m], np.eye(n_classes, dtype=bool)[y[:m]], [PriorTerm("graph", matrix), PriorTerm("ridge", ridge)]


def time_solver(X, mask, terms, precisions, solver, n_runs):
    """Return the solution and the minimum time of several runs."""
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        result = solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, solver=solver)
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def solver():
    """Time the three M-steps from w = 0 to the optimum: 10 classes, 100 features, 500 labeled rows of 2,000, one run.

    The precisions are those of the evidence, and a tenth of them. "difference" is that of the weights of block and
    sequential from Newton's, relative to the largest weight.
    """
    X, mask, terms = make_problem()
    for solver in ("newton", "block", "sequential"):  # compiles
        solve_graph_logistic(
            X[:20], mask[:20], terms[1:], precision="fixed", precisions={"ridge": np.array(10.0)}, solver=solver
        )
        solve_graph_logistic(
            X[:20],
            mask[:20],
            terms,
            precision="fixed",
            precisions={t.name: np.array(10.0) for t in terms},
            solver=solver,
        )
    start = time.perf_counter()
    evidence = solve_graph_logistic(X, mask, terms)
    print(
        f"evidence: {time.perf_counter() - start:.2f} s, {evidence.n_iter} iterations, converged {evidence.converged}"
    )
    for factor in (1.0, 0.1):
        precisions = {name: factor * value for name, value in evidence.precisions.items()}
        newton, own = time_solver(X, mask, terms, precisions, "newton", 5)
        text = ", ".join(f"{name} {float(value):.3g}" for name, value in precisions.items())
        print(f"{text}: newton {own:.3f} s", end="")
        for solver, n_runs in (("block", 3), ("sequential", 1)):
            result, seconds = time_solver(X, mask, terms, precisions, solver, n_runs)
            difference = np.abs(result.weights - newton.weights).max() / np.abs(newton.weights).max()
            print(
                f" | {solver} {seconds:.2f} s = {seconds / own:.0f} times (target 5), difference {difference:.0e}",
                end="",
            )
        print(flush=True)


def wide():
    """Time fits on 5,000 sparse columns with 100 labeled rows, of all weights and in the span of the rows."""
    rng = np.random.default_rng(0)
    n, d, m = 1000, 5000, 100
    X = sp.random_array((n, d), density=0.01, rng=rng, format="csr")
    y = np.asarray(X @ rng.normal(size=(d, 4)) * 3).argmax(axis=1)
    affinity = sp.csr_array(kneighbors_graph(X, 5))
    laplacian = sp.csr_array(sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T))))
    graph = (X.T @ laplacian @ X).toarray()
    mask = np.eye(4, dtype=bool)[y[:m]]
    ridge = sp.csr_array(sp.eye_array(d))
    priors = {
        "ridge": [PriorTerm("ridge", ridge)],
        "graph+ridge": [PriorTerm("graph", graph), PriorTerm("ridge", ridge)],
    }
    for name, terms in priors.items():
        start = time.perf_counter()
        solve_graph_logistic(X[:m], mask, terms, tol=1e-4)
        seconds_of_weights = time.perf_counter() - start
        start = time.perf_counter()
        result = solve_graph_logistic(X[:m], mask, terms, span=X, tol=1e-4)
        seconds = time.perf_counter() - start
        posterior = LogisticPosterior.from_mode(X[:m], result.weights, terms, result.precisions)
        start = time.perf_counter()
        posterior.covariance(X)
        print(
            f"{name}, {m} x {d} CSR, K = 4: {seconds_of_weights:.1f} s, in the span {seconds:.1f} s, "
            f"{result.n_iter} iterations, converged {result.converged}; "
            f"covariances of {n} rows {time.perf_counter() - start:.1f} s; peak memory "
            f"{peak_memory():.2f} GB",
            flush=True,
        )


SETS = {"ionosphere": ("ionosphere",), "wdbc": ("wdbc",), "pima": ("pima",), "mfeat": ("mfeat_karhunen",)}
LABEL_COUNTS = {"mfeat": (20, 40, 80, 160, 320)}
DEFAULT_COUNTS = (10, 20, 40, 80, 160)
DRAWS = 20
SUPERVISED = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "SVM, linear": SVC(kernel="linear"),
    "SVM, rbf": SVC(),
}
SEMI_SUPERVISED = {
    "GraphLogisticRegression": oneof.GraphLogisticRegression(),
    'GraphLogisticRegression("graph")': oneof.GraphLogisticRegression("graph"),
    "HarmonicField": oneof.HarmonicField(),
    "SpectralGraphTransducer": oneof.SpectralGraphTransducer(),
}


def load_columns(names):
    """Return the columns of all parts of a data set, and its labels as indices."""
    parts = [oneof.datasets.load(name) for name in names]
    return np.hstack([part.X for part in parts]), candidate_columns(parts[0])


def draw_labeled(y, number, rng):
    """Draw the labeled rows: one of every class, and the other ones at random."""
    rows = rng.permutation(len(y))
    first = np.unique(y[rows], return_index=True)[1]
    rest = np.delete(rows, first)
    return np.concatenate([rows[first], rest[: number - len(first)]])


def accuracies(X, y, number, seed):
    """Return the accuracy of each method on the unlabeled rows of fit, and on held-out rows."""
    rng = np.random.default_rng(seed)
    is_held_out = np.zeros(len(y), dtype=bool)
    is_held_out[rng.permutation(len(y))[: len(y) // 3]] = True
    train, target = X[~is_held_out], y[~is_held_out]
    scaler = StandardScaler().fit(train)
    train, new = scaler.transform(train), scaler.transform(X[is_held_out])
    labeled = draw_labeled(target, number, rng)
    partial = hide_labels(target, labeled)
    hidden = partial == -1
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in SUPERVISED.items():
            fitted = clone(model).fit(train[labeled], target[labeled])
            results[name] = (fitted.predict(train[hidden]) == target[hidden]).mean(), fitted.score(new, y[is_held_out])
        for name, model in SEMI_SUPERVISED.items():
            fitted = clone(model).fit(train, partial)
            results[name] = (fitted.transduction_[hidden] == target[hidden]).mean(), fitted.score(new, y[is_held_out])
    return results


def accuracy_curve(name):
    """Return accuracies (numbers, draws, 2) by method, transductive and held out, and the numbers of labeled rows."""
    X, y = load_columns(SETS[name])
    numbers = LABEL_COUNTS.get(name, DEFAULT_COUNTS)
    jobs = [delayed(accuracies)(X, y, number, seed) for number in numbers for seed in range(DRAWS)]
    results = Parallel(n_jobs=2)(jobs)
    values = {method: np.array([each[method] for each in results]) for method in results[0]}
    return {method: value.reshape(len(numbers), DRAWS, 2) for method, value in values.items()}, numbers


def print_curve(name, values, numbers):
    """Print a table of means and standard deviations over the draws."""
    for kind, title in enumerate(("unlabeled rows of fit", "held out")):
        print(f"{name}, {title}: accuracy %, mean +- standard deviation of {DRAWS} draws")
        print(f"  {'labeled':34s}" + "".join(f"{number:>14d}" for number in numbers))
        for method, value in values.items():
            cells = 100 * value[:, :, kind]
            line = "".join(f"{m:8.1f} +-{s:4.1f}" for m, s in zip(cells.mean(axis=1), cells.std(axis=1), strict=True))
            print(f"  {method:34s}{line}", flush=True)


def draw_figure(curves, path):
    """Plot a panel for each data set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.8), layout="constrained", squeeze=False)
    for axis, (name, (values, numbers)) in zip(axes[0], curves.items(), strict=True):
        for i, (method, value) in enumerate(values.items()):
            means, errors = 100 * value[:, :, 0].mean(axis=1), 100 * value[:, :, 0].std(axis=1) / np.sqrt(DRAWS)
            style = "--" if method in SUPERVISED else "-"
            axis.errorbar(
                numbers, means, errors, ls=style, marker="o", ms=3.5, lw=1.4, capsize=2, label=method, c=f"C{i}"
            )
        axis.set(xscale="log", xlabel="labeled rows", title=name)
        axis.set_xticks(numbers, [str(number) for number in numbers], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("accuracy on unlabeled rows, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)


def label_curves(*names: str, figure=""):
    """Print the accuracy by the number of labeled rows, of graph-prior logistic regression and of other methods.

    In each of 20 draws some rows of every class are labeled, the same for all methods. Accuracy is measured on the
    unlabeled rows, with which the semi-supervised methods were fitted (transductive), and on a third of the rows that
    were in no fit (inductive, "held out"). Features are scaled to unit variance over all rows of fit, without labels.
    All methods have their defaults; nothing was tuned on these data sets, which are read from $ONEOF_DATA.
    """
    curves = {}
    for name in names or SETS:
        curves[name] = accuracy_curve(name)
        print_curve(name, *curves[name])
    if figure:
        draw_figure(curves, figure)


VIEWS = ("fourier", "factors", "karhunen", "pixel", "zernike", "morphological")
PER_CLASS = (2, 5, 10)


def load_views():
    """Return the scaled columns of each view, and the digits."""
    sets = [oneof.datasets.load(f"mfeat_{name}") for name in VIEWS]
    return [StandardScaler().fit_transform(one.X) for one in sets], candidate_columns(sets[0])


def column_groups(view_rows):
    """Return the column indices of each view in the joined matrix."""
    ends = np.cumsum([part.shape[1] for part in view_rows])
    return [np.arange(end - part.shape[1], end) for part, end in zip(view_rows, ends, strict=True)]


def drop_views(X, columns, rng):
    """Return X with random views missing; each row retains at least one view."""
    out = X.copy()
    retained = rng.integers(len(columns), size=len(X))
    for s, own in enumerate(columns):
        out[np.ix_((rng.random(len(X)) < 0.5) & (retained != s), own)] = np.nan
    return out


def views(draws=5):
    """Print accuracies on the six views of 2,000 digits (mfeat): each view, all columns as one view, and co-training.

    In each draw a few rows of every class are labeled; accuracy is measured on the other rows. Features are scaled to
    unit variance over all rows, without labels. All methods have their defaults. In "half missing" each view is missing
    from every row with probability 1/2, except for one view that each row retains. The data are read from $ONEOF_DATA.
    """
    view_rows, y = load_views()
    X, columns = np.hstack(view_rows), column_groups(view_rows)
    single = {f"{name} alone": part for name, part in zip(VIEWS, view_rows, strict=True)}
    single["all columns, one view"] = X
    print(f"accuracy %, mean +- standard deviation of {draws} draws; seconds per fit")
    print(f"{'labeled rows per class':38s}" + "".join(f"{number:>22d}" for number in PER_CLASS))
    table = {}
    for number in PER_CLASS:
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(y))
            labeled = labeled_per_class(y, order, number)
            partial = hide_labels(y, labeled)
            models = {
                f"{name}, logistic regression": (LogisticRegression(max_iter=2000), Z) for name, Z in single.items()
            }
            models |= {f"{name}, graph prior": (GraphLogisticRegression(), Z) for name, Z in single.items()}
            models["six views, co-training"] = (GraphLogisticRegression(views=columns), X)
            models["six views, half missing"] = (GraphLogisticRegression(views=columns), drop_views(X, columns, rng))
            for name, (model, Z) in models.items():
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if isinstance(model, LogisticRegression):
                        predicted = model.fit(Z[labeled], y[labeled]).predict(Z)
                    else:
                        predicted = model.fit(Z, partial).transduction_
                seconds = time.perf_counter() - start
                table.setdefault(name, {}).setdefault(number, []).append(
                    (100 * (predicted == y)[partial == -1].mean(), seconds)
                )
    for name, row in table.items():
        cells = [np.array(row[number]) for number in PER_CLASS]
        print(
            f"{name:38s}"
            + "".join(f"{c[:, 0].mean():9.1f} +-{c[:, 0].std():4.1f} {c[:, 1].mean():5.1f}s" for c in cells),
            flush=True,
        )
