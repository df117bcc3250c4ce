"""Pages are run from top to bottom: their examples, their code, and their commands."""

import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import make_birds
from tests.pages.running import needs, read_steps, run_page

ROOT = Path(__file__).resolve().parents[2]
DONE_ELSEWHERE = ("docs/contributing.md",)
"""Pages with a test of their own, which does more than run them."""


def pages() -> list[str]:
    """Return the pages that type into a terminal or hold plain code, by their paths; pytest runs the others itself."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in found if _more_than_examples(path)]
    return [name for name in names if name not in DONE_ELSEWHERE]


def _more_than_examples(path: Path) -> bool:
    return any(step.kind != "examples" for step in read_steps(path.read_text(encoding="utf-8")))


def data_folder() -> Path | None:
    """Return the folder of the public data sets, if it is here."""
    folder = Path(os.environ.get("ONEOF_DATA") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


@pytest.mark.parametrize("name", pages())
def test_what_a_page_shows_is_what_happens(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a page runs gives what the page says, beside a table birds.csv and a new.csv like it."""
    page = (ROOT / name).read_text(encoding="utf-8")
    folder = data_folder()
    absent = [data for data in needs(page) if folder is None or not (folder / f"{data}.npz").is_file()]
    if absent:
        pytest.skip(f"{name} shows {', '.join(absent)}, which is not here: set ONEOF_DATA")
    if folder is not None:
        monkeypatch.setenv("ONEOF_DATA", str(folder))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    make_birds().write_csv("birds.csv")
    make_birds(seed=1).drop("species").write_csv("new.csv")
    run_page(name, page)


def test_the_guides_are_run() -> None:
    """No guide is without something that runs, and each begins with one heading."""
    guides = sorted((ROOT / "docs" / "guides").glob("*.md"))
    assert len(guides) >= 13
    for guide in guides:
        text = guide.read_text(encoding="utf-8")
        assert read_steps(text), guide.name
        headings = re.findall(r"^# ", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
        assert text.startswith("# "), guide.name
        assert len(headings) == 1, guide.name
