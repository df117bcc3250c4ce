"""Files that are offered as models and are none, or are made to harm: they are refused, and nothing of them runs."""

import io
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, OneClassSVM
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import DecisionTreeClassifier
from skops.io._audit import NODE_TYPE_MAPPING

import oneof
from oneof import persistence
from oneof.errors import InputTypeError, ModelFileError
from oneof.persistence import load, save
from oneof.persistence.machines import all_parts

MARKER = "it-ran"
LOADERS = sorted({loader for loader, _ in NODE_TYPE_MAPPING})
CALLS = [
    ("os", "system"),
    ("builtins", "exec"),
    ("posix", "system"),
    ("pathlib", "Path.touch"),
    ("functools", "partial"),
]


class Trap:
    """An object whose pickle makes a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path(MARKER),))


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whatever a test loads, the file that running it would make is never made."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path(MARKER).exists()


def a_model() -> Any:
    return oneof.CLPL().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, parts: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def foreign_files() -> dict[str, bytes]:
    """Return what is not a model of ours, by what it is."""
    trapped, of_others, arrays, archive = (io.BytesIO() for _ in range(4))
    joblib.dump(Trap(), trapped)
    np.savez(arrays, X=np.eye(2))
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a.txt", "hello")
    skops.io.dump(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), of_others)
    with_objects = io.BytesIO()
    np.savez(with_objects, X=np.array([Trap()], dtype=object), allow_pickle=True)
    return {
        "empty": b"",
        "text": b"span,species\n1,wren\n",
        "pickle": pickle.dumps(Trap()),
        "pickle of a model": pickle.dumps(a_model()),
        "joblib": trapped.getvalue(),
        "skops of another library": of_others.getvalue(),
        "zip": archive.getvalue(),
        "npz": arrays.getvalue(),
        "npz of objects": with_objects.getvalue(),
    }


@pytest.mark.parametrize("kind", foreign_files())
def test_what_is_no_model_is_refused(kind: str) -> None:
    """By one sentence, which names the file."""
    Path("m.skops").write_bytes(foreign_files()[kind])
    with pytest.raises(ModelFileError, match=r"^m\.skops [^\n]*\.$"):
        load("m.skops")


def test_a_folder_is_refused() -> None:
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        load(".")


@pytest.mark.parametrize("loader", LOADERS)
def test_no_kind_of_node_calls_anything(loader: str) -> None:
    """Whichever of skops' kinds of node names a function, with whatever content, the file is refused."""
    save("m.skops", a_model())
    parts = parts_of(Path("m.skops"))
    good = json.loads(parts["schema.json"])
    text = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(f"touch {MARKER}"),
    }
    several = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text]}
    for module, name in CALLS:
        node = {"__class__": name, "__module__": module, "__loader__": loader, "type": "json", "file": "schema.json"}
        node |= {"shape": several, "__reduce__": {"args": several}, "attrs": several, "__id__": 1}
        function = {"module_path": module, "function": name}
        contents = (
            text,
            several,
            [text],
            function,
            {"func": text, "obj": text, "args": several, "kwds": {}, "namespace": {}},
        )
        for content in contents:
            schema = json.loads(json.dumps(good))
            schema["content"]["estimator"]["content"]["content"]["classes_"] = node | {"content": content}
            write(Path("m.skops"), parts | {"schema.json": json.dumps(schema).encode()})
            with pytest.raises(ModelFileError):
                load("m.skops")


def test_what_skops_itself_does_not_trust_is_named() -> None:
    """A function in a pipeline, and trees, which compiled code follows without looking, are refused by name."""
    for model, named in (
        (make_pipeline(FunctionTransformer(Path.touch), LogisticRegression()), "touch"),
        (DecisionTreeClassifier(), r"sklearn\.tree\._tree\.Tree"),
    ):
        fitted = model.fit([[0.0], [1.0]], [0, 1]) if isinstance(model, DecisionTreeClassifier) else model
        content = {"format": persistence.FORMAT, "format_version": persistence.FORMAT_VERSION, "estimator": fitted}
        skops.io.dump(content, "m.skops")
        with pytest.raises(ModelFileError, match=rf"holds types that oneof does not trust: .*{named}"):
            load("m.skops")


def test_a_bomb_is_refused_before_it_unfolds() -> None:
    """A file of a few kB that says it holds gigabytes is refused by its size, whichever part says so."""
    save("m.skops", a_model())
    data = Path("m.skops").read_bytes()
    for part in ("schema.json", next(name for name in parts_of(Path("m.skops")) if name.endswith(".npy"))):
        entry = data.rindex(b"PK\x01\x02", 0, data.rindex(part.encode()))
        Path("m.skops").write_bytes(data[: entry + 24] + struct.pack("<I", 2**32 - 2) + data[entry + 28 :])
        with pytest.raises(ModelFileError, match=r"times the size of the file"):
            load("m.skops")


def test_a_part_that_is_named_often_is_counted_as_often() -> None:
    """Each mention of an array is read anew, so that a small file could fill the memory with one of its parts."""
    save("m.skops", a_model())
    parts = parts_of(Path("m.skops"))
    schema = json.loads(parts["schema.json"])
    node = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "big.npy",
    }
    content = io.BytesIO()
    np.save(content, np.zeros(2**17))
    schema["content"]["estimator"]["content"]["content"]["many_"] = {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": [node] * 2**11,
    }
    write(Path("m.skops"), parts | {"schema.json": json.dumps(schema).encode(), "big.npy": content.getvalue()})
    with pytest.raises(ModelFileError, match=r"times the size of the file"):
        load("m.skops")


def test_a_model_of_zeros_is_saved_so_that_it_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would unfold like a bomb is written as it is: every file that is written is read."""
    model = a_model()
    model.coef_ = np.zeros((2, 2**18))
    monkeypatch.setattr(oneof.files, "MAX_BYTES", 2**20)
    save("m.skops", model)
    assert Path("m.skops").stat().st_size > model.coef_.nbytes
    assert load("m.skops").coef_.shape == model.coef_.shape


def test_arrays_that_say_more_than_they_hold_are_refused() -> None:
    """A header that asks for a terabyte, and text that is none."""
    save("m.skops", a_model())
    parts = parts_of(Path("m.skops"))
    name = next(name for name in parts if name.endswith(".npy"))
    header, letters = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**37,)})
    np.save(letters, np.full(2, 2**31, dtype=np.uint32).view("<U1"))
    for content, said in ((header, "not as large as its header says"), (letters, "some letters are none")):
        write(Path("m.skops"), parts | {name: content.getvalue()})
        with pytest.raises(ModelFileError, match=said):
            load("m.skops")


def test_random_generators_are_neither_saved_nor_loaded() -> None:
    """Their seeds say how much memory and time it takes to make them."""
    model = a_model()
    model.generator_ = np.random.default_rng(0)
    with pytest.raises(InputTypeError, match=r"numpy\.random\.Generator"):
        save("m.skops", model)
    content = {"format": persistence.FORMAT, "format_version": persistence.FORMAT_VERSION, "estimator": model}
    skops.io.dump(content, "m.skops")
    with pytest.raises(ModelFileError, match=r"numpy\.random\.Generator"):
        load("m.skops")


def machine_model(where: str) -> Any:
    """Return a fitted model with a support vector machine in it."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), np.arange(30) % 3
    scaled = make_pipeline(StandardScaler(), SVC())
    models = {
        "bare": SVC(),
        "of sparse rows": SVC(),
        "of a kernel": SVC(kernel="precomputed"),
        "of one class": OneClassSVM(),
        "in a pipeline": scaled,
        "in PLECOC": oneof.PLECOC(code_length=2, random_state=0),
        "in a pipeline in PLECOC": oneof.PLECOC(scaled, code_length=2, random_state=0),
    }
    rows = {"of sparse rows": sp.csr_array(X), "of a kernel": X @ X.T}
    return models[where].fit(rows.get(where, X), y)


WHERE = ("bare", "of sparse rows", "of a kernel", "of one class", "in a pipeline", "in PLECOC")


@pytest.mark.parametrize("where", [*WHERE, "in a pipeline in PLECOC"])
def test_a_machine_whose_arrays_do_not_fit_together_is_refused(where: str) -> None:
    """Wherever in a model it is: libsvm would read past its arrays, whichever of them is short."""
    model = machine_model(where)
    save("m.skops", model)
    load("m.skops")
    machine = next(part for part in all_parts(model) if isinstance(part, BaseLibSVM) and hasattr(part, "support_"))
    whole = dict(vars(machine))
    forged = {
        "_n_support": np.array([10**7, *[0] * (len(machine._n_support) - 1)], dtype=np.int32),
        "_dual_coef_": machine._dual_coef_[:, :-1],
        "_intercept_": np.zeros(0),
        "support_": machine.support_[:-1] if machine.kernel != "precomputed" else machine.support_ + 30,
        "support_vectors_": machine.support_vectors_[:-1],
        "_probA": np.zeros(2),
    }
    for name, value in forged.items():
        if (name == "_n_support" and where == "of one class") or (name == "support_vectors_" and value.shape == (0, 0)):
            continue  # which libsvm does not look at there
        machine.__dict__[name] = value
        save("m.skops", model)
        machine.__dict__.update(whole)
        with pytest.raises(ModelFileError, match=r"^m\.skops is damaged: the arrays of a support vector machine"):
            load("m.skops")


def test_opening_a_model_does_not_import_torch() -> None:
    """Nor dask: skops walks through scikit-learn, whose helpers for them are hidden only while it does."""
    code = (
        "import sys; from oneof.persistence.archive import import_skops; import_skops()\n"
        "print([name for name in ('torch', 'dask') if name in sys.modules], [n for n, m in sys.modules.items() "
        "if m is None and n.startswith('sklearn')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"
