"""Draw the pictures of docs/tutorial.md: `python docs/_drawings/tutorial.py`.

$ONEOF_DATA names the folder of lost.npz. The picture of the report is taken in chromium, where that is installed.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from typer.testing import CliRunner

import oneof
from oneof.cli.app import app
from oneof.plots import plot_class_frequencies, plot_set_sizes

DOCS = Path(__file__).resolve().parents[1]
N_FIT = 500
PARTS = 10


def main() -> None:
    """Draw all pictures."""
    lost = oneof.datasets.load("lost")
    order = np.random.default_rng(0).permutation(len(lost.y))
    X, y, truth = lost.X[order[:N_FIT]], lost.candidates[order[:N_FIT]], lost.y[order[:N_FIT]]
    draw_sets(y)
    draw_confidence(*oneof.LOORidge().fit(X, y).disambiguate(), truth)
    if browser := shutil.which("chromium"):
        take_report(browser, X, y)


def draw_sets(y: oneof.CandidateSets) -> None:
    """Draw what the sets leave open, and which names are in many of them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(1, 1.6), layout="constrained")
    plot_set_sizes(y, ax=left)
    plot_class_frequencies(y, ax=right)
    left.set_xlabel("names in a set")
    right.set_ylabel("name")
    right.set_xlabel("sets that hold it")
    figure.savefig(DOCS / "tutorial_sets.png", dpi=90)


def draw_confidence(labels: np.ndarray, confidence: np.ndarray, truth: np.ndarray) -> None:
    """Draw how often labels are right, and how sure the model is, in tenths of the rows ordered by confidence."""
    parts = np.array_split(np.argsort(-confidence), PARTS)
    places = np.arange(PARTS)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    right = [100 * (labels == truth)[part].mean() for part in parts]
    sure = [100 * confidence[part].mean() for part in parts]
    axes.bar(places, right, color="#9ecae1", label="decided names that are right")
    # Points at 100 % stand on the edge of the axes, and are not to be cut in half.
    axes.plot(places, sure, "o-", color="#b2182b", label="mean confidence", clip_on=False)
    axes.set(ylim=(0, 100), xlabel="tenths of the faces, the surest first")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    axes.set_xticks(places, [str(place + 1) for place in places])
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "tutorial_confidence.png", dpi=90)


def take_report(browser: str, X: np.ndarray, y: oneof.CandidateSets) -> None:
    """Fit from the command line, and take a picture of the report's first screen."""
    import polars

    with tempfile.TemporaryDirectory() as folder:
        table = polars.DataFrame(X, schema=[f"f{j}" for j in range(X.shape[1])])
        table.with_columns(names=polars.Series(y.to_strings())).write_csv(f"{folder}/faces.csv")
        words = ["fit", f"{folder}/faces.csv", "--labels", "names", "--folds", "2", "--out", f"{folder}/out"]
        done = CliRunner().invoke(app, words)
        if done.exit_code:
            raise SystemExit(done.output)
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,640"]
        target = f"--screenshot={DOCS / 'tutorial_report.png'}"
        page = f"file://{folder}/out/report.html"
        subprocess.run([browser, *words, target, page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
