"""Links between pages resolve."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_resolve(name: str) -> None:
    """Every relative link of a page is a file, or a page of the site that is generated from a file."""
    path = ROOT / name
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for match in _LINK.findall(text):
        target = (match[0] or match[1]).partition("#")[0]
        if target and "://" not in target and not target.startswith("gallery/"):
            linked = path.parent / target
            assert linked.exists() or linked.with_suffix(".md").exists(), f"{name} links to {target}"
