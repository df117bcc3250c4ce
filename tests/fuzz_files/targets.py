"""The readers of files with valid files; for any other file a reader may only raise an OneofError."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import oneof
from oneof.datasets import load_mat
from oneof.datasets.npz import read_npz, read_shape
from oneof.errors import DataError, InputError
from oneof.io import (
    UnreadableCells,
    align_columns,
    choose_columns,
    find_separator,
    read_labels,
    read_table,
)
from oneof.io.answers import AnswerOptions, parse_answers, read_answer_file
from oneof.io.formats.binary import read_answers_npz
from oneof.labeling.answers.database import stored_classes
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.answers.store import AnswerStore
from oneof.persistence import SavedModel, load, save
from oneof.stream import CheckpointConfig, StreamOptions, fit_stream, read_batches
from reproduction.records import Record
from reproduction.store import Store
from reproduction.trial import Trial
from tests.fuzz_files.containers import GZIP, PLAIN, RECORDS, ZIP, Container, json_lines
from tests.io.spreadsheets import WRITERS


@dataclass(frozen=True)
class Target:
    """A reader under test.

    Attributes
    ----------
    read : callable
        Reads a file in a separate folder.
    seeds : callable
        Returns valid files, given that folder.
    name_of_file : str
    container : Container
    requires : str
        The module that the reader needs, which is not always installed.
    is_decoded_first : bool
        Whether another process decodes the file first, which takes some 0.3 s for each case.
    """

    read: Callable[[Path], Any]
    seeds: Callable[[Path], list[bytes]]
    name_of_file: str
    container: Container = PLAIN
    is_decoded_first: bool = False
    requires: str = ""


_CSV = (
    b'span,species,sings,when\n3.1,wren,true,2020-01-01\n2.9,wren|finch,false,\nNA,"fi""n,ch",true,2021-02-03\n',
    b"span;species\n1;owl\n2;finch|owl\n-3e5;\n",
    b"\xef\xbb\xbfspecies\nwren\n\nowl\n",
    "span ;span;;species;when;took\r\n1,5;-;;owl;01.02.2020;1:30\r\n2,5;x;;wren;soon;2h\r\n;;;;;;\r\n".encode("utf-16"),
    b"'span','species','wet'\r'1.234,5','wr\xe9n;owl','yes'\r'2','owl','no'\r",
)
_OBJECTS = (
    json_lines({"span": 3.1, "species": ["wren", "owl"]}, {"span": None, "species": "wren"}, {"x": [1, "a", None]}),
    json_lines({"species": 1, "a": {"b": 1}}, {"species": -1, "span": 2**70}, {"species": 0}),
)
_PAIRS = (b"2,5 1:0.3 7:1\n1 2:1e5 # a\n\n", b"wren|finch 1:0.3 9:1\n3:1\n+1 qid:4 5:1\n")


def _table(path: Path) -> None:
    table = read_table(path, labels=("species",))
    with suppress(InputError):
        read_labels(table, ["species"], separator=find_separator(table, ["species"]))
    with suppress(InputError):
        columns, findings = choose_columns(table, exclude=("species",))
        assert "\n" not in "".join(findings.sentences())
        json.dumps(findings.to_dict())
        align_columns(table.frame, columns, path, cell_format=table.cell_format, unreadable=UnreadableCells())
        align_columns(table.frame, columns, path, cell_format=table.cell_format)


def _sheets(suffix: str) -> Callable[[Path], list[bytes]]:
    rows = (
        ("span", "species", "when"),
        (3.1, "wren|owl", date(2021, 2, 3)),
        (None, "owl", None),
        ("-", "wren", "soon"),
    )

    def seeds(folder: Path) -> list[bytes]:
        return [WRITERS[suffix](folder / f"seed{suffix}", birds=rows, other=rows[:2]).read_bytes()]

    return seeds


def _stream(path: Path) -> None:
    for _ in read_batches(path, n_rows=2):
        pass


def _frames(write: str, **options: Any) -> Callable[[Path], list[bytes]]:
    def seeds(_: Path) -> list[bytes]:
        import polars as pl

        files = []
        for frame in (
            pl.DataFrame({"span": [3.1, None, 2.0], "species": [["wren"], ["wren", "owl"], None]}),
            pl.DataFrame({"species": ["a|b", "a", "b"] * 9, "text": ["x y", "z", ""] * 9, "n": range(27)}),
        ):
            file = io.BytesIO()
            getattr(frame, write)(file, **options)
            files.append(file.getvalue())
        return files

    return seeds


def _arrays(*, dense_too: bool = True, sparse_too: bool = True) -> Callable[[Path], list[bytes]]:
    codes, classes = np.array([0, 1, -1, 1, 0, 2]), np.array(["a", "b", "c"])
    packed = np.packbits(np.eye(3, dtype=bool)[[0, 1, 2, 1, 0, 2]], axis=1)
    dense = {"X": np.arange(12.0).reshape(6, 2), "y": codes, "classes": classes, "candidates": packed}
    sparse = {
        "X_data": np.ones(3),
        "X_indices": np.array([0, 2, 1]),
        "X_indptr": np.array([0, 1, 2, 3]),
        "X_shape": np.array([3, 3]),
        "y": np.array([0, 1, 0]),
        "classes": np.array([3, 5]),
        "splits_labeled2": np.array([[0, 1]]),
        "answers": np.array([[0, -1], [1, 1]]),
    }
    text = np.frombuffer("né wren".encode(), dtype=np.uint8)
    words = {"text": text, "text_offsets": np.array([0, 3, 8]), "y": np.array([0, 1]), "classes": classes}

    def seeds(_: Path) -> list[bytes]:
        files = []
        for arrays in (*([dense | {"n_train": np.array(4)}, words] * dense_too), *([sparse] * sparse_too)):
            file = io.BytesIO()
            np.savez_compressed(file, **arrays)
            files.append(file.getvalue())
        return files

    return seeds


def _dataset(path: Path) -> None:
    with suppress(DataError):
        read_shape(path)
    read_npz(path, "a")


def _mat(path: Path) -> None:
    """Read a MATLAB file; an endless loop of SciPy ends within the time of a case."""
    with mock.patch("oneof.datasets.matlab._MIN_SECONDS", 10):
        load_mat(path)


def _mat_seeds(_: Path) -> list[bytes]:
    import scipy.sparse as sp
    from scipy.io import savemat

    files = []
    sets = np.array([[1, 1, 0, 1], [0, 1, 1, 0]])
    truth = np.array([[1, 0, 0, 1], [0, 1, 1, 0]])
    for data, partial, target, more in (
        (np.eye(4), sets, truth, {}),
        (sp.csc_array(np.eye(4)), sp.csc_array(sets), sp.csc_array(truth), {"do_compression": True}),
        (np.eye(4, dtype=np.uint8), sets.T, truth.T, {"format": "4"}),
        (sp.csc_array(np.eye(4)), sp.csc_array(1.0 * sets), truth, {"format": "4"}),
    ):
        file = io.BytesIO()
        savemat(file, {"data": data, "partial_target": partial, "target": target}, **more)
        files.append(file.getvalue())
    return files


def _answer_seeds(folder: Path) -> list[bytes]:
    path = folder / "seed.sqlite"
    log = AnswerLog(path, _FACTS)
    log.append(Entry("x", "Ann", 0, "one of", (0, 1)))
    log.append(Entry("y", "Bob", 1, "none of", (0,), guess=1, score=0.5))
    log.append(Entry("z", "Ann", 0, "undo", undoes=1))
    log.close()
    return [path.read_bytes()]


_FACTS = {"rows": "some", "classes": '["a", "b", "c"]'}


def _answers(path: Path) -> None:
    stored_classes(path)
    log = AnswerLog(path, _FACTS)
    try:
        answers = AnswerStore(log, np.ones((4, 3), dtype=bool), np.array(["a", "b", "c"]), min_votes=1, top_k=1)
        answers.candidates()
        answers.history()
        answers.write(Entry("new", "Eve", 2, "one of", (2,)), 0)
        answers.undo("Ann", None, "other")
    finally:
        log.close()


def _studio_seeds(_: Path) -> list[bytes]:
    choices = [{"type": "choices", "from_name": "tag", "value": {"choices": ["a", "b"]}}]
    other = [{"type": "choices", "from_name": "tag", "value": {"choices": ["c"]}}]
    results = [{"completed_by": {"email": name}, "result": result} for name, result in (("x", choices), ("y", other))]
    tasks = [{"data": {"id": 1}, "annotations": results}]
    short = [{"id": 1, "tag": {"choices": ["a"]}, "annotator": 3}, {"id": 2, "tag": "b"}]
    return [json.dumps(tasks).encode(), json.dumps(short).encode()]


def _answer_file(path: Path) -> None:
    parse_answers(read_answer_file(AnswerOptions(path, answers_row="id")))


def _doccano_seeds(_: Path) -> list[bytes]:
    lines = json_lines(
        {"id": 1, "text": "x", "label": ["a", "b"], "Comments": []},
        {"id": 2, "text": "y", "label": []},
        {"doc_id": 3, "id": 3.0, "labels": ["b"], "username": "Eve"},
        {"id": 4, "label": [7], "meta": {"n": 1}},
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Ann.jsonl", lines)
        archive.writestr("Bob.json", json.dumps([{"id": 1, "label": ["a"]}]))
    return [file.getvalue()]


def _store_seeds(folder: Path) -> list[bytes]:
    path = folder / "seed.jsonl"
    with Store(path, "x") as store:
        store.append(Record(Trial.from_settings("x", size=1, kind="a"), {"error": 0.5, "trace": [1, 2]}, seconds=0.1))
        store.append(Record(Trial.from_settings("x", size=2, kind="a"), None, "it failed", 0.2, "0.1"))
    return [path.read_bytes()]


def _store(path: Path) -> None:
    with Store(path, "x") as store, suppress(DataError):
        store.append(Record(Trial.from_settings("x", size=3, kind="b"), {"error": 1.0}))


def _rows() -> Iterator[tuple[Any, Any]]:
    X = np.random.default_rng(0).normal(size=(8, 3))
    yield X, [["a", "b"] if x[0] > 0 else ["c"] for x in X]


def _model_seeds(folder: Path) -> list[bytes]:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    [(X, y)] = _rows()
    sparse = oneof.LocalGlobalConsistency(n_neighbors=2).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), oneof.AvgPerceptron(average=True)).fit(X, y)
    files = []
    for model in (
        SavedModel(pipeline, ["a", "b", "c"], [("x", "number")], ["label"], "AvgPerceptron", {"rows": 8}),
        sparse,
        oneof.PLSVM(kernel="rbf", max_iter=20).fit(X, y),
    ):
        save(folder / "seed.skops", model)
        files.append((folder / "seed.skops").read_bytes())
    return files


def _model(path: Path) -> None:
    model = load(path)
    pipeline = model.pipeline if isinstance(model, SavedModel) else model
    [(X, y)] = _rows()
    # A changed model may raise any exception at its first use.
    with suppress(Exception):
        pipeline.predict(X)
    with suppress(Exception):
        pipeline[-1].partial_fit(X, y)


def _checkpoint_seeds(folder: Path) -> list[bytes]:
    (folder / "birds.csv").write_bytes(b"span,text,species\n" + b"3.1,a b,wren\n2.9,c,wren|owl\n1,b c,owl\n" * 4)
    checkpoints = CheckpointConfig(folder / "seed.npz", every_rows=3)
    fit_stream(folder / "birds.csv", _learner(), _STREAM, checkpoints=checkpoints)
    return [checkpoints.path.read_bytes()]


_STREAM = StreamOptions(labels=("species",), batch_rows=3, hash_bits=4)


def _learner() -> Any:
    return oneof.AvgPerceptron(average=True, fit_intercept=True)


def _checkpoint(path: Path) -> None:
    source = path.parent / "birds.csv"
    fit_stream(source, _learner(), _STREAM, checkpoints=CheckpointConfig(path, resume=True))


def _given(*files: bytes) -> Callable[[Path], list[bytes]]:
    return lambda _: list(files)


TARGETS = {
    "table.csv": Target(_table, _given(*_CSV), "a.csv"),
    "table.tsv": Target(_table, _given(*(file.replace(b",", b"\t") for file in _CSV)), "a.tsv"),
    "table.jsonl": Target(_table, _given(*_OBJECTS), "a.jsonl"),
    "table.parquet": Target(_table, _frames("write_parquet"), "a.parquet", is_decoded_first=True),
    "table.npz": Target(_table, _arrays(sparse_too=False), "a.npz", ZIP),
    "table.csv.gz": Target(_table, _given(*map(gzip.compress, _CSV)), "a.csv.gz", GZIP),
    "table.xlsx": Target(_table, _sheets(".xlsx"), "a.xlsx", ZIP, requires="fastexcel"),
    "table.ods": Target(_table, _sheets(".ods"), "a.ods", ZIP, requires="fastexcel"),
    "sparse table.npz": Target(_table, _arrays(dense_too=False), "a.npz", ZIP),
    "answers.npz": Target(read_answers_npz, _arrays(dense_too=False), "a.npz", ZIP),
    "stream.csv": Target(_stream, _given(*_CSV), "a.csv"),
    "stream.csv.gz": Target(_stream, _given(*map(gzip.compress, _CSV)), "a.csv.gz", GZIP),
    "stream.jsonl": Target(_stream, _given(*_OBJECTS), "a.jsonl"),
    "stream.svmlight": Target(_stream, _given(*_PAIRS), "a.svmlight"),
    "stream.parquet": Target(_stream, _frames("write_parquet"), "a.parquet", is_decoded_first=True),
    "stream.arrow": Target(_stream, _frames("write_ipc"), "a.arrow", is_decoded_first=True),
    "data set.npz": Target(_dataset, _arrays(), "a.npz", ZIP),
    "data set.mat": Target(_mat, _mat_seeds, "a.mat", is_decoded_first=True),
    "answers.sqlite": Target(_answers, _answer_seeds, "a.sqlite"),
    "label studio.json": Target(_answer_file, _studio_seeds, "a.json"),
    "doccano.zip": Target(_answer_file, _doccano_seeds, "a.zip", ZIP),
    "store.jsonl": Target(_store, _store_seeds, "a.jsonl", RECORDS),
    "checkpoint.npz": Target(_checkpoint, _checkpoint_seeds, "a.npz", ZIP),
    "model.skops": Target(_model, _model_seeds, "a.skops", ZIP),
}
