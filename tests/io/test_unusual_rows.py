"""Notes on rows whose texts or vectors differ from those of training."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.io import Column, TextOptions, make_encoder
from oneof.io.notes.unusual_rows import UnusualRows, describe_rows, find_unusual_rows, sentences, to_dict

TEXT = [Column("text", "text")]
SIZE = 12
VECTOR = [Column(f"a[{j}]", "number") for j in range(SIZE)]


def make_texts(seed: int, n_rows: int, *, language: str = "w", length: int = 12) -> pl.DataFrame:
    """Return texts with words of Zipf's law, most of which occur once."""
    rng = np.random.default_rng(seed)
    words = rng.zipf(1.4, (n_rows, length)) % 10_000
    return pl.DataFrame({"text": [" ".join(f"{language}{word}" for word in row) for row in words]})


def make_vectors(seed: int, n_rows: int, scale: float = 1.0) -> pl.DataFrame:
    vectors = np.random.default_rng(seed).normal(size=(n_rows, SIZE)) + 1
    vectors *= scale / np.linalg.norm(vectors, axis=1, keepdims=True)
    return pl.DataFrame(vectors, schema=[column.name for column in VECTOR])


def find(columns: list[Column], train: pl.DataFrame, new: pl.DataFrame) -> list[UnusualRows]:
    """Return the unusual rows of a table, given the limits of another one."""
    encoder = make_encoder(columns).fit(train)
    return find_unusual_rows(new, columns, encoder, describe_rows(train, columns, encoder))


def test_texts_in_another_language_are_unusual_but_new_rows_are_not() -> None:
    """Of 40 random splits at most two have a note, and rows without known words or words are found in each."""
    n_false = 0
    for seed in range(40):
        train = make_texts(seed, 150)
        new = make_texts(1000 + seed, 50)
        n_false += bool(find(TEXT, train, new))
        foreign = pl.concat([new[:10], make_texts(seed, 5, language="v"), pl.DataFrame({"text": ["", " ?!"]})])
        [found] = find(TEXT, train, foreign)
        assert set(range(10, 17)) <= set(found.rows)
        assert find(TEXT, train, pl.DataFrame({"text": [""]})) == [UnusualRows("text", "words", (0,), 1)]
    assert n_false <= 2


def test_few_known_words_are_unusual_if_most_rows_have_few() -> None:
    """A table in which each text has words of another language has a note, although no row lacks known words."""
    train, new = make_texts(0, 400), make_texts(1, 100)
    foreign = make_texts(2, 100, language="v", length=8)
    mixed = pl.DataFrame({"text": [f"{a[:20]} {b}" for a, b in zip(new["text"], foreign["text"], strict=True)]})
    [found] = find(TEXT, train, mixed)
    assert len(found.rows) > 80


def test_empty_texts_are_unusual_only_if_training_has_fewer() -> None:
    train = make_texts(0, 400).with_columns(text=pl.when(pl.arange(0, 400) % 5 == 0).then(pl.lit("")).otherwise("text"))
    new = make_texts(1, 100)
    few = new.with_columns(text=pl.when(pl.arange(0, 100) % 5 == 0).then(pl.lit("")).otherwise("text"))
    many = new.with_columns(text=pl.when(pl.arange(0, 100) % 2 == 0).then(pl.lit("")).otherwise("text"))
    assert find(TEXT, train, few) == []
    [found] = find(TEXT, train, many)
    assert found.rows == tuple(range(0, 100, 2))


def test_words_that_only_one_row_has_do_not_count_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are those of the other rows, so neither copies of rows nor a limited vocabulary changes them much."""
    train, new = make_texts(0, 300, length=30), make_texts(1, 200, length=30)
    encoder = make_encoder(TEXT).fit(train)
    [[limit, _], _] = describe_rows(train, TEXT, encoder)["texts"]["text"]
    copies = pl.concat([train, train])
    [[of_copies, _], _] = describe_rows(copies, TEXT, make_encoder(TEXT).fit(copies))["texts"]["text"]
    assert of_copies == pytest.approx(limit)
    assert find(TEXT, train, new) == []
    monkeypatch.setattr("oneof.io.encoder.MAX_WORDS", 300)
    assert len(make_encoder(TEXT).fit(train).transformers_[0][1].vocabulary_) == 300
    assert find(TEXT, train, new) == []


def test_stop_words_and_stems_are_those_of_training() -> None:
    pytest.importorskip("snowballstemmer")
    train = pl.DataFrame({"text": ["the cats sleep", "the cat is asleep and sleeps", "dogs bark", "a dog barks"] * 20})
    options = TextOptions("english", "english")
    encoder = make_encoder(TEXT, options).fit(train)
    limits = describe_rows(train, TEXT, encoder)
    new = pl.DataFrame({"text": ["sleeping cat", "the and is", "barking dog"]})
    [found] = find_unusual_rows(new, TEXT, encoder, limits)
    assert found.rows == (1,)


@pytest.mark.parametrize("scale", [1.0, 17.0])
def test_vectors_without_numbers_or_of_another_norm_are_unusual(scale: float) -> None:
    """Missing vectors, zeros, and vectors that are not scaled as in training are found; new vectors are not."""
    train = make_vectors(0, 200, scale)
    new = make_vectors(1, 60, scale)
    assert find(VECTOR, train, new) == []
    empty = new.with_columns(
        pl.when(pl.arange(0, 60) == 7).then(None).when(pl.arange(0, 60) == 9).then(0.0).otherwise(pl.all()).name.keep()
    ).fill_null(float("nan"))
    assert find(VECTOR, train, empty) == [UnusualRows("a", "empty", (7, 9), 60)]
    for factor in (0.5, 2.0):
        assert find(VECTOR, train, make_vectors(1, 60, scale * factor)) == [
            UnusualRows("a", "norm", tuple(range(60)), 60)
        ]


def test_missing_vectors_are_unusual_only_if_training_has_fewer() -> None:
    is_missing = pl.arange(0, pl.len()) % 4 == 0
    train, new = (
        make_vectors(seed, 200).with_columns(pl.when(is_missing).then(float("nan")).otherwise(pl.all()).name.keep())
        for seed in (0, 1)
    )
    assert find(VECTOR, train, new) == []
    many = new.filter((pl.arange(0, 200) % 4 == 0) | (pl.arange(0, 200) % 8 == 1))
    assert len(find(VECTOR, train, many)[0].rows) == 50


@pytest.mark.parametrize(
    "limits",
    [None, [], {}, {"texts": 3}, {"texts": {"text": "x"}}, {"texts": {"text": [[1]]}}, {"texts": {"text": {}}}],
)
def test_models_without_limits_have_no_note(limits: Any) -> None:
    """A model of an earlier version has no limits, and those of a damaged file are ignored."""
    encoder = make_encoder(TEXT).fit(make_texts(0, 50))
    assert find_unusual_rows(pl.DataFrame({"text": [""]}), TEXT, encoder, limits) == []


def test_notes_name_the_number_and_the_first_rows() -> None:
    [words, norm] = sentences(
        [UnusualRows("text", "words", (3, 5, 6, 7, 8, 9), 20), UnusualRows("a", "norm", (1,), 20)]
    )
    assert words.startswith(
        "6 of 20 rows have few or no words of the training texts in column 'text' (rows 3, 5, 6, 7, 8 and 1 more). The "
        "measured accuracy, the probabilities and the coverage of prediction sets do not apply to them."
    )
    assert norm.startswith("1 of 20 rows has a vector in column 'a' whose norm is far from those of training (row 1).")
    found = [UnusualRows("a", "empty", (4,), 9), UnusualRows("a", "norm", (2,), 9)]
    assert to_dict(found) == {"a": {"count": 2, "rows": [2, 4]}}
    assert to_dict([]) == {}
