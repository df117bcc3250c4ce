"""Text columns on the command line: stop words and stems, from a table to predictions."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof import persistence
from oneof.io import encoder, make_encoder
from oneof.io.features import Column
from tests.cli.conftest import Result, Run, check_error

MESSAGES = {
    "Subject: connection\n\nThe modem was connected, and is connecting again.": "net",
    "Connections of modems to the network drop": "net",
    "My network card and its connector": "net",
    "is the network down? connecting fails": "net|sea",
    "a modem, connected to nothing": "net",
    "networks of modems": None,
    "A ship was sailing from the harbour": "sea",
    "The ships sailed past this harbour": "sea",
    "sailors, harbours and \U0001f6a2 shipping": "sea",
    "Sailing, and a shipper's caf\u00e9 in the harbour": "net|sea",
    "": None,
    "the of and": None,
}
NEW = {"the connector of a network": "net", "shipped to harbours, sail": "sea", "": None, "\u4f60\u597d": None}
FIT = ("--labels", "topic", "--method", "CLPL", "--folds", "2")
WORDS = ("--stop-words", "english", "--stem", "english")


@pytest.fixture
def table(run: Run) -> Path:
    """Write messages.parquet and new.parquet to the working folder."""
    for name, rows in (("messages", MESSAGES), ("new", NEW)):
        pl.DataFrame({"body": list(rows), "topic": list(rows.values())}).write_parquet(f"{name}.parquet")
    return Path("messages.parquet")


def _fit(run: Run, table: Path, *args: str) -> Result:
    result = run.done("fit", table, *FIT, *args, "--out", "out")
    assert "Warning" not in result.err
    return result


def test_stems_and_stop_words_are_used_by_the_model(run: Run, table: Path) -> None:
    """The features are stems without stop words; summary, model file and report have the options."""
    _fit(run, table, *WORDS)
    model = persistence.load("out/model.skops")
    features = set(model.pipeline[0].get_feature_names_out())
    assert {"body_ship", "body_sail", "body_connect", "body_network", "body_caf\u00e9"} <= features
    assert not features & {"body_the", "body_connected", "body_ships", "body_sailing"}
    options = json.loads(Path("out/summary.json").read_text())["words"]
    assert (options["stop_words"], options["stem"]) == ("english", "english")
    assert model.summary["words"] == options
    assert "--stop-words english --stem english" in Path("out/report.html").read_text()


def test_all_folds_have_the_form_of_the_whole_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Features that are dense in all rows, and sparse by the words of a fold, are dense in every fit."""
    words = np.random.default_rng(0).choice([*"abcdefghijklmno"], (60, 6))
    messages = pl.DataFrame(
        {"body": [" ".join(2 * word for word in row) for row in words], "topic": ["net", "sea"] * 30}
    )
    encoded = make_encoder([Column("body", "text")]).fit_transform(messages)
    monkeypatch.setattr(encoder, "MAX_DENSITY", (encoded != 0).mean())
    messages.write_parquet("messages.parquet")
    _fit(run, Path("messages.parquet"), "--text", "body")
    assert not persistence.load("out/model.skops").pipeline[0].is_sparse_


def test_stop_words_of_a_file(run: Run, table: Path) -> None:
    """A file has one word per line, in any case; the model stores the words."""
    Path("mine.txt").write_text("The\n\nshipper's\n  of \n")
    _fit(run, table, "--stop-words", "mine.txt")
    Path("mine.txt").unlink()
    model = persistence.load("out/model.skops")
    features = set(model.pipeline[0].get_feature_names_out())
    assert not features & {"body_the", "body_of", "body_shipper", "body_s"}
    assert "body_and" in features
    assert model.summary["words"]["stop_words"] == ["The", "of", "shipper's"]
    assert run("predict", "out/model.skops", "new.parquet").code == 0


def test_tfidf_is_not_scaled_again(run: Run, table: Path) -> None:
    """The method gets the rows of the encoder, with length 1, without a second scaler."""
    _fit(run, table, *WORDS)
    pipeline = persistence.load("out/model.skops").pipeline
    assert [name for name, _ in pipeline.steps] == ["columns", "clpl"]
    rows = pipeline[0].transform(pl.DataFrame({"body": list(MESSAGES)})).toarray()
    np.testing.assert_allclose((rows**2).sum(axis=1), [0 if text in ("", "the of and") else 1 for text in MESSAGES])


def test_cubic_methods_are_excluded_with_many_words(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many words, a method of cubic cost is compared only by name, and a note says so."""
    from oneof.cli.options import ReadOptions
    from oneof.cli.tables.inputs import prepare
    from oneof.cli.tables.methods import resolve_methods
    from oneof.comparison import methods

    prepared = prepare(table, ReadOptions(("topic",)))
    pipelines, notes = resolve_methods(prepared, "best", 0)
    assert "GraphLogisticRegression" in pipelines
    assert notes == []
    monkeypatch.setattr(methods, "MAX_FEATURES_CUBIC", 10)
    for _ in range(2):
        pipelines, notes = resolve_methods(prepared, "best", 0)
        assert "GraphLogisticRegression" not in pipelines
        assert "CLPL" in pipelines
        assert [note.split(":")[0] for note in notes] == ["GraphLogisticRegression is not compared"]
    assert "--method GraphLogisticRegression fits it" in notes[0]
    pipelines, notes = resolve_methods(prepared, "graphlogisticregression", 0)
    assert (list(pipelines), notes) == (["GraphLogisticRegression"], [])


def test_raw_text_of_an_archive(run: Run, table: Path) -> None:
    """The bytes of all messages in one array give the same model as the table."""
    texts = [text.encode() for text in MESSAGES]
    ends = np.cumsum([0, *map(len, texts)])
    names = ["net", "sea"]
    mask = [[label is None or name in label for name in names] for label in MESSAGES.values()]
    content = np.frombuffer(b"".join(texts), dtype=np.uint8)
    bits = np.packbits(mask, axis=1)
    np.savez("messages.npz", text=content, text_offsets=ends, classes=np.array(names), candidates=bits)
    _fit(run, table, *WORDS)
    expected = run("predict", "out/model.skops", table, "--out", "-").out
    run.done("fit", "messages.npz", "--labels", "candidates", *FIT[2:], *WORDS, "--out", "again")
    assert run("predict", "again/model.skops", "messages.npz", "--out", "-").out == expected


def test_another_stemmer_is_noted(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model fitted with another version or package of the stemmer predicts with a note."""
    _fit(run, table, *WORDS)
    stemmer = json.loads(Path("out/summary.json").read_text())["words"]["stemmer"]
    assert run("predict", "out/model.skops", "new.parquet").err.count("stems") == 0
    monkeypatch.setattr("oneof.text.stemmer_version", lambda: "PyStemmer 99.0")
    result = run.done("predict", "out/model.skops", "new.parquet")
    assert f"stems of {stemmer}; PyStemmer 99.0 is installed here and some stems may differ" in " ".join(
        result.err.split()
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--stem", "englsh"), "no stemmer for 'englsh'. The languages are arabic"),
        (("--stop-words", "german"), "the file german of stop words does not exist. Give english, none, or a file"),
        (("--stop-words", "empty.txt"), "empty.txt must contain stop words"),
        (("--stop-words", "latin.txt"), "latin.txt is not text in UTF-8"),
        (("--stop-words", "."), "the file . of stop words does not exist"),
        (("--stem", "english", "--categorical", "body"), "--stop-words and --stem need a text column"),
        (("--stop-words", "english", "--drop", "body", "--text", "more"), "column 'more' has only stop words"),
        (("--drop", "body", "--text", "signs"), "column 'signs' has no words. Exclude it by --drop signs"),
    ],
)
def test_invalid_options_are_errors(run: Run, table: Path, args: tuple[str, ...], message: str) -> None:
    """Invalid options are one sentence with exit code 2, and no file is written."""
    Path("empty.txt").write_text(" \n")
    Path("latin.txt").write_bytes("\u00fcber".encode("latin-1"))
    frame = pl.read_parquet(table)
    frame.with_columns(more=pl.lit("and the of"), signs=pl.lit("!?")).write_parquet(table)
    signs = () if "signs" in args else ("--drop", "signs")
    check_error(run, "fit", table, *FIT, *args, *signs, message=message)
