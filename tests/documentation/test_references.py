"""Agreement of docs/references.bib with the references of the docstrings."""

import inspect
import re
import unicodedata
from pathlib import Path

import pytest

from oneof import make_partial_labels
from oneof.metrics import approximated_accuracy, win_tie_loss
from tests.estimators.panel import ALL

BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"
_NAME = r"(?:von\s)?[A-Z]\w+"
_REFERENCE = re.compile(rf"({_NAME})(?:,\s{_NAME})*(?:\s&\s{_NAME}|\set al\.)?\s\((\d{{4}})\)")
"""The first author and the year of "Zhang, Yu & Tang (2017)"."""
WITHOUT_PAPER = {"LOORidge"}
FUNCTIONS = (make_partial_labels, win_tie_loss, approximated_accuracy)
"""Functions for experiments, whose papers are cited with the methods."""
OF_DATA = {("briggs", "2012")}
"""Papers of data sets that no docstring names."""

pytestmark = pytest.mark.skipif(not BIBLIOGRAPHY.is_file(), reason="the pages are not part of what is installed")


def _plain(name: str) -> str:
    """Return a surname in lower case, without accents of Unicode or of LaTeX."""
    decomposed = unicodedata.normalize("NFKD", re.sub(r"[{}\\\"']", "", name))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).lower()


def _entries() -> dict[str, dict[str, str]]:
    """Return the fields of each entry by its key."""
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    return {
        key: dict(re.findall(r"^  (\w+)\s*= \{(.*?)\},?$", body, re.MULTILINE | re.DOTALL))
        for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)\n\}$", text, re.MULTILINE | re.DOTALL)
    }


def _cited() -> dict[str, set[tuple[str, str]]]:
    """Return first author and year of the references in the docstring of each estimator and function."""
    cited = {}
    for named in (*map(type, ALL), *FUNCTIONS):
        section = re.search(r"References\n-+\n(.*?)(?=\n\w+\n---|\Z)", inspect.getdoc(named), re.DOTALL)
        found = _REFERENCE.findall(section.group(1)) if section else []
        cited[named.__name__] = {(_plain(name), year) for name, year in found}
    return cited


def test_every_reference_of_an_estimator_has_an_entry():
    """The bibliography has the references of the estimators, by first author and year, and no others."""
    cited = _cited()
    assert {name for name, references in cited.items() if not references} == WITHOUT_PAPER
    listed = {(_plain(re.split(",| and ", entry["author"])[0]), entry["year"]) for entry in _entries().values()}
    assert set().union(OF_DATA, *cited.values()) == listed


def test_entries_are_complete():
    """Every entry has authors, a title, a venue, a year and its methods, and a key of the first author and the year."""
    entries = _entries()
    assert len(entries) == BIBLIOGRAPHY.read_text(encoding="utf-8").count("\n@")
    for key, entry in entries.items():
        assert {"author", "title", "year", "keywords"} <= set(entry), key
        assert {"journal", "booktitle", "publisher"} & set(entry), key
        first_author = _plain(re.split(",| and ", entry["author"])[0])
        assert key.startswith(first_author + entry["year"]), key
