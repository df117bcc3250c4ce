"""Marked words: those of naive Bayes on the predictions of the model, as text and never as markup."""

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from oneof.labeling.content.highlights import Highlighter, count_words, find_words, log_frequencies
from oneof.labeling.content.table import LabelTable
from oneof.labeling.http.app import question_to_dict
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows

TEXTS = ["red bird sings", "Red bird flies", "gray owl sleeps", "gray owl flies", "bird", None, "owl sings 42"]


def marked(text: str, highlight: object) -> list[str]:
    units = text.encode("utf-16-le", "surrogatepass")
    return [units[2 * a : 2 * b].decode("utf-16-le", "surrogatepass") for a, b in highlight.spans]  # type: ignore[attr-defined]


def test_counts_of_words() -> None:
    """Counts are those of CountVectorizer without digits and words of one text."""
    counts, vocabulary = count_words(TEXTS)
    peer = CountVectorizer(min_df=2, token_pattern=r"[^\W\d_]\w+")
    expected = peer.fit_transform([text or "" for text in TEXTS]).toarray()
    assert list(vocabulary) == peer.get_feature_names_out().tolist()
    assert (counts.toarray() == expected).all()


def test_frequencies_are_those_of_naive_bayes() -> None:
    """With predictions of probability 1, frequencies are those of `MultinomialNB` fitted to the predicted labels."""
    counts, _ = count_words(TEXTS)
    codes = np.array([0, 0, 1, 1, 0, 2, 1])
    peer = MultinomialNB().fit(counts, codes)
    assert np.allclose(log_frequencies(counts, np.eye(3)[codes]).T, peer.feature_log_prob_)


def test_marked_words_distinguish_the_two_most_probable_labels() -> None:
    """Words in favor of the proposed label are marked in all their forms; those of the runner-up are not."""
    model = Highlighter(TEXTS)
    assert model.highlight("red owl", np.array([0.6, 0.3, 0.1])) is None  # before the first fit
    model.fit(np.eye(3)[[0, 0, 1, 1, 0, 2, 1]])
    text = "Red \U0001f426 owl, RED bird unknown"
    highlight = model.highlight(text, np.array([0.6, 0.3, 0.1]))
    assert highlight is not None
    assert (highlight.label, highlight.runner_up) == (0, 1)
    assert marked(text, highlight) == ["Red", "RED", "bird"]  # "bird" is in both, but thrice as frequent
    opposite = model.highlight(text, np.array([0.3, 0.6, 0.1]))
    assert opposite is not None
    assert marked(text, opposite) == ["owl"]
    assert model.highlight(text, None) is None


def test_spans_are_words_of_the_text() -> None:
    """Letters whose lower case is longer, surrogates and markup do not shift the marks."""
    text = "\u0130stanbul \ud800 <b>bird</b> &amp; bird"
    assert [text[a:b] for _, (a, b) in find_words(text)] == ["\u0130stanbul", "bird", "amp", "bird"]
    model = Highlighter(["bird", "bird", "owl", "owl"])
    model.fit(np.eye(2)[[0, 0, 1, 1]])
    highlight = model.highlight(text, np.array([0.9, 0.1]))
    assert highlight is not None
    assert marked(text, highlight) == ["bird", "bird"]


def test_a_session_marks_the_words_of_its_texts() -> None:
    """After a fit, questions have marks of the words that the labels were named with; tables have none."""
    rows, truth = make_rows(60)
    notes = [f"a {CLASSES[code]} in the garden" for code in truth]
    table = LabelTable(pl.DataFrame({"note": notes}), "kind", "text", "note")
    with LabelingSession(rows, classes=CLASSES, table=table, random_state=0) as session:
        for row in range(15):
            session.answer(session.question_for(row), CLASSES[truth[row]])
        session.train()
        n_right = 0
        for row in range(15, 60):
            question = question_to_dict(session, session.question_for(row))
            assert question is not None
            spans = question["highlight"]["spans"]
            assert question["highlight"]["label"] == int(np.argmax(question["proba"]))
            n_right += [notes[row][a:b] for a, b in spans] == [CLASSES[truth[row]]]
        assert n_right >= 40
    with LabelingSession(rows, classes=CLASSES) as session:
        assert session.highlighter is None


def test_a_check_has_no_prediction_before_its_answer() -> None:
    """The prediction that an answer evaluates is stored with the answer, and is not in the question of the page."""
    rows, truth = make_rows(60)
    table = LabelTable(
        pl.DataFrame({"note": [f"a {CLASSES[code]} in the garden" for code in truth]}), "kind", "text", "note"
    )
    with LabelingSession(rows, classes=CLASSES, table=table, check_interval=2, random_state=0) as session:
        purposes = set()
        for _ in range(20):
            question = session.ask()
            assert question is not None
            sent = question_to_dict(session, question)
            assert sent is not None
            is_shown = question.purpose != "check" and question.proba is not None
            assert (sent["proba"] is not None) == (sent["highlight"] is not None) == is_shown
            entry = session.answer(question, CLASSES[truth[question.row]])
            assert entry.guess == question.guess
            purposes.add((question.purpose, question.proba is not None))
        assert purposes == {("query", False), ("query", True), ("check", True)}
