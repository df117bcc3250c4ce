"""Draw the figures of docs/tutorial.md: `python docs/_drawings/tutorial.py`.

$ONEOF_DATA is the folder of lost.npz. The screenshot of the report needs chromium.
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
N_GROUPS = 10


def main() -> None:
    """Draw all figures: the accuracy of the faces of Lost, the sets and the report of the digits."""
    lost = oneof.datasets.load("lost")
    order = np.random.default_rng(0).permutation(len(lost.y))[:N_FIT]
    draw_confidence(*oneof.LOORidge().fit(lost.X[order], lost.candidates[order]).disambiguate(), lost.y[order])
    digits = oneof.datasets.load("digits")
    order = np.random.default_rng(0).permutation(len(digits.y))[:N_FIT]
    y = oneof.make_partial_labels(
        digits.y[order], fraction=0.9, n_distractors=3, distractors="confusable", random_state=0
    )
    draw_sets(y)
    if browser := shutil.which("chromium"):
        screenshot_report(browser, digits.X[order], y)


def draw_sets(y: oneof.CandidateSets) -> None:
    """Draw the sizes of the sets and the frequencies of the digits."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(1, 1.6), layout="constrained")
    plot_set_sizes(y, ax=left)
    plot_class_frequencies(y, ax=right)
    left.set_xlabel("digits in a set")
    right.set_ylabel("digit")
    right.set_xlabel("sets with this digit")
    figure.savefig(DOCS / "tutorial_sets.png", dpi=90)


def draw_confidence(labels: np.ndarray, confidence: np.ndarray, truth: np.ndarray) -> None:
    """Draw the accuracy and the mean confidence of the labels in ten groups of rows ordered by confidence."""
    groups = np.array_split(np.argsort(-confidence), N_GROUPS)
    positions = np.arange(N_GROUPS)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    accuracy = [100 * (labels == truth)[group].mean() for group in groups]
    mean_confidence = [100 * confidence[group].mean() for group in groups]
    axes.bar(positions, accuracy, color="#9ecae1", label="accuracy of the chosen names")
    # Points at 100 % lie on the edge of the axes and would be clipped.
    axes.plot(positions, mean_confidence, "o-", color="#b2182b", label="mean confidence", clip_on=False)
    axes.set(ylim=(0, 100), xlabel="tenths of the faces, most confident first")
    axes.yaxis.set_major_formatter("{x:.0f} %")
    axes.set_xticks(positions, [str(position + 1) for position in positions])
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "tutorial_confidence.png", dpi=90)


def screenshot_report(browser: str, X: np.ndarray, y: oneof.CandidateSets) -> None:
    """Fit from the command line, and take a screenshot of the first screen of the report."""
    import polars

    with tempfile.TemporaryDirectory() as folder:
        table = polars.DataFrame(X, schema=[f"p{j}" for j in range(X.shape[1])])
        table.with_columns(digit=polars.Series(y.to_strings())).write_csv(f"{folder}/images.csv")
        words = ["fit", f"{folder}/images.csv", "--labels", "digit", "--folds", "2", "--out", f"{folder}/out"]
        done = CliRunner().invoke(app, words)
        if done.exit_code:
            raise SystemExit(done.output)
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,640"]
        target = f"--screenshot={DOCS / 'tutorial_report.png'}"
        page = f"file://{folder}/out/report.html"
        subprocess.run([browser, *words, target, page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
