"""Fuzzed calls on texts, single rows, data sets, streams and models; damaged files are in tests/fuzz_files."""

import functools
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from hypothesis import strategies as st
from scipy.io import savemat

from oneof import CLPL, PLKNN, AvgPerceptron, MaxPegasos, datasets, persistence, stream, text
from oneof.io import CellFormat, Dialect, Overrides, TableOptions, TextOptions
from oneof.labeling import LabelTable
from tests.fuzz.labels import NAMES
from tests.fuzz.strategies import SCALARS, Case, either, family, fitted, optional, several


@functools.cache
def folder() -> Path:
    """Return a folder with a stream, a folder of streams and a data set; it is removed at exit."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="oneof-fuzz-"))
    where = Path(_KEPT[0].name)
    lines = [f"{i % 5},{('wren', 'finch', 'wren|finch', '')[i % 4]},{i % 2},{1 - i % 2}" for i in range(20)]
    (where / "birds.csv").write_text("\n".join(["span,species,a,b", *lines]))
    (where / "birds.svmlight").write_text("\n".join(f"{i % 2 + 1} 1:{i % 5} 3:1" for i in range(20)))
    np.savez(where / "birds.npz", X=np.eye(4), y=np.array([0, 1, 0, 1]), classes=np.array(["finch", "wren"]))
    savemat(
        where / "birds.mat",
        {"data": np.eye(3, 4), "partial_target": [[1, 1], [1, 0], [0, 1]], "target": np.eye(3)[:, :2]},
    )
    return where


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@family(1.0, "text.make_vectorizer text.StemTokenizer")
@st.composite
def texts(draw: st.DrawFn) -> Case:
    lines = either(st.one_of(st.text(max_size=20), st.sampled_from(["the cats don't", "oil wheat", "\ud800", "\0"])))
    lines_ = draw(either(st.lists(lines, min_size=1, max_size=5)))
    named = draw(
        optional(
            stop_words=either(st.sampled_from(["english", None, ["the"], (), ["don't"]])),
            stem=either(st.sampled_from(["english", "german", None, "klingon"])),
        )
    )
    if draw(st.booleans()):
        return _stems, (draw(lines),), named
    return _words, (lines_,), named


def _words(lines_: Any, **named: Any) -> Any:
    """Count the words; errors of scikit-learn's vectorizer are raised unchanged."""
    vectorizer = text.make_vectorizer(**named)
    try:
        return vectorizer.fit_transform(lines_)
    except (ValueError, AttributeError, TypeError):
        return None


def _stems(line: Any, stem: Any = "english", stop_words: Any = None) -> Any:
    tokenizer = text.StemTokenizer(stem, stop_words)
    return tokenizer(line) if isinstance(line, str) else None


@family(1.0, "stream.RiverClassifier")
@st.composite
def single_rows(draw: st.DrawFn) -> Case:
    value = either(st.one_of(st.floats(-1e9, 1e9), st.integers(-9, 9), st.text(max_size=5), st.booleans(), st.none()))
    row = st.dictionaries(st.text(max_size=4), value, max_size=4)
    classes = draw(either(st.sampled_from([NAMES, NAMES[:2]]), st.sampled_from([NAMES[:1], [], ["a", "a"], None, 3])))
    label = either(st.sampled_from(["ant", {"ant", "bee"}, None, ["bee"]]), st.sampled_from(["yak", [], 3, [[]]]))
    odd_row = st.one_of(SCALARS, st.dictionaries(st.text(max_size=2), st.floats(), max_size=2))
    lines = draw(st.lists(st.tuples(either(row, odd_row, share=7), label), min_size=1, max_size=5))
    learners = st.sampled_from([AvgPerceptron(), AvgPerceptron(average=True, fit_intercept=True), MaxPegasos()])
    return _one_by_one, (draw(either(learners)), classes, lines), draw(optional(hash_bits=several(1, 6)))


def _one_by_one(learner: Any, classes: Any, lines: Any, **named: Any) -> Any:
    model = stream.RiverClassifier(learner, classes, **named)
    probabilities = []
    for row, label in lines:
        probabilities.append(model.predict_proba_one(row))
        model.predict_one(row)
        model.learn_one(row, label)
    return [list(row_proba.values()) for row_proba in probabilities], model.fitted().coef_


@family(1.0, "datasets.load datasets.list_datasets datasets.dataset_info datasets.load_mat")
@st.composite
def data_sets(draw: st.DrawFn) -> Case:
    homes = either(st.sampled_from([None, folder(), str(folder())]), st.sampled_from([folder() / "none", "\0", *_ODD]))
    home = draw(homes)
    match draw(st.integers(0, 3)):
        case 0:
            return _alone, (datasets.list_datasets, home), {}
        case 1:
            return _alone, (datasets.dataset_info, home), {}
        case 2:
            path = either(st.just(folder() / "birds.mat"), st.one_of(st.sampled_from(_ODD), st.just(folder())))
            return datasets.load_mat, (draw(path),), {}
        case _:
            available = ["iris", "wine"] + ["birds"] * isinstance(home, str | Path)
            odd = st.one_of(SCALARS, st.sampled_from(["../iris", "", "irises", "a/b", "\0", ".", "~", "é"]))
            return _alone, (_loaded, draw(either(st.sampled_from(available), odd)), home), {}


_ODD = (3, 1.5, b"x", object(), [], len, "", "~", "~nobody/x", True)


def _alone(function: Any, *args: Any) -> Any:
    """Call with only these data sets visible."""
    with mock.patch.dict(os.environ, ONEOF_DATA=str(folder()), XDG_CACHE_HOME=str(folder())):
        return function(*args)


def _loaded(name: Any, home: Any) -> Any:
    data = datasets.load(name, home)
    return data.X, data.candidates


@family(
    1.0,
    "stream.fit_stream stream.open_source stream.read_batches stream.StreamOptions stream.Source "
    "stream.CheckpointConfig",
)
@st.composite
def streams(draw: st.DrawFn) -> Case:
    source = draw(
        either(st.just(folder() / "birds.csv"), st.sampled_from([*_ODD, folder(), folder() / "birds.svmlight", "-"]))
    )
    format_ = draw(optional(format=either(st.just("csv"), st.sampled_from(["svmlight", "xls", *_ODD]))))
    which = draw(st.integers(0, 4))
    if which == 0:
        return _batches, (source,), format_ | draw(optional(n_rows=several(1, 30)))
    if which == 1:
        return _opened, (source,), format_
    named = draw(
        optional(
            labels=either(
                st.sampled_from([("species",), ("a", "b"), ["species"]]),
                st.sampled_from(["species", ("no",), (3,), ()]),
            ),
            separator=either(st.sampled_from(["|", ";"])),
            classes=either(st.sampled_from([None, ("finch", "wren"), ("0", "1", "finch", "wren")])),
            overrides=either(st.sampled_from([Overrides(drop=("b",)), Overrides(categories=("span",)), Overrides()])),
            text_options=either(st.just(TextOptions())),
            batch_rows=several(1, 30),
            hash_bits=several(1, 10),
            n_epochs=several(1, 2),
            weighted=either(st.booleans()),
            table=either(
                st.builds(
                    TableOptions,
                    st.sampled_from([Dialect(), Dialect("utf-8", ","), Dialect("utf-16", ";", ",")]),
                    st.sampled_from([CellFormat(), CellFormat(missing=("finch", "0"), dates=("%d", "no%"))]),
                    st.booleans(),
                    st.sampled_from([None, *format_.values()]),
                )
            ),
        )
    )
    if named.get("weighted") is True:
        forms = {
            "weights": either(st.sampled_from([None, "a", "b", "species"])),
            "kind": either(st.sampled_from(["likelihood", "posterior"])),
            "prior": either(st.sampled_from([None, (0.5, 0.5), [0.1, 0.2, 0.3, 0.4], (0.0, 1.0)])),
            "rest": either(st.sampled_from([False, True, "wren", "other"])),
        }
        named |= draw(optional(**forms))
    named.setdefault("labels", ("species",))
    estimator = draw(
        either(st.sampled_from([AvgPerceptron(), MaxPegasos(average=True)]), st.one_of(SCALARS, st.just(CLPL())))
    )
    interval = draw(optional(every_rows=several(1, 30), every_seconds=either(st.sampled_from([None, 60.0]))))
    return _streamed, (source, estimator, named, interval if draw(st.integers(0, 2)) == 0 else None), {}


def _batches(source: Any, **named: Any) -> Any:
    return [batch.height for batch in stream.read_batches(source, **named)]


def _opened(source: Any, **named: Any) -> Any:
    opened = stream.open_source(source, **named)
    assert isinstance(opened, stream.Source)
    return len(opened.identity())


def _streamed(source: Any, estimator: Any, named: Any, interval: Any) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints = None if interval is None else stream.CheckpointConfig(Path(scratch, "kept"), **interval)
        result = stream.fit_stream(source, estimator, stream.StreamOptions(**named), checkpoints=checkpoints)
    return result.model.steps[-1][1].coef_


@family(0.4, "persistence.save persistence.load labeling.LabelTable")
@st.composite
def models(draw: st.DrawFn) -> Case:
    """Draw a model to save and load, or a table to label."""
    if draw(st.booleans()):
        model = draw(
            either(
                st.sampled_from([fitted("votes"), fitted("online")]),
                st.one_of(SCALARS, st.sampled_from([PLKNN(), CLPL(C=2.0)])),
            )
        )
        return _saved, (model, draw(either(st.just("m.oneof"), st.sampled_from(["", ".", "no/m", "\0", 3, None])))), {}
    shows = either(st.sampled_from(["table", "text", "image"]))
    named = draw(optional(show=shows, column=either(st.just("a")), hidden=either(st.just(("a",)))))
    if not (isinstance(show := named.get("show", "table"), str) and show == "table"):
        named.setdefault("column", "a")
    frame = draw(either(st.just(pl.DataFrame({"a": ["x", None], "b": [1.0, 2.0]}))))
    return _table, (frame, draw(either(st.sampled_from(["b", "c"])))), named


def _saved(model: Any, name: Any) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, name) if isinstance(name, str) else name
        persistence.save(path, model)
        return getattr(persistence.load(path), "coef_", None)


def _table(frame: Any, label: Any, **named: Any) -> Any:
    table = LabelTable(frame, label, **named)
    table.item(0)
    return table.fingerprint()
