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
    return find_unusual_rows(new, columns, encoder, describe_rows(train, columns, encoder, ["a"]))


def replace_rows(frame: pl.DataFrame, rows: list[int], value: float | str | None) -> pl.DataFrame:
    """Return a table with other cells in some rows."""
    is_replaced = pl.arange(0, frame.height).is_in(rows)
    return frame.with_columns(pl.when(is_replaced).then(pl.lit(value)).otherwise(pl.all()).name.keep())


def test_texts_in_another_language_are_unusual_but_new_rows_are_not() -> None:
    """Of 2,000 new rows at most 1 % are unusual, and rows without known words or without words all are."""
    n_false = 0
    for seed in range(40):
        train = make_texts(seed, 150)
        new = make_texts(1000 + seed, 50)
        n_false += sum(len(found.rows) for found in find(TEXT, train, new))
        foreign = pl.concat([make_texts(seed, 5, language="v"), pl.DataFrame({"text": ["", " ?!"]})])
        assert find(TEXT, train, foreign) == [
            UnusualRows("text", "empty_text", (5, 6), 7),
            UnusualRows("text", "words", tuple(range(5)), 7),
        ]
    assert n_false <= 20


@pytest.mark.parametrize("odd", ["", "vv vvv vvvv"])
@pytest.mark.parametrize("n_rows", [60, 6_000])
def test_a_row_is_unusual_by_itself_although_a_training_row_is_too(odd: str, n_rows: int) -> None:
    """Neither one odd row of training nor the other rows of a table change the finding of a row."""
    train = replace_rows(make_texts(0, n_rows), [0], odd)
    new = pl.concat([make_texts(1, 30), pl.DataFrame({"text": ["", "x1 x2 x3"]})])
    found = {(row, unusual.reason) for unusual in find(TEXT, train, new) for row in unusual.rows}
    assert {(30, "empty_text"), (31, "words")} <= found
    encoder = make_encoder(TEXT).fit(train)
    limits = describe_rows(train, TEXT, encoder, [])
    for row in range(new.height):
        alone = find_unusual_rows(new[row : row + 1], TEXT, encoder, limits)
        assert [unusual.reason for unusual in alone] == [reason for other, reason in found if other == row]


def test_only_rows_with_few_known_words_are_listed() -> None:
    """Rows with a tenth of their words known are found among native rows, which are not."""
    train, native = make_texts(0, 400), make_texts(1, 100, length=40)
    foreign = make_texts(2, 100, language="v", length=36)
    mixed = [f"{text} w1 w2 w3 w4" for text in foreign["text"]]
    [found] = find(TEXT, train, pl.concat([native, pl.DataFrame({"text": mixed})]))
    assert found.rows == tuple(range(100, 200))


def test_texts_of_a_template_may_have_a_new_word() -> None:
    """If training texts have all words in common, a text is unusual if it lacks more than half of them only."""
    words = [f"w{j}" for j in range(13)]
    train = pl.DataFrame({"text": [" ".join([*words, f"a{j // 10}", f"b{j % 10}"]) for j in range(100)]})
    words += ["a1", "b2"]
    texts = [" ".join([*words[:known], *(f"v{j}" for j in range(15 - known))]) for known in (15, 14, 8, 7)]
    assert find(TEXT, train, pl.DataFrame({"text": texts})) == [UnusualRows("text", "words", (3,), 4)]


def test_a_text_of_many_rows_is_one_text() -> None:
    """Texts without known words are found although a fifth of the training texts is the same one with its own word."""
    train = replace_rows(make_texts(0, 300), list(range(0, 300, 5)), "none")
    assert find(TEXT, train, pl.DataFrame({"text": ["none", "v1 v2"]})) == [UnusualRows("text", "words", (1,), 2)]


def test_each_column_of_texts_has_its_own_limits() -> None:
    """Empty texts are unusual in the column whose training texts are not empty."""
    columns = [Column("text", "text"), Column("remark", "text")]
    few = replace_rows(make_texts(1, 200), list(range(0, 200, 4)), "")["text"]
    train = make_texts(0, 200).with_columns(remark=few)
    words = train["text"][0]
    new = pl.DataFrame({"text": [words, "", words, ""], "remark": [few[1], few[1], "", ""]})
    assert find(columns, train, new) == [UnusualRows("text", "empty_text", (1, 3), 4)]


@pytest.mark.parametrize(("n_odd", "is_found"), [(9, True), (12, False)])
def test_rows_like_one_of_twenty_training_rows_are_usual(n_odd: int, is_found: bool) -> None:
    """Empty texts, texts without known words and empty vectors are unusual if less than 5 % of training are so."""
    odd = list(range(n_odd))
    train = replace_rows(make_texts(0, 200), odd, "")
    assert bool(find(TEXT, train, pl.DataFrame({"text": [""]}))) == is_found
    texts = [f"u{row}" if row in odd else f"a{row // 15} b{row % 15}" for row in range(200)]
    assert bool(find(TEXT, pl.DataFrame({"text": texts}), pl.DataFrame({"text": ["v1"]}))) == is_found
    texts = [f"a{row // 15} b{row % 15}" if row in odd else f"u{row}" for row in range(200)]
    assert find(TEXT, pl.DataFrame({"text": texts}), pl.DataFrame({"text": ["v1"]})) == []
    train = replace_rows(make_vectors(0, 200), odd, float("nan"))
    assert bool(find(VECTOR, train, replace_rows(make_vectors(1, 1), [0], 0.0))) == is_found


def test_words_that_only_one_row_has_do_not_count_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are those of the other rows, so neither copies of rows nor a limited vocabulary changes them much."""
    train, new = make_texts(0, 300, length=30), make_texts(1, 200, length=30)
    encoder = make_encoder(TEXT).fit(train)
    _, limit = describe_rows(train, TEXT, encoder, [])["texts"]["text"]
    copies = pl.concat([train, train])
    _, of_copies = describe_rows(copies, TEXT, make_encoder(TEXT).fit(copies), [])["texts"]["text"]
    assert of_copies == pytest.approx(limit)
    assert find(TEXT, train, new) == []
    monkeypatch.setattr("oneof.io.encoder.MAX_WORDS", 300)
    assert len(make_encoder(TEXT).fit(train).transformers_[0][1].vocabulary_) == 300
    assert find(TEXT, train, new) == []


def test_words_as_frequent_as_the_rarest_of_a_limited_vocabulary_count_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a text, its word of 4 rows has 3 and would be in a vocabulary with half of the words of 3 rows or not."""
    texts = [f"aa x{row // 4} y{row // 3} u{row}" for row in range(36)]
    monkeypatch.setattr("oneof.io.encoder.MAX_WORDS", 1 + 9 + 6)
    train = pl.DataFrame({"text": texts})
    limits = describe_rows(train, TEXT, make_encoder(TEXT).fit(train), [])
    assert limits["texts"]["text"] == pytest.approx([0, 0.5 * (1 + 0.5) / 4])


def test_stop_words_and_stems_are_those_of_training() -> None:
    pytest.importorskip("snowballstemmer")
    train = pl.DataFrame({"text": ["the cats sleep", "the cat is asleep and sleeps", "dogs bark", "a dog barks"] * 20})
    options = TextOptions("english", "english")
    encoder = make_encoder(TEXT, options).fit(train)
    limits = describe_rows(train, TEXT, encoder, [])
    new = pl.DataFrame({"text": ["sleeping cat", "the and is", "barking dog"]})
    assert find_unusual_rows(new, TEXT, encoder, limits) == [UnusualRows("text", "empty_text", (1,), 3)]


@pytest.mark.parametrize("scale", [1.0, 17.0])
def test_vectors_without_numbers_or_of_another_norm_are_unusual(scale: float) -> None:
    """Missing vectors, zeros, and vectors that are not scaled as in training are found; new vectors are not."""
    train = make_vectors(0, 200, scale)
    new = make_vectors(1, 60, scale)
    assert find(VECTOR, train, new) == []
    empty = replace_rows(replace_rows(new, [7], float("nan")), [9], 0.0)
    assert find(VECTOR, train, empty) == [UnusualRows("a", "empty_vector", (7, 9), 60)]
    for factor in (0.7, 1.4):
        assert find(VECTOR, train, make_vectors(1, 60, scale * factor)) == []
    for factor in (0.5, 2.0):
        other = UnusualRows("a", "norm", tuple(range(60)), 60)
        assert find(VECTOR, train, make_vectors(1, 60, scale * factor)) == [other]


@pytest.mark.parametrize("scale", [1e-250, 1e-200, 1e200])
def test_tiny_and_huge_norms_are_not_empty(scale: float) -> None:
    """A vector of small numbers has a norm, although the squares of the numbers underflow to 0 or overflow."""
    far = UnusualRows("a", "norm", (0,), 1)
    assert find(VECTOR, make_vectors(0, 100), make_vectors(1, 1, scale)) == [far]
    encoder, train = make_encoder(VECTOR).fit(make_vectors(0, 100)), make_vectors(0, 100, scale)
    limits = describe_rows(train, VECTOR, encoder, ["a"])
    assert find_unusual_rows(make_vectors(1, 60, scale), VECTOR, encoder, limits) == []


def test_norms_that_vary_have_wide_limits() -> None:
    """Of 40 random splits of vectors with lognormal norms none has a note, with or without one training row far out."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        vectors = np.exp(rng.normal(size=(200, 1))) * rng.normal(size=(200, SIZE))
        vectors[0] *= 10.0 ** (seed % 7 - 3)
        frame = pl.DataFrame(vectors, schema=[column.name for column in VECTOR])
        assert find(VECTOR, frame[:150], frame[150:]) == []
        assert find(VECTOR, frame[:150], frame[150:] * 1e5) == [UnusualRows("a", "norm", tuple(range(50)), 50)]


def test_partly_missing_vectors_have_no_note() -> None:
    """A vector with missing and other numbers is neither empty nor has a norm; training needs no complete vector."""
    train = make_vectors(0, 100)
    partial = make_vectors(1, 20, 50.0).with_columns(pl.lit(float("nan")).alias("a[3]"))
    assert find(VECTOR, train, partial) == []
    assert find(VECTOR, partial, train) == []
    zeros = replace_rows(partial, list(range(20)), 0.0).with_columns(pl.lit(float("nan")).alias("a[3]"))
    assert find(VECTOR, train, zeros) == [UnusualRows("a", "empty_vector", tuple(range(20)), 20)]


def test_columns_that_are_not_of_a_vector_have_no_limits() -> None:
    train = make_vectors(0, 50)
    assert describe_rows(train, VECTOR, make_encoder(VECTOR).fit(train), ["b"]) == {"texts": {}, "vectors": {}}


@pytest.mark.parametrize("numbers", [None, 3, "x", {}, [[1]], [[1, 0], [1, 0]], [10**400, 1, 2], [10**400, 1]])
@pytest.mark.parametrize("name", ["text", "a"])
def test_models_without_limits_have_no_note(numbers: Any, name: str) -> None:
    """A model of an earlier version has no limits, and those of a damaged file are ignored."""
    columns, train = [*TEXT, *VECTOR], pl.concat([make_texts(0, 50), make_vectors(0, 50)], how="horizontal")
    encoder = make_encoder(columns).fit(train)
    new = pl.concat([pl.DataFrame({"text": [""]}), make_vectors(0, 1, 99.0)], how="horizontal")
    key = {"text": "texts", "a": "vectors"}[name]
    for limits in (numbers, {key: numbers}, {key: {name: numbers}}):
        assert find_unusual_rows(new, columns, encoder, limits) == []


def test_notes_name_the_number_and_the_first_rows() -> None:
    [words, norm] = sentences(
        [UnusualRows("text", "words", (3, 5, 6, 7, 8, 9), 20), UnusualRows("a", "norm", (1,), 20)]
    )
    assert words.startswith(
        "6 of 20 rows have few or no words of the training texts in column 'text' (rows 3, 5, 6, 7, 8 and 1 more). The "
        "measured accuracy, the probabilities and the coverage of prediction sets do not apply to them."
    )
    assert norm.startswith("1 of 20 rows has a vector in column 'a' whose norm is far from those of training (row 1).")
    [text, vector] = sentences(
        [UnusualRows("text", "empty_text", (2,), 3), UnusualRows("a", "empty_vector", (0, 1), 3)]
    )
    assert text.startswith("1 of 3 rows has an empty text, or one without words, in column 'text' (row 2).")
    assert text.endswith("Add their texts, or fit the model to labeled rows without texts.")
    assert vector.startswith("2 of 3 rows have no vector, or only zeros, in column 'a' (rows 0 and 1).")


def test_the_summary_has_the_number_and_the_first_rows() -> None:
    found = [UnusualRows("a", "empty_vector", (4,), 99), UnusualRows("a", "norm", (2, *range(10, 40)), 99)]
    assert to_dict(found) == {"a": {"count": 32, "rows": [2, 4, *range(10, 18)]}}
    assert to_dict([]) == {}
