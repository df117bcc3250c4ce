"""The decision figure, docs/which_method.svg. Run with `python docs/_drawings/which_method.py`.

It stands within its page, so that its names are links and its colors follow the theme of the page.
"""

from pathlib import Path

from ink import box, frame, link, text

WIDTH, COLUMN, GAP, LEFT = 1020, 312, 18, 24
TOP, ROW, STEP = 106, 62, 74
# What is known of the labels; then, what the data are like and what to take first.
COLUMNS = (
    (
        "Some rows have several candidates",
        (
            ("up to 6,000 labeled rows", ("LOORidge",), True),
            ("more rows, or sparse features", ("CLPL", "PLSVM", "PLEM"), False),
            ("streams, millions of rows", ("AvgPegasos", "MaxPerceptron"), False),
            ("probabilities and their variance", ("PLGP",), False),
            ("neighbors that can be shown", ("PLKNN", "IPAL"), False),
        ),
    ),
    (
        "Few labels, most rows have none",
        (
            ("near rows alike, as images are", ("HarmonicField",), True),
            ("near rows alike, classes overlap", ("SpectralGraphTransducer",), True),
            ("word counts", ("MultinomialEM",), True),
            ("probabilities for new rows; views", ("GraphLogisticRegression",), False),
            ("gaps; class shares are known", ("TransductiveSVM",), False),
            ("each class is a cloud", ("GaussianEM",), False),
        ),
    ),
    (
        "Every row has one label",
        (
            ("scikit-learn is made for this", ("its SVMs, logistic regression, ...",), False),
            ("several views of each row", ("GraphLogisticRegression",), False),
            ("streams, millions of rows", ("MaxPerceptron", "MaxPegasos"), False),
        ),
    ),
)
ELSEWHERE = "https://scikit-learn.org/stable/supervised_learning.html"


def page(name: str) -> str:
    """Return where a name of a box is explained, seen from the page with the figure."""
    return f"api/names/oneof.{name}.html" if name.replace(".", "").isidentifier() else ELSEWHERE


def leaf(x: float, y: float, when: str, names: tuple[str, ...], *, first: bool) -> list[str]:
    """Return a box: what the data are like, and the methods to take; a link, or one for each of several names."""
    size = 15.5 if len(" ".join(names)) < 36 else 13.6
    above = [box(x, y, COLUMN, ROW, "first" if first else "card"), text(x + 16, y + 24, when, size=14, kind="muted")]
    if first:
        above.append(text(x + COLUMN - 14, y + 24, "try first", size=12.5, kind="muted", anchor="end"))
    if len(names) == 1:
        return link(page(names[0]), [*above, text(x + 16, y + 47, names[0], size=size, kind="name")])
    links = " · ".join(f'<a href="{page(name)}"><tspan class="name">{name}</tspan></a>' for name in names)
    return [*above, text(x + 16, y + 47, links, size=size, kind="muted")]


def column(x: float, heading: str, choices: tuple) -> list[str]:
    """Return a column: what is known, and below it a box for each kind of data."""
    parts = [
        f'<path class="line" d="M{WIDTH / 2:g},64 V84 H{x + COLUMN / 2:g} V{TOP - 2}"/>',
        box(x, TOP, COLUMN, 40, "ask"),
        text(x + COLUMN / 2, TOP + 26, heading, size=14.5, kind="strong", anchor="middle"),
    ]
    for at, (when, names, first) in enumerate(choices):
        parts += leaf(x, TOP + 56 + at * STEP, when, names, first=first)
    return parts


def under_all(y: float) -> list[str]:
    """Return the box that stands under every column: what to do when the boxes above do not decide."""
    width = WIDTH - 2 * LEFT
    bracket = f'<path class="line" d="M{LEFT},{y} v10 H{LEFT + width} v-10 M{WIDTH / 2:g},{y + 10} v14"/>'
    top = y + 26
    # One line of text, so that the words follow the name however wide the reader's letters are.
    words = "fits the methods under the same folds, and picks a winner without true labels"
    line = f'<tspan class="name">oneof.compare(X, y)</tspan><tspan dx="12" font-size="14">{words}</tspan>'
    asked = [
        box(LEFT, top, width, ROW, "card"),
        text(LEFT + 16, top + 24, "in all three cases, if you are not sure, or it matters", size=14, kind="muted"),
        text(LEFT + 16, top + 47, line, size=15.5),
    ]
    return [bracket, *link(page("compare.compare"), asked)]


def says() -> str:
    """Return the figure in words."""
    answers = []
    for heading, choices in COLUMNS:
        leaves = (f"{when} {' or '.join(names)}{', try first' * first}" for when, names, first in choices)
        answers.append(f"{heading}: {', '.join(leaves)}")
    known = f"What do you know of the labels? {'; '.join(answers)}."
    return f"A decision tree. {known} If not sure, in all three cases: oneof.comparison."


def main() -> None:
    """Write the figure."""
    body = [
        box(WIDTH / 2 - 190, 22, 380, 42, "ask"),
        text(WIDTH / 2, 49, "What do you know of the labels?", size=17, kind="strong", anchor="middle"),
    ]
    for at, (heading, choices) in enumerate(COLUMNS):
        body += column(LEFT + at * (COLUMN + GAP), heading, choices)
    below = TOP + 56 + max(len(choices) for _, choices in COLUMNS) * STEP
    body += under_all(below)
    height = below + 26 + ROW + 24
    (Path(__file__).parents[1] / "which_method.svg").write_text(frame(WIDTH, height, says(), body))


if __name__ == "__main__":
    main()
