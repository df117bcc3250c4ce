"""Draw docs/front.svg, the picture of the front page: digits, their candidates and the label distributions.

Run with `python docs/_drawings/front.py`. Only the kinds of the rows are chosen by hand: the figure shows the
first training rows of each kind with distinct digits.
"""

from pathlib import Path

import numpy as np
from ink import box, frame, text

import oneof

CARD, GAP, TOP = 148, 14, 58
KINDS = ("one label", "one of three", "one of three", "one of three", "one of three", "no label")
WORDS = {"one label": "labeled", "one of three": "one of these", "no label": "no label"}


def fit() -> tuple[oneof.datasets.Dataset, oneof.CandidateSets, oneof.LOORidge]:
    """Return the digits, their candidate sets (10 % exact, 10 % unlabeled) and a fitted model."""
    data = oneof.datasets.load("digits")
    mask = oneof.make_partial_labels(data.y[:600], n_distractors=2, random_state=0).mask.copy()
    rng = np.random.default_rng(0)
    kind = rng.choice(3, size=600, p=[0.1, 0.1, 0.8])
    mask[kind == 0] = np.eye(10, dtype=bool)[data.y[:600]][kind == 0]
    mask[kind == 1] = True
    y = oneof.CandidateSets(mask, data.classes)
    return data, y, oneof.LOORidge(kernel="rbf").fit(data.X[:600] / 16, y)


def pick(y: oneof.CandidateSets, digits: np.ndarray) -> list[int]:
    """Return the first row of each kind whose digit has not been selected yet."""
    of_kind = {"one label": y.is_exact, "no label": y.is_unlabeled, "one of three": y.sizes == 3}
    rows: list[int] = []
    for kind in KINDS:
        rows.append(next(int(i) for i in np.flatnonzero(of_kind[kind]) if digits[i] not in digits[rows]))
    return rows


def card(x: float, image: np.ndarray, kind: str, proba: dict[int, float]) -> list[str]:
    """Return the drawing of a row: its image, its supervision and the probability of each candidate."""
    elements = [box(x, TOP, CARD, 262)]
    cell = 11
    left, top = x + (CARD - 8 * cell) / 2, TOP + 14
    for (r, c), value in np.ndenumerate(image):
        if value:
            opacity = f'fill-opacity="{value / 16:.2f}"'
            rectangle = f'x="{left + c * cell:g}" y="{top + r * cell:g}" width="{cell + 0.4}" height="{cell + 0.4}"'
            elements.append(f'<rect {rectangle} class="pixel" {opacity}/>')
    below = top + 8 * cell + 24
    elements.append(text(x + CARD / 2, below, WORDS[kind], size=13, kind="muted", anchor="middle"))
    best = max(proba, key=proba.__getitem__)
    for at, (label, value) in enumerate(proba.items()):
        y = below + 22 + 34 * at
        wide = max((CARD - 96) * value, 1.5)
        color = "accent" if label == best else "soft"
        elements += [
            text(x + 16, y + 13, str(label), size=17, kind="strong" if label == best else "muted"),
            f'<rect class="{color}" x="{x + 36:g}" y="{y}" width="{wide:.1f}" height="16" rx="3"/>',
            text(x + 42 + wide, y + 13, f"{100 * value:.0f}%", size=12, kind="strong" if label == best else "muted"),
        ]
    return elements


def main() -> None:
    """Write the figure."""
    data, y, model = fit()
    rows = pick(y, np.asarray(data.y[:600]))
    body = [text(24, 36, "Supervision of each row, and its label distribution by LOORidge", size=17, kind="strong")]
    for position, (row, kind) in enumerate(zip(rows, KINDS, strict=True)):
        proba = model.label_distributions_[row]
        selected = np.flatnonzero(y.mask[row]) if kind != "no label" else np.sort(np.argsort(-proba)[:3])
        candidates = {int(k): float(proba[k]) for k in selected}
        body += card(24 + position * (CARD + GAP), data.X[row].reshape(8, 8), kind, candidates)
        print(kind, "true:", data.y[row], candidates)  # noqa: T201 - to check the figure
    width = 48 + 6 * CARD + 5 * GAP
    description = (
        "Six handwritten digits. One is labeled, four have three candidate labels each, one has no label. Below each, "
        "bars show the probability of each candidate: in all six the true label has by far the longest bar."
    )
    (Path(__file__).parents[1] / "front.svg").write_text(frame(width, 344, description, body))


if __name__ == "__main__":
    main()
