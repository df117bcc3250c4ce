"""The decision figure, docs/which_method.svg. Run with `python docs/_drawings/which_method.py`."""

from pathlib import Path

from ink import box, frame, text

WIDTH, COLUMN, GAP, LEFT = 1020, 312, 18, 24
ROW, STEP = 62, 74
# What is known of the labels; then, what the data are like and what to take first.
COLUMNS = (
    (
        "Some rows have several candidates",
        (
            ("up to 6,000 labelled rows", ("LOORidge",), True),
            ("more rows, or sparse features", ("CLPL", "PLSVM", "PLEM"), False),
            ("streams, millions of rows", ("AvgPegasos", "MaxPerceptron"), False),
            ("probabilities and their variance", ("PLGP",), False),
            ("neighbours that can be shown", ("PLKNN", "IPAL"), False),
        ),
    ),
    (
        "Few labels, most rows have none",
        (
            ("near rows share a class", ("HarmonicField", "SpectralGraphTransducer"), True),
            ("word counts", ("MultinomialEM",), True),
            ("probabilities for new rows; views", ("GraphLogisticRegression",), False),
            ("gaps; class shares are known", ("TransductiveSVM",), False),
            ("each class is a cloud", ("GaussianEM",), False),
        ),
    ),
    (
        "Every row has one label",
        (
            ("scikit-learn is made for this;", ("its SVMs, logistic regression, ...",), False),
            ("several views of each row", ("GraphLogisticRegression",), False),
            ("streams, millions of rows", ("MaxPerceptron", "MaxPegasos"), False),
        ),
    ),
)


def column(x: float, heading: str, choices: tuple) -> list[str]:
    """Return a column: what is known, and below it a box for each kind of data."""
    top = 106
    parts = [
        f'<path class="line" d="M{WIDTH / 2:g},64 V84 H{x + COLUMN / 2:g} V{top - 2}"/>',
        box(x, top, COLUMN, 40, "ask"),
        text(x + COLUMN / 2, top + 26, heading, size=15.5, kind="strong", anchor="middle"),
    ]
    for at, (when, names, first) in enumerate(choices):
        y = top + 56 + at * STEP
        parts += [
            box(x, y, COLUMN, ROW, "first" if first else "card"),
            text(x + 16, y + 24, when, size=14, kind="muted"),
            text(x + 16, y + 47, " · ".join(names), size=15.5 if len(" ".join(names)) < 36 else 13.6, kind="name"),
        ]
        if first:
            parts.append(text(x + COLUMN - 14, y + 24, "try first", size=12.5, kind="muted", anchor="end"))
    return parts


def main() -> None:
    """Write the figure."""
    body = [
        box(WIDTH / 2 - 190, 22, 380, 42, "ask"),
        text(WIDTH / 2, 49, "What do you know of the labels?", size=17, kind="strong", anchor="middle"),
    ]
    for at, (heading, choices) in enumerate(COLUMNS):
        body += column(LEFT + at * (COLUMN + GAP), heading, choices)
    x, y = LEFT + 2 * (COLUMN + GAP), 106 + 56 + 3 * STEP
    body += [
        box(x, y, COLUMN, 2 * STEP - 12, "first"),
        text(x + 16, y + 28, "not sure, or it matters", size=14, kind="muted"),
        text(x + 16, y + 54, "oneof.compare(X, y)", size=16.5, kind="name"),
        text(x + 16, y + 82, "fits the panel under the same folds and", size=14),
        text(x + 16, y + 102, "picks a winner without true labels", size=14),
        text(x + COLUMN - 14, y + 28, "try first", size=12.5, kind="muted", anchor="end"),
    ]
    height = 106 + 56 + 5 * STEP + 12
    (Path(__file__).parents[1] / "which_method.svg").write_text(
        frame(WIDTH, height, "Which method to try first, by what is known of the labels", body)
    )


if __name__ == "__main__":
    main()
