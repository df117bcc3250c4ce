"""Files that are not models, and malicious files, are errors, and their code is not executed."""

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
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, OneClassSVM
from sklearn.svm._base import BaseLibSVM
from skops.io._audit import NODE_TYPE_MAPPING

import oneof
from oneof import persistence
from oneof.errors import InputTypeError, ModelFileError
from oneof.persistence import load, save
from oneof.persistence.loaded_arrays import walk_objects

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
    """An object whose pickle creates a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path(MARKER),))


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Assert that a test has not created the file that executed code would create."""
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
    """Return files that are not models of oneof, by their kind."""
    trapped, of_others, arrays, archive = (io.BytesIO() for _ in range(4))
    joblib.dump(Trap(), trapped)
    np.savez(arrays, X=np.eye(2))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "hello")
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
def test_other_files_are_errors(kind: str) -> None:
    """The error is one sentence that names the file and what it is."""
    Path("m.skops").write_bytes(foreign_files()[kind])
    with pytest.raises(ModelFileError, match=r"^m\.skops [^\n]*\.$") as caught:
        load("m.skops")
    causes = {"pickle": "pickles are never opened", "zip": "zip file", "skops of another": "not a model of oneof"}
    assert all(cause in str(caught.value) for start, cause in causes.items() if kind.startswith(start))


def test_folders_and_absent_files_are_errors() -> None:
    for name, message in ((".", "cannot be read: Is a directory"), ("none.skops", "does not exist")):
        with pytest.raises(ModelFileError, match=message):
            load(name)


@pytest.mark.parametrize("loader", LOADERS)
def test_no_type_of_node_calls_a_function(loader: str) -> None:
    """A file is rejected if a node of any type of skops, with any content, refers to a function."""
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


def test_untrusted_types_are_named() -> None:
    """A function in a pipeline, and an index of neighbors, which no code checks, are errors that name the type."""
    for model, named in (
        (make_pipeline(FunctionTransformer(Path.touch), LogisticRegression()), "touch"),
        (KNeighborsClassifier(1, algorithm="kd_tree"), r"KDTree"),
    ):
        fitted = model.fit([[0.0], [1.0]], [0, 1]) if isinstance(model, KNeighborsClassifier) else model
        content = {"format": persistence.FORMAT, "format_version": persistence.FORMAT_VERSION, "estimator": fitted}
        skops.io.dump(content, "m.skops")
        with pytest.raises(ModelFileError, match=rf"contains types that oneof does not trust: .*{named}"):
            load("m.skops")


def test_a_decompression_bomb_is_an_error() -> None:
    """A file of a few kB that declares gigabytes in any member is not decompressed."""
    save("m.skops", a_model())
    data = Path("m.skops").read_bytes()
    for part in ("schema.json", next(name for name in parts_of(Path("m.skops")) if name.endswith(".npy"))):
        entry = data.rindex(b"PK\x01\x02", 0, data.rindex(part.encode()))
        Path("m.skops").write_bytes(data[: entry + 24] + struct.pack("<I", 2**32 - 2) + data[entry + 28 :])
        with pytest.raises(ModelFileError, match=r"times the size of the file"):
            load("m.skops")


def test_each_reference_to_a_member_is_counted() -> None:
    """Each reference to an array is read again, so a small file could fill the memory with one member."""
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


def test_a_model_of_zeros_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with too high a compression ratio is saved uncompressed."""
    model = a_model()
    model.coef_ = np.zeros((2, 2**18))
    monkeypatch.setattr(oneof.archives, "MAX_BYTES", 2**20)
    save("m.skops", model)
    assert Path("m.skops").stat().st_size > model.coef_.nbytes
    assert load("m.skops").coef_.shape == model.coef_.shape


def test_arrays_with_wrong_headers_are_errors() -> None:
    """A header that declares a terabyte, and text with invalid code points."""
    save("m.skops", a_model())
    parts = parts_of(Path("m.skops"))
    name = next(name for name in parts if name.endswith(".npy"))
    header, letters = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**37,)})
    np.save(letters, np.full(2, 2**31, dtype=np.uint32).view("<U1"))
    for content, message in (
        (header, "does not have the size that its header declares"),
        (letters, "invalid code points"),
    ):
        write(Path("m.skops"), parts | {name: content.getvalue()})
        with pytest.raises(ModelFileError, match=message):
            load("m.skops")


def test_random_generators_are_neither_saved_nor_loaded() -> None:
    """Random generators are rejected, since their seeds determine the memory and time to build them."""
    model = a_model()
    model.generator_ = np.random.default_rng(0)
    with pytest.raises(InputTypeError, match=r"numpy\.random\.Generator"):
        save("m.skops", model)
    content = {"format": persistence.FORMAT, "format_version": persistence.FORMAT_VERSION, "estimator": model}
    skops.io.dump(content, "m.skops")
    with pytest.raises(ModelFileError, match=r"numpy\.random\.Generator"):
        load("m.skops")


def svm_model(where: str) -> Any:
    """Return a fitted model with a support vector machine in it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
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
def test_an_svm_with_inconsistent_arrays_is_an_error(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise libsvm would read past the end of any array that is too short, at any depth of the model."""
    model = svm_model(where)
    save("m.skops", model)
    load("m.skops")
    svm = next(part for part in walk_objects(model) if isinstance(part, BaseLibSVM) and hasattr(part, "support_"))
    original = dict(vars(svm))
    forged = {
        "_n_support": np.array([10**7, *[0] * (len(svm._n_support) - 1)], dtype=np.int32),
        "_dual_coef_": svm._dual_coef_[:, :-1],
        "_intercept_": np.zeros(0),
        "support_": svm.support_[:-1] if svm.kernel != "precomputed" else svm.support_ + 30,
        "support_vectors_": svm.support_vectors_[:-1],
        "_probA": np.zeros(2),
    }
    for name, value in forged.items():
        if (name == "_n_support" and where == "of one class") or (name == "support_vectors_" and value.shape == (0, 0)):
            continue  # not used by libsvm in this case
        svm.__dict__[name] = value
        with pytest.raises(InputTypeError, match="cannot be saved: the arrays of a support vector machine"):
            save("m.skops", model)
        with monkeypatch.context() as unchecked:
            unchecked.setattr(persistence, "inconsistent_part", lambda _: "")
            save("m.skops", model)
        svm.__dict__.update(original)
        with pytest.raises(ModelFileError, match=r"^m\.skops is damaged: the arrays of a support vector machine"):
            load("m.skops")


def tree_model(kind: str) -> Any:
    """Return a fitted model with trees of several nodes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    models = {
        "boosting": HistGradientBoostingClassifier(max_iter=2, early_stopping=False),
        "forest": RandomForestClassifier(2, random_state=0),
        "gradient boosting": GradientBoostingClassifier(n_estimators=2),
    }
    return oneof.CandidateEM(models[kind], random_state=0).fit(X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0))


FORGED_NODES = {
    "a feature that X does not have": ("feature", 2),
    "a child after the last node": ("left", 10**6),
    "a child that is its parent": ("right", 0),
    "a child before the first node": ("left", -2),
}


@pytest.mark.parametrize("kind", ["boosting", "forest", "gradient boosting"])
@pytest.mark.parametrize("forged", FORGED_NODES)
def test_a_tree_with_inconsistent_nodes_is_an_error(kind: str, forged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise compiled code would read outside the arrays, or follow a path without end."""
    model = tree_model(kind)
    save("m.skops", model)
    load("m.skops")
    field, value = FORGED_NODES[forged]
    if kind == "boosting":
        nodes = model.estimator_._predictors[0][0].nodes
        nodes[{"feature": "feature_idx"}.get(field, field)][0] = np.array(value).astype(np.int64)
    else:
        tree = np.ravel(model.estimator_.estimators_)[0].tree_
        {"feature": tree.feature, "left": tree.children_left, "right": tree.children_right}[field][0] = value
    with pytest.raises(InputTypeError, match="cannot be saved"):
        save("m.skops", model)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(persistence, "inconsistent_part", lambda _: "")
        save("m.skops", model)
    with pytest.raises(ModelFileError, match=r"^m\.skops is damaged: the nodes of a decision tree are inconsistent"):
        load("m.skops")


def test_a_tree_of_fewer_features_than_its_forest_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged number of features would let rows that are too short pass the check of X."""
    for kind in ("boosting", "gradient boosting"):
        model = tree_model(kind)
        model.estimator_.n_features_in_ = 1
        with monkeypatch.context() as unchecked:
            unchecked.setattr(persistence, "inconsistent_part", lambda _: "")
            save("m.skops", model)
        with pytest.raises(ModelFileError, match="decision tree"):
            load("m.skops")


def test_opening_a_model_does_not_import_torch() -> None:
    """Opening a model imports neither torch nor dask; scikit-learn's helpers for both are hidden only meanwhile."""
    code = (
        "import sys; from oneof.persistence.archive import import_skops; import_skops()\n"
        "print([name for name in ('torch', 'dask') if name in sys.modules], [n for n, m in sys.modules.items() "
        "if m is None and n.startswith('sklearn')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"
