"""Text features: stop words and stemming on top of scikit-learn's TF-IDF."""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from oneof.errors import InputError, reraise_as_input_error
from oneof.lazy import import_extra

__all__ = ["StemTokenizer", "make_vectorizer", "stemmer_languages", "stemmer_version"]

# Letters, digits and underscores, and the combining marks of letters, which `\w` does not match: it would split words
# of Hindi, Tamil or vocalized Hebrew and Arabic, and words with combining accents.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0b82\u0bbe-\u0bcd\u0bd7"
)
WORD = rf"[\w{_MARKS}]+"
"""Regular expression of a word, a `token_pattern` of scikit-learn's vectorizers."""
_FIND_WORDS = re.compile(WORD).findall

_CONTRACTIONS = (
    *("d", "ll", "m", "re", "s", "t", "ve", "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven"),
    *("isn", "mightn", "mustn", "needn", "shan", "shouldn", "wasn", "weren", "wouldn"),
)
"""Parts of "don't", "we've" and other English contractions, without those that are words, such as "won"."""

StopWords: TypeAlias = str | tuple[str, ...] | None
"""The list "english", a tuple of words, or None."""

_FIXED_OPTIONS = ("analyzer", "token_pattern", "tokenizer")
"""Parameters of scikit-learn's vectorizers that `make_vectorizer` sets: they split texts into words."""
_MAX_CACHED_STEMS = 2**18
"""Number of cached stems, since most words of most texts occur repeatedly."""


@dataclass(frozen=True)
class StemTokenizer:
    """Tokenizer for scikit-learn's vectorizers that removes stop words and stems the other words.

    Stop words are removed before the others are stemmed. scikit-learn's own `stop_words` would be compared with the
    stems, among which "having" does not occur; leave it at None with this tokenizer. `make_vectorizer` combines both.

    Parameters
    ----------
    language : str, default="english"
        A language in `stemmer_languages()`.
    stop_words : "english", iterable of str or None, default=None
        Words to remove, in upper or lower case; "english" is the list of `make_vectorizer`.

    Raises
    ------
    InputError
        If there is no stemmer for the language, or `stop_words` is a string other than "english".
    MissingExtraError
        If snowballstemmer is not installed.

    References
    ----------
    Porter (2001), Snowball: a language for stemming algorithms, https://snowballstem.org.

    Examples
    --------
    >>> from oneof.text import StemTokenizer
    >>> StemTokenizer("english", stop_words="english")("physics and the physical, having connected connections")
    ['physic', 'physic', 'have', 'connect', 'connect']
    """

    language: str = "english"
    stop_words: Any = None

    def __post_init__(self) -> None:
        _check_language(self.language)
        object.__setattr__(self, "stop_words", _check_words(self.stop_words))

    def __call__(self, text: str) -> list[str]:
        """Return the stems of the words of a lower-case text, in order."""
        excluded = _excluded_words(self.stop_words)
        return [_stem(self.language, word) for word in _FIND_WORDS(text) if word not in excluded]


def make_vectorizer(*, stop_words: Any = None, stem: str | None = None, **options: Any) -> Any:
    """Return scikit-learn's TF-IDF vectorizer with optional stop words and stemming.

    No language is assumed: by default there are neither stop words nor stemming. A model file can contain the
    vectorizer.

    Parameters
    ----------
    stop_words : "english", iterable of str or None, default=None
        Words to remove before the others are stemmed, in upper or lower case. A word with an apostrophe is split there,
        as texts are. "english" is scikit-learn's list with the parts of contractions that it lacks, such as "don", "t",
        "ve" and "s".
    stem : str, optional
        Language of the stemmer, one of `stemmer_languages()`. It requires the extra `text` of the package.
    **options
        Other parameters of ``sklearn.feature_extraction.text.TfidfVectorizer``, such as ``ngram_range`` or ``min_df``.
        ``analyzer``, ``tokenizer`` and ``token_pattern`` are not allowed. With stop words or a stemmer, which require
        lower case, neither ``lowercase=False`` nor ``preprocessor`` is allowed. ``strip_accents`` applies to stop words
        as well as to texts.

    Returns
    -------
    sklearn.feature_extraction.text.TfidfVectorizer
        Not fitted.

    Raises
    ------
    InputError
        If `stem` is not a language, `stop_words` is a string other than "english", or an option is not allowed.
    MissingExtraError
        If `stem` is given and snowballstemmer is not installed.

    Notes
    -----
    A word is a sequence of letters, digits, underscores and combining marks. scikit-learn splits words at these marks
    and ignores words of one letter. Here those are words, since a word is often one character in Chinese, and one
    letter in other languages.

    Examples
    --------
    >>> from oneof.text import make_vectorizer
    >>> words = make_vectorizer(stop_words="english", stem="english")
    >>> words.fit_transform(["The cats are sleeping", "A sleeping cat", "dogs don't bark"]).shape
    (3, 4)
    >>> words.get_feature_names_out().tolist()
    ['bark', 'cat', 'dog', 'sleep']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    listed = _check_words(stop_words)
    _check_options(options, in_lower_case=stem is not None or listed is not None)
    with reraise_as_input_error():
        vectorizer = TfidfVectorizer(token_pattern=WORD, **options)
        preprocess = vectorizer.build_preprocessor()  # this validates some options
    if isinstance(listed, tuple):
        listed = tuple(preprocess(word) for word in listed)
    if stem is not None:
        return vectorizer.set_params(tokenizer=StemTokenizer(stem, listed), token_pattern=None)
    # The stop words are split like texts, since scikit-learn warns otherwise.
    return vectorizer.set_params(stop_words=sorted(_excluded_words(listed)) or None)


def stemmer_languages() -> tuple[str, ...]:
    """Return the languages with a stemmer; `porter` and `dutch_porter` are older stemmers of English and Dutch.

    Returns
    -------
    tuple of str

    Raises
    ------
    MissingExtraError
        If snowballstemmer is not installed.

    Examples
    --------
    >>> from oneof.text import stemmer_languages
    >>> {"english", "german", "portuguese"} <= set(stemmer_languages())
    True
    """
    return tuple(sorted(import_extra("snowballstemmer", "text").algorithms()))


def stemmer_version() -> str:
    """Return the name and version of the stemming package; snowballstemmer uses PyStemmer if it is installed.

    Returns
    -------
    str

    Raises
    ------
    MissingExtraError
        If snowballstemmer is not installed.

    Examples
    --------
    >>> from oneof.text import stemmer_version
    >>> stemmer_version().split()[0]
    'snowballstemmer'
    """
    name = "PyStemmer" if hasattr(import_extra("snowballstemmer", "text"), "Stemmer") else "snowballstemmer"
    return f"{name} {version(name)}"


def _check_words(stop_words: Any) -> StopWords:
    """Return stop words in a form that can be compared and stored in a model file."""
    if stop_words is None or (isinstance(stop_words, str) and stop_words == "english"):
        return stop_words
    try:
        listed = None if isinstance(stop_words, str) else list(stop_words)
    except TypeError:  # also an array without a dimension
        listed = None
    if listed is None or not all(isinstance(word, str) for word in listed):
        raise InputError(f"`stop_words` must be 'english', a list of strings or None; got {stop_words!r}.")
    return tuple(sorted(set(listed)))


def _check_options(options: Mapping[str, Any], *, in_lower_case: bool) -> None:
    """Raise if an option conflicts with stop words, stemming or the definition of a word."""
    for name in _FIXED_OPTIONS:
        if name in options:
            raise InputError(f"`{name}` is set by make_vectorizer. Use TfidfVectorizer directly to change it.")
    if in_lower_case and not (options.get("lowercase", True) and options.get("preprocessor") is None):
        raise InputError(
            "`lowercase` must be True and `preprocessor` None with stop words or a stemmer, which require lower case. "
            "Apply a preprocessor to the texts beforehand."
        )


@functools.lru_cache(maxsize=16)
def _excluded_words(stop_words: StopWords) -> frozenset[str]:
    """Return the excluded words, split like a lower-case text."""
    if stop_words is None:
        return frozenset()
    words: Iterable[str] = stop_words
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        words = ENGLISH_STOP_WORDS.union(_CONTRACTIONS)
    return frozenset(part for word in words for part in _FIND_WORDS(word.lower()))


def _check_language(language: Any) -> None:
    available = stemmer_languages()
    if not isinstance(language, str) or language not in available:
        raise InputError(f"There is no stemmer for {language!r}. The languages are {', '.join(available)}.")


@functools.lru_cache(maxsize=_MAX_CACHED_STEMS)
def _stem(language: str, word: str) -> str:
    # A stemmer stores the current word in its state, so that threads must not share one; making one takes no time.
    return str(import_extra("snowballstemmer", "text").stemmer(language).stemWord(word))
