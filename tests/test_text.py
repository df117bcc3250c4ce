"""Tests of stop words, stemming and TF-IDF."""

import copy
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import snowballstemmer
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from oneof import persistence
from oneof.errors import InputError, MissingExtraError
from oneof.text import StemTokenizer, make_vectorizer, stemmer_languages, stemmer_version

TEXTS = [
    "Having had the physics of it explained, a physicist was having doubts.",
    "The physical world: connections, connected, connecting!",
    "",
    "the of and",
    "A wheat harvest and a corn harvest; harvesting both",
]


def test_stop_words_are_removed_before_stemming():
    """The tokens of a text are its stemmed words without stop words; after stemming, stop words would be missed."""
    stem = snowballstemmer.stemmer("english").stemWord
    cut = CountVectorizer(token_pattern=r"\w+", stop_words="english").build_analyzer()
    ours = make_vectorizer(stop_words="english", stem="english").build_analyzer()
    for text in TEXTS:
        assert ours(text) == [stem(word) for word in cut(text)]
    assert make_vectorizer(stop_words="english").build_analyzer()(TEXTS[1]) == cut(TEXTS[1])
    stop_words = {stem(word) for word in ENGLISH_STOP_WORDS} - ENGLISH_STOP_WORDS
    assert stop_words, "some stop words are not their own stems, so that the order matters"


def test_default_is_plain_tfidf():
    """By default no language is assumed: the features are scikit-learn's, including words of one letter."""
    ours, theirs = make_vectorizer(sublinear_tf=True), TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
    np.testing.assert_array_equal(ours.fit_transform(TEXTS).toarray(), theirs.fit_transform(TEXTS).toarray())
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("stem", [None, "english"])
def test_stop_words_are_split_like_texts(stem):
    """A stop word with an apostrophe or a capital is removed from texts, without a warning."""
    vectorizer = make_vectorizer(stop_words=["Don't", "it"], stem=stem).fit(["I DON'T like it", "it's good"])
    assert vectorizer.get_feature_names_out().tolist() == ["good", "i", "like", "s"]


@pytest.mark.parametrize("stem", [None, "english"])
def test_contractions_are_removed(stem):
    """The English list removes the parts of contractions too, but not a part that is also a word."""
    cut = make_vectorizer(stop_words="english", stem=stem).build_analyzer()
    assert cut("I don't, he's and we've; They\u2019ll, you're, isn't, I'm, she'd, couldn't") == []
    assert cut("He won it, by hook or by crook: C or 7?") == ["won", "hook", "crook", "c", "7"]


@pytest.mark.parametrize("stem", [None, "french"])
def test_stop_words_lose_their_accents_like_texts(stem):
    """With strip_accents a stop word is removed from texts that contain it with or without accents."""
    vectorizer = make_vectorizer(stop_words=["été", "À"], stem=stem, strip_accents="unicode")
    names = vectorizer.fit(["Un été à Nice", "ete a nice"]).get_feature_names_out().tolist()
    assert names == ["nic" if stem else "nice", "un"]


@pytest.mark.parametrize("words", [{"stop_words": "english"}, {"stop_words": ["the"]}, {"stem": "english"}])
def test_conflicting_options_are_rejected(words):
    """The error names the option and a remedy, instead of a silent loss of stop words or stems."""
    for name, value in (("token_pattern", r"\w\w+"), ("tokenizer", str.split), ("analyzer", "char")):
        for given in (words, {}):
            with pytest.raises(InputError, match=f"^`{name}` is set by make_vectorizer. Use TfidfVectorizer directly"):
                make_vectorizer(**given, **{name: value})
    for option in ({"lowercase": False}, {"preprocessor": str.strip}):
        assert make_vectorizer(**option).build_analyzer()("Cat") == ["Cat"]
        with pytest.raises(InputError, match="`lowercase` must be True and `preprocessor` None with stop words"):
            make_vectorizer(**words, **option)


def test_other_parameters_are_those_of_scikit_learn():
    """Bigrams are pairs of stems, with the stop words between them removed."""
    vectorizer = make_vectorizer(stop_words="english", stem="english", ngram_range=(2, 2))
    vectorizer.fit(["the cats of the houses"])
    assert vectorizer.get_feature_names_out().tolist() == ["cat hous"]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (None, "हिन्दी में किताबें", ["हिन्दी", "में", "किताबें"]),
        (None, "cafe\u0301 noir", ["cafe\u0301", "noir"]),
        (None, "தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("german", "Häuser und Straßen", ["haus", "und", "strass"]),
        ("russian", "Книги и книга", ["книг", "и", "книг"]),
    ],
)
def test_words_of_other_languages_are_not_split(language, text, words):
    """Combining marks do not split a word, and stemmers receive words in lower case."""
    assert make_vectorizer(stem=language).build_analyzer()(text) == words


@pytest.mark.parametrize("language", stemmer_languages())
def test_every_language_has_a_stemmer(language):
    """Each listed language stems as snowballstemmer does."""
    assert StemTokenizer(language)("a b") == [snowballstemmer.stemmer(language).stemWord(w) for w in "ab"]


def test_tokenizers_are_values():
    """Tokenizers with equal parameters are equal, after clone, copy and pickle, and for any form of stop words."""
    tokenizer = StemTokenizer("english", stop_words=["the", "of", "the"])
    assert tokenizer == StemTokenizer("english", stop_words=("of", "the"))
    for copied in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert copied == tokenizer
        assert copied("the rivers of") == ["river"]
    vectorizer = make_vectorizer(stop_words="english", stem="english")
    assert clone(vectorizer).tokenizer == vectorizer.tokenizer


def test_threads_share_stems():
    """Stems computed by several threads at once equal those of one thread."""
    texts = [" ".join(f"{word}ing{i}s {word}ations" for word in ("connect", "nation", "relat")) for i in range(200)]
    expected_stems = [[snowballstemmer.stemmer("porter").stemWord(word) for word in text.split()] for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(StemTokenizer("porter"), texts)) == expected_stems


@pytest.mark.skipif(not hasattr(os, "fork"), reason="requires os.fork")
def test_a_forked_process_can_stem():
    """A process forked while another thread stems a word does not wait for that thread."""
    code = """
import os, signal, threading, snowballstemmer
from oneof.text import StemTokenizer
stemmer, reached, wait = snowballstemmer.stemmer, threading.Event(), threading.Event()
class Slow:
    def __init__(self, language):
        self.own = stemmer(language)
    def stemWord(self, word):
        if word == "slow":
            reached.set()
            wait.wait()
        return self.own.stemWord(word)
snowballstemmer.stemmer = Slow
threading.Thread(target=StemTokenizer("english"), args=("slow",), daemon=True).start()
reached.wait()
child = os.fork()
if not child:
    signal.alarm(20)  # ends a child that waits
    os._exit(StemTokenizer("english")("cats") != ["cat"])
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_stemmer_version_names_the_package(tmp_path: Path) -> None:
    """If PyStemmer is installed, the stems and the version are PyStemmer's."""
    assert stemmer_version() == f"snowballstemmer {version('snowballstemmer')}" or hasattr(snowballstemmer, "Stemmer")
    (tmp_path / "Stemmer.py").write_text(
        "class Stemmer:\n    def __init__(self, name): pass\n    def stemWord(self, word): return word[0]\n"
        "def algorithms(): return ['english']\n"
    )
    about = tmp_path / "pystemmer-9.8.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text("Metadata-Version: 2.1\nName: PyStemmer\nVersion: 9.8\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from oneof.io import TextOptions\n"
        "from oneof.text import StemTokenizer\n"
        "noted = [options.to_dict()['stemmer'] for options in (TextOptions(stem='english'), TextOptions())]\n"
        "print(StemTokenizer('english')('the cat'), noted)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['t', 'c'] ['PyStemmer 9.8', None]\n"


def test_a_model_file_contains_the_text_options(tmp_path: Path) -> None:
    """Saved and read in a new process, a pipeline with stems and stop words predicts the same."""
    y, expected = ["p", "p", "w", "w", "w"], []
    for number, stop_words in enumerate(("english", ["the", "a"], None)):
        model = make_pipeline(make_vectorizer(stop_words=stop_words, stem="english"), LogisticRegression())
        persistence.save(tmp_path / f"{number}.skops", model.fit(TEXTS, y))
        expected.append(model.predict_proba(TEXTS).tolist())
    code = (
        "from oneof.persistence import load\n"
        f"print([load(f'{{n}}.skops').predict_proba({TEXTS!r}).tolist() for n in range(3)] == {expected!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_invalid_parameters_are_rejected_at_construction():
    """Invalid languages and stop words raise before any text is read."""
    for language in ("englsh", 3, np.zeros(1, "i8,f8")):
        with pytest.raises(InputError, match=re.escape(f"no stemmer for {language!r}. The languages are arabic")):
            StemTokenizer(language)
    for words in ("german", 7, np.array(3), ["a", 7]):
        with pytest.raises(InputError, match=r"`stop_words` must be 'english', a list of strings or None; got"):
            make_vectorizer(stop_words=words, stem="english")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stemming without the extra raises before any text is read; stop words do not require it."""
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    assert len(make_vectorizer(stop_words="english").fit(["the wheat"]).vocabulary_) == 1
    with pytest.raises(MissingExtraError) as caught:
        make_vectorizer(stem="english")
    message = "This needs snowballstemmer, which is not installed: run `pip install 'oneof[text]'`."
    assert str(caught.value) == message
