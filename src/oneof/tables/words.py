"""What is done with the words of text columns before they are counted, as the command line names it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.tables.columns import Column
from oneof.text import StopWords, make_vectorizer, stemmer_version

if TYPE_CHECKING:
    import polars as pl

NONE = "none"


@dataclass(frozen=True)
class Words:
    """Which words are left out, and the language in whose stems the others are counted.

    Attributes
    ----------
    stop_words : "english", tuple of str or None
    stem : str or None
    """

    stop_words: StopWords = None
    stem: str | None = None

    def vectorizer(self, **options: Any) -> Any:
        """Return an unfitted vectorizer of texts (see `oneof.text.make_vectorizer`)."""
        return make_vectorizer(stop_words=self.stop_words, stem=self.stem, **options)

    def facts(self) -> dict[str, Any]:
        """Return what makes another table's texts into the same words, in the types of JSON."""
        listed = list(self.stop_words) if isinstance(self.stop_words, tuple) else self.stop_words
        stemmer = None if self.stem is None else stemmer_version()
        return {"stop_words": listed, "stem": self.stem, "stemmer": stemmer}


def read_words(stop_words: str = NONE, stem: str = NONE) -> Words:
    """Read the values of the options --stop-words and --stem.

    Parameters
    ----------
    stop_words : str
        "english", "none", or the name of a file with one word a line; empty lines are passed over.
    stem : str
        "none", or one of `oneof.text.stemmer_languages()`.

    Raises
    ------
    DataError
        If the file of stop words is absent, no text, or holds no word.
    InputError
        If there is no stemmer for the language.
    MissingExtraError
        If snowballstemmer is not installed and `stem` names a language.
    """
    wanted = stop_words.lower()
    listed = {NONE: None, "english": "english"}[wanted] if wanted in (NONE, "english") else _read_list(Path(stop_words))
    words = Words(listed, None if stem.lower() == NONE else stem.lower())
    words.vectorizer()  # whatever is wrong with them is said before a table is read
    return words


def check_words(frame: "pl.DataFrame", columns: Sequence[Column], words: Words, path: Path) -> None:
    """Raise if a text column has no word to learn from, or if words are to be treated where there is no text.

    Parameters
    ----------
    frame : polars.DataFrame
        The features, as `oneof.tables.conform` returns them.
    columns : sequence of Column
    words : Words
    path : Path
        For messages.

    Raises
    ------
    DataError
        The message names the column.
    """
    texts = [column.name for column in columns if column.kind == "text"]
    if not texts and words != Words():
        raise DataError(
            f"{path} has no column of text for --stop-words or --stem: name one by --text, or leave them out."
        )
    cut = words.vectorizer().build_analyzer()
    for name in texts:
        if not any(cut(text) for text in frame[name]):
            beside = "" if words.stop_words is None else " but stop words"
            raise DataError(f"{path}: column {name!r} holds no words{beside}: leave it out by --drop {name}.")


def _read_list(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise DataError(f"there is no file {path} of stop words: give english, none, or a file with one word a line.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8: save it as UTF-8.") from None
    found = tuple(sorted({line.strip() for line in lines} - {""}))
    if not found:
        raise DataError(f"{path} holds no stop words: give one word a line.")
    return found
