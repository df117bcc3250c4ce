"""Pages are executed from top to bottom: their examples, their code, and their commands."""

import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import make_birds
from tests.pages.running import needs, read_steps, run_page

ROOT = Path(__file__).resolve().parents[2]
WITH_OWN_TEST = ("docs/contributing.md",)
"""Pages with their own test."""


def pages() -> list[str]:
    """Return the paths of the pages with terminal commands or plain code; pytest runs the others itself."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in paths if _more_than_examples(path)]
    return [name for name in names if name not in WITH_OWN_TEST]


def _more_than_examples(path: Path) -> bool:
    return any(step.kind != "examples" for step in read_steps(path.read_text(encoding="utf-8")))


def data_folder() -> Path | None:
    """Return the folder of the public data sets, $ONEOF_DATA, if it exists."""
    folder = Path(os.environ.get("ONEOF_DATA", "absent"))
    return folder if folder.is_dir() else None


@pytest.mark.parametrize("name", pages())
def test_pages_show_the_actual_output(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of a page gives the output on the page, in a folder with birds.csv and new.csv."""
    page = (ROOT / name).read_text(encoding="utf-8")
    folder = data_folder()
    absent = [data for data in needs(page) if folder is None or not (folder / f"{data}.npz").is_file()]
    if absent:
        pytest.skip(f"{name} needs {', '.join(absent)}: set ONEOF_DATA")
    if folder is not None:
        monkeypatch.setenv("ONEOF_DATA", str(folder))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    make_birds().write_csv("birds.csv")
    make_birds(seed=1).drop("species").write_csv("new.csv")
    run_page(name, page)


def test_the_guides_are_executed() -> None:
    """Every guide has an executable block and begins with its only first-level heading."""
    guides = sorted((ROOT / "docs" / "guides").glob("*.md"))
    assert len(guides) >= 13
    for guide in guides:
        text = guide.read_text(encoding="utf-8")
        assert read_steps(text), guide.name
        headings = re.findall(r"^# ", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
        assert text.startswith("# "), guide.name
        assert len(headings) == 1, guide.name
