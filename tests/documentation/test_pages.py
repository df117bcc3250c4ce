"""Agreement of the pages with the code: the table of methods, and the map from papers to files."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import oneof
from tests.estimators.panel import ALL

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(oneof.__file__).parent

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not part of what is installed")


def _rows() -> dict[str, list[str]]:
    table = (DOCS / "which_method.md").read_text()
    return {
        row[1]: [cell.strip() for cell in row[2].split("|")]
        for row in re.finditer(r"^\| \{py:class\}`~oneof\.(\w+)` .*?\)\) \|(.*)\|$", table, re.MULTILINE)
    }


def test_the_table_of_methods_has_every_estimator():
    """Each estimator has one row in "Choosing a method", and each row is an estimator."""
    assert set(_rows()) == {type(estimator).__name__ for estimator in ALL}


@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_the_table_of_methods_is_correct(estimator):
    """An estimator has probabilities, `partial_fit` and row weights if and only if the table says so."""
    _, probabilities, online, weights, _, _ = _rows()[type(estimator).__name__]
    assert (probabilities == "yes") == hasattr(estimator, "predict_proba")
    assert (online == "yes") == hasattr(estimator, "partial_fit")
    assert (weights == "yes") == ("sample_weight" in inspect.signature(estimator.fit).parameters)


def test_the_links_of_the_decision_figure_are_valid():
    """The links of the figure, which no build of the site checks, are pages of public names."""
    links = re.findall(r'href="api/names/oneof\.([\w.]+)\.html"', (DOCS / "which_method.svg").read_text())
    listed = {
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^   (\w+)$", page.read_text(), re.MULTILINE)
    }
    assert len(links) > 15
    assert {link.rsplit(".", 1)[-1] for link in links} <= listed


def test_the_map_from_papers_to_code_is_correct():
    """Every file of the map exists and defines the functions that the map lists."""
    rows = re.findall(r"^\|.*\| `([\w/]+\.py)` \| (.*) \|$", (DOCS / "theory" / "index.md").read_text(), re.MULTILINE)
    assert len(rows) > 25
    for file, cell in rows:
        defined = {node.name for node in ast.parse((SOURCE / file).read_text()).body if hasattr(node, "name")}
        assert set(re.findall(r"`(\w+)`", cell)) <= defined, file


OPTIONAL = {
    r"^>>> import pandas|as_frame=True|\.to_frame\(\)": "pandas",
    r"^>>> import polars|^>>> from oneof\.(persistence|io) import|^```console": "cli",
    r"\.to_latex\(": "jinja2",
    r"^>>> import dask": "dask",
    r"^(>>> )?import torch": "torch",
    r"`oneof serve`": "serving",
}
"""Code that needs more than the core, and the package or the extra that installs it."""


@pytest.mark.parametrize("page", sorted((DOCS / "guides").glob("*.md")), ids=lambda page: page.stem)
def test_a_guide_names_what_its_code_needs_before_the_code(page):
    """The text before the first heading, table or code says what to install beyond the core."""
    text = page.read_text()
    title, body = text.split("\n", 1)
    introduction = re.split(r"^(##|```|\|)", body, maxsplit=1, flags=re.MULTILINE)[0]
    installed = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*(?:pip install|\.\[)[^`]*`", introduction))))
    code = "\n".join(re.findall(r"^```.*?^```", text, flags=re.MULTILINE | re.DOTALL))
    searched = code + text * (page.stem == "serving")
    needed = {name for pattern, name in OPTIONAL.items() if re.search(pattern, searched, re.MULTILINE)}
    assert needed <= installed, title
