"""Classifiers of one sensor, the other and both, and mines found while labels are queried, on made-up rows.

Shaped as the experiments of Krishnapuram et al. (2004), figure 3, whose land-mine data are not public: the rows are
those of `make_two_sensors`, drawn anew for each of the draws. What comes out tells of the method, not of sensors.

Left, one view against two: of the rows with one sensor 20% are labeled, of those with both 80%. Each classifier learns
from all rows that have its sensor, with a label or without, and is judged on the rows with both sensors that have none.
Right: from 10 labeled rows drawn at random, 100 labels are queried, 5 at a time, by one of three strategies;
what is counted are the mines among the rows queried. The classifiers that result are judged on the rows left, as in
the paper, and on as many that could not be queried, since who finds more mines leaves other rows to be judged by.

What had been looked at before the hyper-prior's unit was fixed: these 20 draws with the same unit for any number of
features, where queries by information all fell on rows of the first sensor alone, whose 420 weights were left far too
uncertain, and made worse classifiers than random queries; and four of the draws with the unit that is now the default.

Run with `python benchmarks/two_sensors.py [--draws 20] [--figure PATH]`; the figure needs `pip install '.[plots]'`.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score, roc_curve

from oneof import GraphLogisticRegression
from oneof.active import simulate
from oneof.datasets import make_two_sensors

RATES = np.linspace(0.0, 1.0, 201)
N_ROWS = (123, 398, 316)
N_START, N_QUERIES, BATCH = 10, 100, 5
# Precisions to a hundredth, which does not show in any figure here.
SETTINGS = {"tol": 1e-2}
SENSORS = ("first sensor alone", "second sensor alone", "both sensors")
STRATEGIES = {"mutual_information": "mutual information", "entropy": "entropy", "random": "at random"}


def roc(y, score):
    """Return the detection rates at the false alarm rates of RATES, and the area under the curve."""
    false_alarms, detections, _ = roc_curve(y == "mine", score)
    curve = np.interp(RATES, false_alarms, detections)
    curve[0] = 0.0  # curves begin at the origin, and may rise there
    return curve, roc_auc_score(y == "mine", score)


def mines_of(model, X):
    """Return the probabilities that rows are mines."""
    return model.predict_proba(X)[:, list(model.classes_).index("mine")]


def one_view_and_two(rows, seed):
    """Return the ROC curves of three classifiers, on the rows with both sensors that were not labeled."""
    rng = np.random.default_rng(seed)
    has = np.column_stack([np.isfinite(rows.X[:, columns[0]]) for columns in rows.views])
    both = has.all(axis=1)
    labeled = rng.random(len(both)) < np.where(both, 0.8, 0.2)
    known, judged = np.where(labeled, rows.y, None), both & ~labeled
    curves = []
    for held, columns in zip(has.T, rows.views, strict=True):
        model = GraphLogisticRegression(**SETTINGS).fit(rows.X[np.ix_(held, columns)], known[held])
        curves.append(roc(rows.y[judged], mines_of(model, rows.X[np.ix_(judged, columns)])))
    model = GraphLogisticRegression(views=rows.views, **SETTINGS).fit(rows.X, known)
    curves.append(roc(rows.y[judged], mines_of(model, rows.X[judged])))
    return curves


def halves(rows):
    """Return two sets of rows, with as many rows of either sensor and of both in each."""
    has = np.column_stack([np.isfinite(rows.X[:, columns[0]]) for columns in rows.views])
    order = np.lexsort(has.T)
    return [rows._replace(X=rows.X[half], y=rows.y[half], seen=rows.seen[half]) for half in (order[::2], order[1::2])]


def queried(rows, fresh, strategy, seed):
    """Return how many mines were found after each query, and the areas on the rows left and on fresh ones."""
    estimator = GraphLogisticRegression(views=rows.views, **SETTINGS)
    # Random queries do not ask the classifier, so that none needs to be fitted on the way.
    batch = N_QUERIES if strategy == "random" else BATCH
    run = simulate(
        estimator,
        rows.X,
        rows.y,
        start=N_START,
        n_queries=N_QUERIES,
        batch_size=batch,
        strategy=strategy,
        random_state=seed,
    )
    labeled = np.concatenate([run.initial_indices, run.indices])
    known = np.full(len(rows.y), None, dtype=object)
    known[labeled] = rows.y[labeled]
    left = np.setdiff1d(np.arange(len(rows.y)), labeled)
    model = estimator.fit(rows.X, known)
    areas = [roc(y, mines_of(model, X))[1] for y, X in ((rows.y[left], rows.X[left]), (fresh.y, fresh.X))]
    return np.cumsum(rows.y[run.indices] == "mine"), areas


def spread(values):
    """Return mean and standard deviation as text."""
    return f"{np.mean(values):6.3f} +- {np.std(values, ddof=1) if len(values) > 1 else 0.0:.3f}"


def draw_figure(path, curves, found):
    """Draw mean ROC curves, and the mines found while querying; bands are one standard deviation to each side."""
    from matplotlib.figure import Figure

    from oneof.plots.style import PALETTE, style_axes, write_legend

    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, color, dash in zip(SENSORS, ("muted", "second", "accent"), (":", "--", "-"), strict=True):
        mean = np.mean([curve for curve, _ in curves[name]], axis=0)
        left.plot(RATES, mean, dash, color=PALETTE[color], linewidth=1.8, label=name)
    left.set(xlabel="false alarm rate", ylabel="detection rate", xlim=(0, 1), ylim=(0, 1.01))
    left.set_title("Rows with both sensors and no label, mean of the draws", loc="left", color=PALETTE["ink"])
    at = np.arange(N_QUERIES + 1)
    looks = zip(("accent", "ink", "second"), ("-", ":", "--"), strict=True)
    for (strategy, name), (color, dash) in zip(STRATEGIES.items(), looks, strict=True):
        counts = np.array([np.concatenate([[0], count]) for count, _ in found[strategy]])
        mean, sd = counts.mean(axis=0), counts.std(axis=0, ddof=1) if len(counts) > 1 else 0.0
        right.fill_between(at, mean - sd, mean + sd, color=PALETTE[color], alpha=0.16, linewidth=0)
        right.plot(at, mean, dash, color=PALETTE[color], linewidth=1.8, label=name)
    right.set(xlabel="labels queried", ylabel="mines found", xlim=(0, N_QUERIES), ylim=(0, None))
    right.set_title("Mines among the rows queried", loc="left", color=PALETTE["ink"])
    for ax, where in ((left, "lower right"), (right, "upper left")):
        style_axes(ax, grid="y")
        write_legend(ax, loc=where)
    figure.savefig(path, dpi=150)


def main():
    """Print a table, and draw the figure where a path is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--figure")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    curves, found = {name: [] for name in SENSORS}, {strategy: [] for strategy in STRATEGIES}
    start = time.perf_counter()
    for seed in range(options.draws):
        rows, fresh = halves(make_two_sensors(tuple(2 * n for n in N_ROWS), random_state=seed))
        for name, curve in zip(SENSORS, one_view_and_two(rows, seed), strict=True):
            curves[name].append(curve)
        for strategy in STRATEGIES:
            found[strategy].append(queried(rows, fresh, strategy, seed))
        print(f"draw {seed + 1} of {options.draws}, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"\narea under the ROC curve, rows with both sensors and no label, {options.draws} draws")
    for name in SENSORS:
        print(f"  {name:22s} {spread([area for _, area in curves[name]])}")
    best = [max(areas) for areas in zip(*([area for _, area in curves[name]] for name in SENSORS[:2]), strict=True)]
    gain = np.array([area for _, area in curves[SENSORS[2]]]) - best
    print(f"  both beat the better one in {np.count_nonzero(gain > 0)} draws, by {spread(gain)}")
    print("\nmines found after 25, 50, 75 and 100 queries, and the areas on rows left and on fresh rows")
    for strategy, name in STRATEGIES.items():
        counts = np.array([count for count, _ in found[strategy]])
        shown = " ".join(f"{counts[:, n - 1].mean():5.1f} +- {counts[:, n - 1].std():3.1f}" for n in (25, 50, 75, 100))
        print(
            f"  {name:22s} {shown}  {spread([areas[0] for _, areas in found[strategy]])} "
            f"  {spread([areas[1] for _, areas in found[strategy]])}"
        )
    if options.figure:
        draw_figure(options.figure, curves, found)


if __name__ == "__main__":
    main()
