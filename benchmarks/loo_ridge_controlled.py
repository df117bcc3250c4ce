"""LOORidge under made candidate sets of all kinds: beside simpler machines, and beside true labels.

Of each set at most 4,000 rows are drawn and split 80/20; the candidates are drawn around the true labels of the
training part by `oneof.make_partial_labels`. "falling" are the same sets with class sizes that fall 12-fold, by a drawn
order of the classes. The machines are those of `benchmarks/loo_ridge.py`; numbers are means over the draws. Writes
docs/loo_ridge_controlled.csv, and docs/loo_ridge.png from it. Run with
`python benchmarks/loo_ridge_controlled.py [measure] [summary] [draw]`.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from loo_ridge import one_split

from oneof import make_partial_labels
from oneof.datasets import load

DOCS = Path(__file__).parent.parent / "docs"
TABLE = DOCS / "loo_ridge_controlled.csv"
HELD_OUT = DOCS / "loo_ridge_held_out.csv"
NAMES = {"lost": "Lost", "msrcv2": "MSRCv2", "birdsong": "BirdSong"}
MOST_ROWS = 4000
CONTROLLED = {"segment": 3, "vehicle": 3, "glass": 5, "ecoli": 5, "mfeat_zernike": 2, "letter": 1}
"""Sets with their numbers of draws."""
FALLING = ("segment", "mfeat_zernike", "letter")
"""Sets that are also taken with class sizes that fall 12-fold."""
MADE = [("uniform", 1), ("uniform", 2), ("uniform", 3), ("confusable", 1), ("confusable", 2)] + [
    ("cooccurring", extra) for extra in (1, 2, 3)
]


DIGITS = {"part of scenes": 2, "part of confusion": 2}
COLUMNS = ("equal shares", "plain loop", "LOORidge", "true labels", "part of scenes", "part of confusion", "ECE")


def thinned(truth, seed):
    """Return rows of which classes, in a drawn order, have numbers that fall 12-fold."""
    random = np.random.default_rng(1000 + seed)
    n_classes = truth.max() + 1
    keep = 12.0 ** -(random.permutation(n_classes) / (n_classes - 1))
    return np.flatnonzero(random.random(len(truth)) < keep[truth])


def measured():
    """Yield a line of numbers for each set and kind of candidate sets."""
    for name, falling in [(name, False) for name in CONTROLLED] + [(name, True) for name in FALLING]:
        data = load(name)
        X, truth = np.nan_to_num(np.asarray(data.X, dtype=np.float64)), np.unique(data.y, return_inverse=True)[1]
        for kind, extra in MADE:
            if extra + 1 >= truth.max() + 1:
                continue
            found = []
            for seed in range(CONTROLLED[name]):
                some = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
                if falling:
                    some = some[np.isin(some, thinned(truth, seed))]
                train, test = np.split(some, [round(0.8 * len(some))])
                mask = np.zeros((len(X), truth.max() + 1), dtype=bool)
                made = make_partial_labels(
                    truth[train],
                    n_distractors=extra,
                    distractors=kind,
                    classes=np.arange(truth.max() + 1),
                    random_state=seed,
                )
                mask[train] = made.mask
                found.append(one_split(X, mask, truth, train, test)[1])
            mean = {key: np.mean([numbers[key] for numbers in found]) for key in COLUMNS}
            yield {"set": f"{name}{' falling' if falling else ''}", "kind": kind, "extra": extra, **mean}


def margin(line):
    """Return by how much LOORidge is above the better of the simpler machines."""
    return round(float(line["LOORidge"]) - max(float(line["plain loop"]), float(line["equal shares"])), 3)


def measure():
    """Write the table line by line, and print where the method is furthest behind."""
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "kind", "extra", *COLUMNS])
        for line in measured():
            writer.writerow(
                [
                    *(line[key] for key in ("set", "kind", "extra")),
                    *(f"{line[key]:.{DIGITS.get(key, 3)}f}" for key in COLUMNS),
                ]
            )
            file.flush()
            print(*(f"{value:.3f}" if isinstance(value, float) else value for value in line.values()), flush=True)


def read():
    """Return the lines of the table."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def summary():
    """Print where the method is furthest behind the simpler machines, and, at one false label, behind true labels."""
    lines = read()
    behind = sorted(lines, key=margin)
    print(f"{len(lines)} pairs; above by more than a point: {sum(margin(line) > 0.01 for line in lines)}")
    for line in behind[:4]:
        print(
            f"  {line['set']} {line['kind']} {line['extra']}: {margin(line):+.3f} to the better of the simpler machines"
        )
    single = [(float(line["LOORidge"]) - float(line["true labels"]), line) for line in lines if line["extra"] == "1"]
    for gap, line in sorted(single, key=lambda pair: pair[0])[:5]:
        print(f"  {line['set']} {line['kind']} 1: {gap:+.3f} to true labels")
    for kind in ("uniform", "confusable", "cooccurring"):
        means = {key: np.mean([float(line[key]) for line in lines if line["kind"] == kind]) for key in COLUMNS}
        print(f"  {kind}: " + ", ".join(f"{key} {value:.3f}" for key, value in means.items()))


STYLES = (
    ("equal shares", "o", "accent-soft"),
    ("plain loop", "s", "muted"),
    ("LOORidge", "D", "accent"),
    ("true labels", "|", "second"),
)


def held_out():
    """Return the means that `benchmarks/loo_ridge.py held_out` wrote, by set and machine."""
    found = {}
    with HELD_OUT.open(newline="") as file:
        for line in csv.DictReader(file):
            found.setdefault(NAMES[line["set"]], {})[line["of"]] = float(line["mean"])
    return found


def draw():
    """Draw every line of the table, and the real sets, as a margin over the loop that takes predictions as they are."""
    import matplotlib.pyplot as plt

    from oneof.plots.style import PALETTE, style_axes

    names = {"uniform": "even", "confusable": "partner", "cooccurring": "scenes"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained", width_ratios=(1, 2))
    real = held_out()
    y = np.arange(len(real))
    for key, marker, color in STYLES:
        left.plot([numbers[key] for numbers in real.values()], y, marker, color=PALETTE[color], label=key, ms=7)
    left.set_yticks(y, list(real))
    left.invert_yaxis()
    left.set_xlabel("test accuracy")
    left.set_title("Real sets, ten splits", loc="left")
    rows = {pair: [line for line in read() if (line["kind"], int(line["extra"])) == pair] for pair in MADE}
    for position, lines in enumerate(rows.values()):
        for key, marker, color in STYLES[:-1]:
            gaps = [float(line[key]) - float(line["true labels"]) for line in lines]
            shift = {"equal shares": -0.2, "plain loop": 0.0, "LOORidge": 0.2}[key]
            spots = position + shift + np.linspace(-0.06, 0.06, len(gaps))
            right.plot(spots, gaps, marker, color=PALETTE[color], ms=4.5, alpha=0.75)
            right.plot(
                [position + shift - 0.09, position + shift + 0.09], [np.mean(gaps)] * 2, color=PALETTE[color], lw=2
            )
    right.axhline(0, color=PALETTE["second"], lw=1)
    right.set_xticks(range(len(MADE)), [f"{names[kind]}\n{extra} false" for kind, extra in MADE], fontsize=8)
    right.set_ylabel("accuracy less that of true labels")
    right.set_title("Made candidate sets: a dot a data set, bars their means", loc="left")
    style_axes(left, grid="x")
    style_axes(right, grid="y")
    left.legend(loc="center left", bbox_to_anchor=(0.0, 0.74), frameon=False, fontsize=9)
    figure.savefig(DOCS / "loo_ridge.png", dpi=130)


def main():
    """Run what was asked for, or all."""
    parts = {"measure": measure, "summary": summary, "draw": draw}
    for part in sys.argv[1:] or parts:
        parts[part]()


if __name__ == "__main__":
    main()
