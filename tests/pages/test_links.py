"""Links between pages resolve, and the commands of the benchmarks exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]
_COMMAND = re.compile(r"python -m benchmarks ([\w-]+)(?: ([a-z][\w-]*))?")
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


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_lead_to_headings(name: str) -> None:
    """Every anchor of a link to a page is one of its headings."""
    path = ROOT / name
    for target, anchor in re.findall(r"\]\(([\w./-]+\.md)#([\w-]+)\)", path.read_text(encoding="utf-8")):
        text = (path.parent / target).read_text(encoding="utf-8")
        for included in re.findall(r"```{include} (\S+)", text):
            text += ((path.parent / target).parent / included).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert anchor in anchors, f"{name} links to {target}#{anchor}"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_commands_of_benchmarks_exist(name: str) -> None:
    """Every theme and part in a command of a page is one of ``python -m benchmarks``, and no script is named."""
    themes = pytest.importorskip("benchmarks.__main__").THEMES
    text = (ROOT / name).read_text(encoding="utf-8")
    for theme, part in _COMMAND.findall(text):
        assert theme in themes, f"{name}: {theme}"
        assert not part or part in themes[theme], f"{name}: {theme} {part}"
    for script in re.findall(r"benchmarks/\w+\.py", text):
        assert (ROOT / script).exists(), f"{name} names {script}"
