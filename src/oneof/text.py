"""Words of a text as features: stop words, stems, and scikit-learn's TF-IDF for the rest."""

import difflib
import functools
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from oneof.errors import InputError, InputTypeError, MissingExtraError, reraise_as_input_error

__all__ = ["StemTokenizer", "languages", "make_vectorizer", "stemming_package"]

# Letters, digits and underscores; and the marks above, below and beside letters, which `\w` alone leaves out: it would
# cut words of Hindi, Tamil or vocalized Hebrew and Arabic, and those whose accents are signs of their own.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0b82\u0bbe-\u0bcd\u0bd7"
)
WORD = rf"[\w{_MARKS}]+"
"""What counts as a word: a `token_pattern` of scikit-learn's vectorizers."""
_CUT = re.compile(WORD).findall

_CONTRACTED = (
    *("d", "ll", "m", "re", "s", "t", "ve", "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven"),
    *("isn", "mightn", "mustn", "needn", "shan", "shouldn", "wasn", "weren", "wouldn"),
)
"""What "don't", "we've" and other English contractions are cut into, unless it is a word as well, as "won"."""

StopWords: TypeAlias = str | tuple[str, ...] | None
"""The list "english", words, or none."""

_FIXED = ("analyzer", "token_pattern", "tokenizer")
"""Parameters of scikit-learn's vectorizers by which texts are cut into words, as is done here."""
_MOST_STEMS = 2**18
"""Stems that are remembered for each language, since most words of most texts occur again and again."""


@dataclass(frozen=True)
class StemTokenizer:
    """The words of a text without stop words, cut to their stems: a `tokenizer` for scikit-learn's vectorizers.

    Stop words are left out before the others are stemmed. scikit-learn's own `stop_words` would be looked for among
    the stems, where "having" is no longer found; leave it at None beside this tokenizer. `make_vectorizer` puts the
    two together.

    Parameters
    ----------
    language : str, default="english"
        One of `languages()`.
    stop_words : "english", iterable of str or None, default=None
        Words to leave out, in any case of letters; "english" is the list of `make_vectorizer`.

    Raises
    ------
    InputError
        If there is no stemmer for the language, or "english" is the name of no such list.
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
        _stemmer(self.language)  # so that a language without a stemmer is found here, not among the texts
        object.__setattr__(self, "stop_words", _check_words(self.stop_words))

    def __call__(self, text: str) -> list[str]:
        """Return the stems of the words of a text in lower case, in order."""
        stem, left_out = _stemmer(self.language), _left_out(self.stop_words)
        return [stem(word) for word in _CUT(text) if word not in left_out]


def make_vectorizer(*, stop_words: Any = None, stem: str | None = None, **options: Any) -> Any:
    """Return scikit-learn's TF-IDF with stop words left out and words cut to their stems, as asked for.

    No language is assumed: by default there are neither stop words nor stems. A model file can hold the vectorizer.

    Parameters
    ----------
    stop_words : "english", iterable of str or None, default=None
        Words to leave out before the others are stemmed, in any case of letters. One with an apostrophe stands for
        its parts, as texts are cut there too. "english" is scikit-learn's list and the parts of contractions that it
        lacks: "don" and "t", "ve", "s" and the like.
    stem : str, optional
        Language of the stemmer, one of `languages()`. It needs the package's extra `text`.
    **options
        Other parameters of ``sklearn.feature_extraction.text.TfidfVectorizer``, as ``ngram_range`` or ``min_df``. Not
        ``analyzer``, ``tokenizer`` or ``token_pattern``; and, with stop words or a stemmer, which look for words in
        lower case, neither ``lowercase=False`` nor ``preprocessor``. ``strip_accents`` changes listed words as it
        changes texts.

    Returns
    -------
    sklearn.feature_extraction.text.TfidfVectorizer
        Not fitted.

    Raises
    ------
    InputError
        If `stem` is no language, `stop_words` is text other than "english", or an option is none of those above.
    MissingExtraError
        If snowballstemmer is not installed, and `stem` is given.

    Notes
    -----
    A word is a run of letters, digits and underscores, and of the signs above, below and beside letters. scikit-learn
    takes these signs for gaps between words, and leaves out words of one letter. Here those are words, since one sign
    is often a word in Chinese, and one letter in other languages.

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
        prepare = vectorizer.build_preprocessor()  # by which some options are looked at
    if isinstance(listed, tuple):
        listed = tuple(prepare(word) for word in listed)
    if stem is not None:
        return vectorizer.set_params(tokenizer=StemTokenizer(stem, listed), token_pattern=None)
    # Words are given as they are cut, since scikit-learn warns of others.
    return vectorizer.set_params(stop_words=sorted(_left_out(listed)) or None)


def languages() -> tuple[str, ...]:
    """Return the languages that have a stemmer; `porter` and `dutch_porter` are older ones of English and Dutch.

    Returns
    -------
    tuple of str

    Raises
    ------
    MissingExtraError
        If snowballstemmer is not installed.

    Examples
    --------
    >>> from oneof.text import languages
    >>> {"english", "german", "portuguese"} <= set(languages())
    True
    """
    return tuple(sorted(_snowball().algorithms()))


def stemming_package() -> str:
    """Return name and version of the package that stems: snowballstemmer leaves it to PyStemmer where it finds that.

    Returns
    -------
    str

    Raises
    ------
    MissingExtraError
        If snowballstemmer is not installed.

    Examples
    --------
    >>> from oneof.text import stemming_package
    >>> stemming_package().split()[0]
    'snowballstemmer'
    """
    name = "PyStemmer" if hasattr(_snowball(), "Stemmer") else "snowballstemmer"
    return f"{name} {version(name)}"


def _check_words(stop_words: Any) -> StopWords:
    """Return stop words in a form that can be compared, and held by a model file."""
    if stop_words is None or (isinstance(stop_words, str) and stop_words == "english"):
        return stop_words
    if isinstance(stop_words, str) or not isinstance(stop_words, Iterable):
        raise InputError(f"stop_words={stop_words!r} names no list: give 'english', or the words themselves.")
    try:
        listed = list(stop_words)
    except TypeError as error:  # an array without a dimension
        raise InputTypeError(f"stop_words={stop_words!r} names no list: {error}.") from None
    for word in listed:
        if not isinstance(word, str):
            raise InputTypeError(f"stop_words holds {word!r}, which is no text: give words.")
    return tuple(sorted(set(listed)))


def _check_options(options: Mapping[str, Any], *, in_lower_case: bool) -> None:
    """Raise if an option would undo what is promised of words."""
    for name in _FIXED:
        if name in options:
            raise InputError(f"{name} is set by make_vectorizer: use TfidfVectorizer itself.")
    if in_lower_case and not options.get("lowercase", True):
        raise InputError("lowercase=False hides words with capitals from stop words and stemmers: leave it out.")
    if in_lower_case and options.get("preprocessor") is not None:
        raise InputError(
            "preprocessor takes the place of lower case, which stop words and stemmers need: "
            "apply it to the texts before they are given."
        )


@functools.lru_cache(maxsize=16)
def _left_out(stop_words: StopWords) -> frozenset[str]:
    """Return the words that are left out, as a text in lower case is cut into them."""
    if stop_words is None:
        return frozenset()
    words: Iterable[str] = stop_words
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        words = ENGLISH_STOP_WORDS.union(_CONTRACTED)
    return frozenset(part for word in words for part in _CUT(word.lower()))


def _stemmer(language: str) -> Callable[[str], str]:
    if not isinstance(language, str):
        raise InputError(f"there is no stemmer for {language!r}: name a language, as `languages()` does.")
    return _stemmer_of(language)


@functools.cache
def _stemmer_of(language: str) -> Callable[[str], str]:
    """Return what stems words of a language, with one memory of stems for all tokenizers and threads of a process."""
    known = languages()
    if language not in known:
        close = difflib.get_close_matches(str(language).lower(), known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(f"there is no stemmer for {language!r}: {hint}The languages are {', '.join(known)}.")
    # A stemmer keeps the word that it works on in itself, so each thread has its own. A lock around one would stay shut
    # in a process that is forked while another thread holds it.
    own = threading.local()

    @functools.lru_cache(maxsize=_MOST_STEMS)
    def stem(word: str) -> str:
        if not hasattr(own, "stemmer"):
            own.stemmer = _snowball().stemmer(language)
        return str(own.stemmer.stemWord(word))

    return stem


def _snowball() -> Any:
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtraError("snowballstemmer", "text") from None
    return snowballstemmer
