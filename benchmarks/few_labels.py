"""Choice of a method with few labels by `compare`, on two groups of tasks.

They are made from data sets with many labels ("made"), or are the official splits of the benchmark of Chapelle,
Schölkopf & Zien ("book").
"""

import csv
import warnings
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import oneof
from benchmarks.common import DOCS
from benchmarks.few_label_tasks import BOOK_SETS, N_SPLITS, FewLabelTask, book_tasks, made_tasks
from reproduction.papers.benchmark import PUBLISHED

RECORDS = DOCS / "few_labels.csv"
COLUMNS = ("set", "kind", "labels", "seed", "method", "held-out accuracy", "error")
NUMBERS = ("held-out accuracy", "error")
METHODS = (
    "HarmonicField",
    "LocalGlobalConsistency",
    "MarkovWalk",
    "PoissonLearning",
    "SpectralGraphTransducer",
    "TransductiveSVM",
    "GaussianEM",
    "MultinomialEM",
    "LOORidge",
)


# -- Measurements ------------------------------------------------------------------------------------------------------


def transduce(estimator, task: FewLabelTask) -> np.ndarray:
    """Return the labels of all rows of a method that is fitted to all rows."""
    model = clone(estimator).fit(task.X, task.labels)
    labels = getattr(model[-1], "transduction_", None)
    return np.asarray(model.predict(task.X) if labels is None else labels)


def measure(tasks: Iterable[FewLabelTask]) -> None:
    """Add a line for each task and method to docs/few_labels.csv; tasks that are there are not measured again."""
    done = {(line["set"], line["kind"], line["labels"], line["seed"]) for line in read_records()}
    for task in tasks:
        key = (task.source, task.kind, str(task.n_labels), str(task.seed))
        if key in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            methods = [name for name in METHODS if name != "GaussianEM" or not sp.issparse(task.X)]
            comparison = oneof.compare(task.X, task.labels, methods, refit=False)
            lines = []
            for result in comparison.results:
                if result.error is not None:
                    continue
                wrong = transduce(comparison.estimators[result.method], task) != task.truth
                error = wrong[task.labels < 0].mean()
                lines.append([*key, result.method, f"{result.covering_rate:.4f}", f"{error:.4f}"])
        is_new = not RECORDS.exists()
        with RECORDS.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS] * is_new + lines)
        print(f"{task.name} is measured", flush=True)


def made(*seeds: int):
    """Measure the tasks made from other data sets, with the given seeds (0 and 1), and add them to the records."""
    for seed in seeds or (0, 1):
        measure(made_tasks(int(seed)))


def book():
    """Measure the official splits of the benchmark, and add them to the records."""
    measure(book_tasks())


# -- Tables ------------------------------------------------------------------------------------------------------------


def read_records() -> list[dict[str, str]]:
    """Return the lines of docs/few_labels.csv."""
    if not RECORDS.exists():
        return []
    with RECORDS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_task(lines: Iterable[dict[str, str]]) -> dict[tuple[str, ...], dict[str, dict[str, float]]]:
    """Return the numbers of each method of each task."""
    tasks: dict[tuple[str, ...], dict[str, dict[str, float]]] = defaultdict(dict)
    for line in lines:
        numbers = {name: float(line[name]) for name in NUMBERS}
        tasks[line["set"], line["kind"], line["labels"], line["seed"]][line["method"]] = numbers
    return dict(tasks)


def mean_of_ties(methods: dict[str, dict[str, float]], key: str) -> float:
    """Return the mean error of the methods of the highest value."""
    highest = max(values[key] for values in methods.values())
    return float(np.mean([values["error"] for values in methods.values() if values[key] == highest]))


RULES = {
    "held-out accuracy": lambda methods: mean_of_ties(methods, "held-out accuracy"),
    "a method at random": lambda methods: float(np.mean([values["error"] for values in methods.values()])),
    "the best method of each task": lambda methods: min(values["error"] for values in methods.values()),
}


def errors_of(tasks: dict[tuple[str, ...], dict[str, dict[str, float]]]) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the error in percent of each method and each rule on each task."""
    names = dict.fromkeys(name for methods in tasks.values() for name in methods)
    errors = {
        name: {task: 100 * methods[name]["error"] for task, methods in tasks.items() if name in methods}
        for name in names
    }
    errors = dict(sorted(errors.items(), key=lambda item: np.mean(list(item[1].values()))))
    return errors | {
        rule: {task: 100 * choose(methods) for task, methods in tasks.items()} for rule, choose in RULES.items()
    }


def mean_over(errors: dict[tuple[str, ...], float], is_used) -> str:
    """Return the mean over sets of the mean over the tasks of a set; the views of mfeat are one set."""
    sets = defaultdict(list)
    for task, error in errors.items():
        if is_used(task):
            sets[task[0].split("_")[0]].append(error)
    return f"{np.mean([np.mean(values) for values in sets.values()]):.2f}" if sets else "-"


def print_table(columns: list[str], rows: Iterable[tuple[str, list[str]]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(["", *columns]) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for name, cells in rows:
        print("| " + " | ".join([name, *cells]) + " |")
    print()


def summary():
    """Print the tables of docs/semi_supervised.md from docs/few_labels.csv.

    All numbers are errors in percent. Means over several data sets give each set the same weight.
    """
    lines = read_records()
    made_errors = errors_of(by_task(line for line in lines if line["kind"] != "book"))
    columns = {
        "10 labels": lambda task: task[2] == "10",
        "100 labels": lambda task: task[2] == "100",
        "all": lambda _: True,
    }
    rows = [(name, [mean_over(errors, used) for used in columns.values()]) for name, errors in made_errors.items()]
    if made_errors["held-out accuracy"]:
        print_table(list(columns), rows)
    tasks = by_task(line for line in lines if line["kind"] == "book")
    print(f"{len({task[3] for task in tasks})} of {N_SPLITS} splits\n")
    errors = errors_of(tasks)
    sets = [name for name in BOOK_SETS if any(task[0] == name for task in tasks)]
    rows = []
    for name, values in errors.items():
        pairs = [
            [mean_over(values, lambda task, s=s, n=n: task[:3] == (s, "book", n)) for n in ("10", "100")] for s in sets
        ]
        means = [mean_over(values, lambda task, n=n: task[2] == n) for n in ("10", "100")]
        if any("-" in pair for pair in pairs):  # a method that was not compared on each set
            means = ["-", "-"]
        rows.append((name, [" / ".join(pair) for pair in [*pairs, means]]))
    published = {name: [row[BOOK_SETS.index(s)] for s in sets] for name, row in PUBLISHED.items()}
    best = [tuple(min(row[i][j] for row in published.values()) for j in (0, 1)) for i in range(len(sets))]
    best.append(tuple(float(np.mean([pair[j] for pair in best])) for j in (0, 1)))
    rows.append(("best published row, tuned for each set", [f"{few:.2f} / {many:.2f}" for few, many in best]))
    print_table([*sets, "mean"], rows)
