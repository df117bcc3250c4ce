"""Draw docs/which_method.svg, the decision figure: `python docs/_drawings/which_method.py`.

The page embeds the figure, so that its names are links and its colors follow the theme of the page.
"""

from pathlib import Path

from ink import box, frame, link, text

WIDTH, COLUMN, GAP, LEFT = 1020, 312, 18, 24
TOP, ROW, STEP = 106, 62, 74
# For each kind of supervision, kinds of data with the methods to try.
COLUMNS = (
    (
        "Several candidates in some rows",
        (
            ("dense features", ("LOORidge",), True),
            ("a linear model, sparse features", ("CLPL", "PLSVM", "PLEM"), False),
            ("streams, millions of rows", ("AvgPegasos", "MaxPerceptron"), False),
            ("probabilities and their variance", ("PLGP",), False),
            ("explanations by neighbors", ("PLKNN", "IPAL"), False),
        ),
    ),
    (
        "Few labels, most rows unlabeled",
        (
            ("about 100 labels", ("comparison.compare",), True),
            ("about 10 labels", ("SpectralGraphTransducer",), True),
            ("images", ("PoissonLearning",), True),
            ("word counts", ("MultinomialEM",), True),
            ("probabilities for new rows; views", ("GraphLogisticRegression",), False),
            ("gaps between the classes", ("TransductiveSVM",), False),
            ("Gaussian classes", ("GaussianEM",), False),
        ),
    ),
    (
        "One label in each row",
        (
            ("scikit-learn is made for this", ("its SVMs, logistic regression, ...",), False),
            ("several views of each row", ("GraphLogisticRegression",), False),
            ("streams, millions of rows", ("MaxPerceptron", "MaxPegasos"), False),
        ),
    ),
)
ANNOTATORS = (
    "Several answers for each row",
    (
        ("answers and features", ("crowd.CrowdClassifier",), True),
        ("answers alone", ("crowd.AnnotatorModel",), False),
    ),
)
"""The fourth kind of supervision, below the third."""
ELSEWHERE = "https://scikit-learn.org/stable/supervised_learning.html"


def page(name: str) -> str:
    """Return the link target of a name, relative to the page with the figure."""
    return f"api/names/oneof.{name}.html" if name.replace(".", "").isidentifier() else ELSEWHERE


def leaf(x: float, y: float, when: str, names: tuple[str, ...], *, first: bool) -> list[str]:
    """Return a box with the kind of data and links to the methods to try."""
    shown = [name.rsplit(".", 1)[-1] if page(name) != ELSEWHERE else name for name in names]
    size = 15.5 if len(" ".join(shown)) < 36 else 13.6
    above = [box(x, y, COLUMN, ROW, "first" if first else "card"), text(x + 16, y + 24, when, size=14, kind="muted")]
    if first:
        above.append(text(x + COLUMN - 14, y + 24, "try first", size=12.5, kind="muted", anchor="end"))
    if len(names) == 1:
        return link(page(names[0]), [*above, text(x + 16, y + 47, shown[0], size=size, kind="name")])
    links = " · ".join(
        f'<a href="{page(name)}"><tspan class="name">{word}</tspan></a>'
        for name, word in zip(names, shown, strict=True)
    )
    return [*above, text(x + 16, y + 47, links, size=size, kind="muted")]


def draw_column(x: float, heading: str, choices: tuple, *, top: float = TOP) -> list[str]:
    """Return a column: the kind of supervision, and below it a box for each kind of data."""
    line = f"M{WIDTH / 2:g},64 V84 H{x + COLUMN / 2:g} V{TOP - 2}"
    if top > TOP:  # below another column, whose line goes around it
        line = f"M{x + COLUMN / 2:g},84 H{x + COLUMN + 12:g} V{top + 20:g} H{x + COLUMN + 2:g}"
    elements = [
        f'<path class="line" d="{line}"/>',
        box(x, top, COLUMN, 40, "ask"),
        text(x + COLUMN / 2, top + 26, heading, size=14.5, kind="strong", anchor="middle"),
    ]
    for at, (when, names, first) in enumerate(choices):
        elements += leaf(x, top + 56 + at * STEP, when, names, first=first)
    return elements


def comparison_box(y: float) -> list[str]:
    """Return the box below all columns, for the undecided."""
    width = WIDTH - 2 * LEFT
    bracket = f'<path class="line" d="M{LEFT},{y} v10 H{LEFT + width} v-10 M{WIDTH / 2:g},{y + 10} v14"/>'
    top = y + 26
    # A single text element, so that the words follow the name at any font width.
    words = "fits the methods on the same folds and chooses one without true labels"
    line = f'<tspan class="name">oneof.compare(X, y)</tspan><tspan dx="12" font-size="14">{words}</tspan>'
    elements = [
        box(LEFT, top, width, ROW, "card"),
        text(LEFT + 16, top + 24, "if undecided, except for several answers", size=14, kind="muted"),
        text(LEFT + 16, top + 47, line, size=15.5),
    ]
    return [bracket, *link(page("comparison.compare"), elements)]


def describe() -> str:
    """Return a text description of the figure."""
    answers = []
    for heading, choices in (*COLUMNS, ANNOTATORS):
        leaves = (
            f"{when} {' or '.join(names).replace('crowd.', '')}{', try first' * first}"
            for when, names, first in choices
        )
        answers.append(f"{heading}: {', '.join(leaves)}")
    question = f"Which labels do you have? {'; '.join(answers)}."
    return f"A decision tree. {question} If undecided, except for several answers: oneof.compare."


def main() -> None:
    """Write the figure."""
    body = [
        box(WIDTH / 2 - 190, 22, 380, 42, "ask"),
        text(WIDTH / 2, 49, "Which labels do you have?", size=17, kind="strong", anchor="middle"),
    ]
    for at, (heading, choices) in enumerate(COLUMNS):
        body += draw_column(LEFT + at * (COLUMN + GAP), heading, choices)
    # The last two boxes end where those of the longest column end.
    longest = max(len(choices) for _, choices in COLUMNS)
    top = TOP + (longest - len(ANNOTATORS[1])) * STEP
    body += draw_column(LEFT + (len(COLUMNS) - 1) * (COLUMN + GAP), *ANNOTATORS, top=top)
    below = TOP + 56 + longest * STEP
    body += comparison_box(below)
    height = below + 26 + ROW + 24
    (Path(__file__).parents[1] / "which_method.svg").write_text(frame(WIDTH, height, describe(), body))


if __name__ == "__main__":
    main()
