"""Texts of the page: every language has every text, in all of its plural forms, and no text is outside the table."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import oneof

PAGE = Path(oneof.__file__).parent / "labeling" / "http" / "page"
TABLES = {file.stem: json.loads(file.read_text()) for file in sorted((PAGE / "strings").glob("*.json"))}
ENGLISH = TABLES["en"]
PLURAL_FORMS = {"one", "other"}
"""Plural categories of Unicode for English, German and French; numbers in digits need no form for millions."""
SCRIPTS = {file.name: file.read_text() for file in sorted(PAGE.glob("*.js"))}
WITHOUT_TRANSLATION = {
    "agreement.annotator",
    "agreement.said",
    "answer.selected",
    "key.enter",
    "row.image",
    "row.image_words",
}
"""Texts that may be equal to the English ones: their words are the same, or they have none."""


def forms(entry: Any) -> dict[str, str]:
    """Return the forms of a text by plural category."""
    return {"other": entry} if isinstance(entry, str) else entry


def values(form: str) -> set[str]:
    """Return the names of the values in a form."""
    return set(re.findall(r"\{(\w+)\}", form))


@pytest.mark.parametrize("language", TABLES)
def test_every_language_has_every_text(language: str) -> None:
    """Keys, their order, plural forms and values are those of the English table."""
    table = TABLES[language]
    assert list(table) == list(ENGLISH)
    for key, entry in table.items():
        assert isinstance(entry, str) == isinstance(ENGLISH[key], str), key
        assert set(forms(entry)) == (PLURAL_FORMS if isinstance(entry, dict) else {"other"}), key
        expected = set().union(*map(values, forms(ENGLISH[key]).values()))
        assert values(forms(entry)["other"]) == expected, key
        for form in forms(entry).values():
            assert form == form.strip(), key
            assert values(form) <= expected, key
            assert "{" not in re.sub(r"\{\w+\}", "", form), key
        if isinstance(entry, dict):
            assert len(set(entry.values())) == 2, key


@pytest.mark.parametrize("language", sorted(set(TABLES) - {"en"}))
def test_every_text_is_translated(language: str) -> None:
    same = {key for key in ENGLISH if forms(TABLES[language][key]) == forms(ENGLISH[key])}
    assert same <= WITHOUT_TRANSLATION


def test_french_punctuation() -> None:
    """In French a colon, a semicolon, a question mark and quotation marks have spaces that do not break lines."""
    for key, entry in TABLES["fr"].items():
        for form in forms(entry).values():
            assert not re.search(r" [:;?!»%]|« |\w[:;?!»]", form), key


def test_the_languages_of_the_script_are_those_with_a_table() -> None:
    listed = re.search(r"LANGUAGES = {(.*?)}", SCRIPTS["strings.js"])
    assert listed is not None
    assert sorted(re.findall(r'(\w+): "', listed[1])) == sorted(TABLES)


def test_every_text_is_used_and_exists() -> None:
    """Each key of the table occurs in the page, and each key in the page is in the table."""
    source = (PAGE / "index.html").read_text() + "".join(SCRIPTS.values())
    groups = "|".join({key.split(".")[0] for key in ENGLISH})
    named = set(re.findall(rf'"((?:{groups})\.(?!js|css)\w+)"', source))
    assert named == set(ENGLISH)
    assert not re.search(r"\b(?:text|parts)\(`", source)  # a key is written out, so that it can be found


class VisibleText(HTMLParser):
    """Visible texts of a page that are not data, code or the sentence for browsers without scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []  # for each open element, whether its text may stand in the file
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        written = dict(attributes)
        self.found += [
            f"{name}={written[name]}" for name in ("aria-label", "title", "placeholder", "alt") if name in written
        ]
        if tag not in ("meta", "link", "input"):
            allowed = tag in ("code", "noscript") or written.get("translate") == "no" or tag == "title"
            self.open.append(allowed or bool(self.open and self.open[-1]))

    def handle_endtag(self, _: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if re.search(r"\w", data) and not self.open[-1]:
            self.found.append(data)


def test_no_text_in_the_page() -> None:
    parser = VisibleText()
    parser.feed((PAGE / "index.html").read_text())
    assert parser.found == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_text_in_the_scripts(name: str) -> None:
    """No literal of a script is a sentence: it has no words with a space between them, apart from selectors."""
    code = re.sub(r"^\s*//.*$|\s// .*$", "", SCRIPTS[name], flags=re.MULTILINE)
    literals = [a or b for a, b in re.findall(r'"([^"\n]*)"|`([^`]*)`', code)]
    sentences = [
        literal
        for literal in literals
        if re.search(r"[^\W\d_]{2,} [^\W\d_]{2,}", re.sub(r"\$\{[^}]*\}", "0", literal))
        and literal not in ("one of", "none of", "informed review", "side by side")
        and not literal.startswith(("no text", "no value", "--", "http"))
    ]
    assert sentences == []
