"""Draw docs/mnist_few_labels.png from docs/mnist_few_labels.csv: `python docs/_drawings/mnist.py`."""

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]
LABELS = {
    "PoissonLearning, volume_constraint, sizes": "PoissonLearning(volume_constraint=True), sizes known",
    "HarmonicField": "HarmonicField",
    "PoissonLearning": "PoissonLearning",
    "HarmonicField, published": "HarmonicField without class sizes (Laplace learning)",
}
PUBLISHED = {
    "PoissonLearning, volume_constraint, sizes": 96.5,
    "PoissonLearning": 90.2,
    "HarmonicField, published": 16.1,
}


def main() -> None:
    """Draw the means over the draws, with their range, and the published rates at one label a class."""
    rates = defaultdict(lambda: defaultdict(list))
    with (DOCS / "mnist_few_labels.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rates[row["method"]][int(row["labels a class"])].append(float(row["percent right"]))
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for color, (name, label) in zip(("#1f77b4", "#2ca02c", "#ff7f0e", "#7f7f7f"), LABELS.items(), strict=True):
        numbers = sorted(rates[name])
        values = [rates[name][number] for number in numbers]
        ax.plot(numbers, [sum(v) / len(v) for v in values], "o-", color=color, label=label)
        ax.fill_between(numbers, [min(v) for v in values], [max(v) for v in values], color=color, alpha=0.15)
        if name in PUBLISHED:
            ax.plot([1], [PUBLISHED[name]], "x", color=color, markersize=9, markeredgewidth=2)
    ax.plot([], [], "kx", label="published, features of an autoencoder")
    ax.set(xscale="log", xlabel="labels a class", ylabel="percent right", ylim=(0, 100))
    ax.set_xticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="lower right")
    figure.savefig(DOCS / "mnist_few_labels.png", dpi=110)


if __name__ == "__main__":
    main()
