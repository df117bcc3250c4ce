"""The picture of the front page, docs/front.svg: digits, what was said of them, and what is made of that.

Run with `python docs/_drawings/front.py`. Nothing is chosen by hand but the kind of each row: the first training rows
of their kind are shown, each of another digit.
"""

from pathlib import Path

import numpy as np
from ink import box, frame, text

import oneof

CARD, GAP, TOP = 148, 14, 58
KINDS = ("one label", "one of three", "one of three", "one of three", "one of three", "no label")
WORDS = {"one label": "labeled", "one of three": "one of these", "no label": "no label"}


def learn() -> tuple[oneof.datasets.Dataset, oneof.CandidateSets, oneof.LOORidge]:
    """Return digits, their sets (a tenth exact, a tenth without a label), and what learned from these."""
    data = oneof.datasets.load("digits")
    mask = oneof.make_partial_labels(data.y[:600], n_distractors=2, random_state=0).mask.copy()
    rng = np.random.default_rng(0)
    kind = rng.choice(3, size=600, p=[0.1, 0.1, 0.8])
    mask[kind == 0] = np.eye(10, dtype=bool)[data.y[:600]][kind == 0]
    mask[kind == 1] = True
    y = oneof.CandidateSets(mask, data.classes)
    return data, y, oneof.LOORidge(kernel="rbf").fit(data.X[:600] / 16, y)


def pick(y: oneof.CandidateSets, digits: np.ndarray) -> list[int]:
    """Return the first row of each kind whose digit is not shown yet."""
    of_kind = {"one label": y.is_exact, "no label": y.is_unlabeled, "one of three": y.sizes == 3}
    shown: list[int] = []
    for kind in KINDS:
        shown.append(next(int(i) for i in np.flatnonzero(of_kind[kind]) if digits[i] not in digits[shown]))
    return shown


def card(x: float, image: np.ndarray, kind: str, shares: dict[int, float]) -> list[str]:
    """Return one row: its image, what was said, and how sure the model is of each candidate."""
    parts = [box(x, TOP, CARD, 262)]
    cell = 11
    left, top = x + (CARD - 8 * cell) / 2, TOP + 14
    for (r, c), value in np.ndenumerate(image):
        if value:
            opacity = f'fill-opacity="{value / 16:.2f}"'
            place = f'x="{left + c * cell:g}" y="{top + r * cell:g}" width="{cell + 0.4}" height="{cell + 0.4}"'
            parts.append(f'<rect {place} class="pixel" {opacity}/>')
    below = top + 8 * cell + 24
    parts.append(text(x + CARD / 2, below, WORDS[kind], size=13, kind="muted", anchor="middle"))
    best = max(shares, key=shares.__getitem__)
    for at, (label, share) in enumerate(shares.items()):
        y = below + 22 + 34 * at
        wide = max((CARD - 96) * share, 1.5)
        color = "accent" if label == best else "soft"
        parts += [
            text(x + 16, y + 13, str(label), size=17, kind="strong" if label == best else "muted"),
            f'<rect class="{color}" x="{x + 36:g}" y="{y}" width="{wide:.1f}" height="16" rx="3"/>',
            text(x + 42 + wide, y + 13, f"{100 * share:.0f}%", size=12, kind="strong" if label == best else "muted"),
        ]
    return parts


def main() -> None:
    """Write the picture."""
    data, y, model = learn()
    rows = pick(y, np.asarray(data.y[:600]))
    body = [text(24, 36, "What was said of each row, and what LOORidge makes of it", size=17, kind="strong")]
    for at, (row, kind) in enumerate(zip(rows, KINDS, strict=True)):
        shares = model.label_distributions_[row]
        named = np.flatnonzero(y.mask[row]) if kind != "no label" else np.sort(np.argsort(-shares)[:3])
        found = {int(k): float(shares[k]) for k in named}
        body += card(24 + at * (CARD + GAP), data.X[row].reshape(8, 8), kind, found)
        print(kind, "true:", data.y[row], found)  # noqa: T201 - to be looked at
    width = 48 + 6 * CARD + 5 * GAP
    says = (
        "Six handwritten digits. One is labeled, four have three candidate labels each, one has no label. Below each, "
        "bars show how much the model believes of each candidate: in all six the true label has by far the longest bar."
    )
    (Path(__file__).parents[1] / "front.svg").write_text(frame(width, 344, says, body))


if __name__ == "__main__":
    main()
