"""Files that are not models, and malicious files, are errors, and their code is not executed."""

import copy
import io
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
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
HEAD = {"format": persistence.FORMAT, "format_version": persistence.FORMAT_VERSION}
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


@pytest.fixture
def model() -> Any:
    """Return a fitted model, which is also saved in m.skops."""
    fitted = oneof.CLPL().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    save("m.skops", fitted)
    return fitted


def parts_of(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def change(change_schema: Callable[[dict[str, Any]], Any], more: dict[str, bytes] | None = None) -> None:
    """Change the description of the estimator in m.skops, and add or replace members."""
    parts = parts_of("m.skops") | (more or {})
    schema = json.loads(parts["schema.json"])
    change_schema(schema["content"]["estimator"])
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("m.skops", "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def rejected(sentence: str | None = None, path: str = "m.skops") -> None:
    with pytest.raises(ModelFileError, match=sentence):
        load(path)


def save_unchecked(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unchecked:
        unchecked.setattr(persistence, "inconsistent_part", lambda _: "")
        save("m.skops", model)


def refused(model: Any, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a model with an inconsistent part is neither saved nor loaded."""
    with pytest.raises(InputTypeError, match=f"cannot be saved: {sentence}"):
        save("m.skops", model)
    save_unchecked(model, monkeypatch)
    rejected(rf"^m\.skops is damaged: {sentence}")


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
        "pickle of a model": pickle.dumps(oneof.CLPL().fit([[0.0], [1.0]], ["a", "b"])),
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
    causes = {"pickle": "pickles are never opened", "zip": "zip file", "skops of another": "not a model of oneof"}
    cause = next((cause for start, cause in causes.items() if kind.startswith(start)), "")
    rejected(rf"^m\.skops [^\n]*{cause}[^\n]*\.$")


def test_folders_absent_and_truncated_files_are_errors(model: Any) -> None:
    rejected("cannot be read: Is a directory", ".")
    rejected("does not exist", "none.skops")
    data = Path("m.skops").read_bytes()
    for fraction in (0.0, 0.1, 0.5, 0.99):
        Path("m.skops").write_bytes(data[: int(fraction * len(data))])
        rejected(r"not a model file of oneof|damaged")


@pytest.mark.parametrize("loader", LOADERS)
def test_no_type_of_node_calls_a_function(loader: str, model: Any) -> None:
    """A file is rejected if a node of any type of skops, with any content, refers to a function."""
    command = json.dumps(f"touch {MARKER}")
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": command}
    several = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text]}
    for module, name in CALLS:
        node = {"__class__": name, "__module__": module, "__loader__": loader, "type": "json", "file": "schema.json"}
        node |= {"shape": several, "__reduce__": {"args": several}, "attrs": several, "__id__": 1}
        function = {"module_path": module, "function": name}
        called = {"func": text, "obj": text, "args": several, "kwds": {}, "namespace": {}}
        for content in (text, several, [text], function, called):
            forged = node | {"content": content}
            change(lambda estimator, forged=forged: estimator["content"]["content"].update(classes_=forged))
            rejected()


def test_untrusted_types_are_named() -> None:
    """A function in a pipeline, and an index of neighbors, which no code checks, are errors that name the type."""
    for untrusted, named in (
        (make_pipeline(FunctionTransformer(Path.touch), LogisticRegression()), "touch"),
        (KNeighborsClassifier(1, algorithm="kd_tree").fit([[0.0], [1.0]], [0, 1]), r"KDTree"),
    ):
        skops.io.dump(HEAD | {"estimator": untrusted}, "m.skops")
        rejected(rf"contains types that oneof does not trust: .*{named}")


def test_the_module_of_an_untrusted_type_is_not_imported(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("evil_module.py").write_text("open('it-ran', 'w').close()\nclass Evil: pass\n")
    change(lambda estimator: estimator.update(__class__="Evil", __module__="evil_module"))
    monkeypatch.syspath_prepend(Path.cwd())
    with pytest.raises(ModelFileError, match=r"does not trust: evil_module\.Evil"):
        load("m.skops")
    assert "evil_module" not in sys.modules


def test_sparse_rows_with_indices_out_of_bounds_are_errors(model: Any) -> None:
    """A valid sparse matrix is loaded; one with indices outside its shape is an error before it is used.

    One given by its attributes, which avoids the check of its indices, is not built.
    """
    model.kept_ = sp.csr_array(np.diag([1.0, 2.0, 3.0]))
    save("m.skops", model)
    assert (load("m.skops").kept_ != model.kept_).nnz == 0
    model.kept_.indices[1] = 1_000_000
    save("m.skops", model)
    rejected("damaged")
    model.kept_ = np.eye(2)
    save("m.skops", model)
    by_hand = {"__class__": "csr_array", "__module__": "scipy.sparse._csr"}
    change(lambda estimator: estimator["content"]["content"].update(kept_=copy.deepcopy(estimator) | by_hand))
    rejected("untrusted structure")


def test_a_decompression_bomb_is_an_error(model: Any) -> None:
    """A file of a few kB that declares gigabytes in any member is not decompressed."""
    data = Path("m.skops").read_bytes()
    for part in ("schema.json", next(name for name in parts_of("m.skops") if name.endswith(".npy"))):
        entry = data.rindex(b"PK\x01\x02", 0, data.rindex(part.encode()))
        Path("m.skops").write_bytes(data[: entry + 24] + struct.pack("<I", 2**32 - 2) + data[entry + 28 :])
        rejected(r"times the size of the file")


def test_each_reference_to_a_member_is_counted(model: Any) -> None:
    """Each reference to an array is read again, so a small file could fill the memory with one member."""
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    node |= {"content": [array | {"file": "big.npy"}] * 2**11}
    content = io.BytesIO()
    np.save(content, np.zeros(2**17))
    change(lambda estimator: estimator["content"]["content"].update(many_=node), {"big.npy": content.getvalue()})
    rejected(r"times the size of the file")


def test_a_model_of_zeros_can_be_loaded(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with too high a compression ratio is saved uncompressed."""
    model.coef_ = np.zeros((2, 2**18))
    monkeypatch.setattr(oneof.archives, "MAX_BYTES", 2**20)
    save("m.skops", model)
    assert Path("m.skops").stat().st_size > model.coef_.nbytes
    assert load("m.skops").coef_.shape == model.coef_.shape


def test_arrays_with_wrong_headers_are_errors(model: Any) -> None:
    """A header that declares a terabyte, and text with invalid code points."""
    name = next(name for name in parts_of("m.skops") if name.endswith(".npy"))
    header, letters = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**37,)})
    np.save(letters, np.full(2, 2**31, dtype=np.uint32).view("<U1"))
    for content, message in ((header, "not have the size that its header declares"), (letters, "invalid code points")):
        change(lambda _: None, {name: content.getvalue()})
        rejected(message)


def test_random_generators_are_neither_saved_nor_loaded(model: Any) -> None:
    """Random generators are rejected, since their seeds determine the memory and time to build them."""
    model.generator_ = np.random.default_rng(0)
    with pytest.raises(InputTypeError, match=r"numpy\.random\.Generator"):
        save("m.skops", model)
    skops.io.dump(HEAD | {"estimator": model}, "m.skops")
    rejected(r"numpy\.random\.Generator")


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
        refused(model, "the arrays of a support vector machine", monkeypatch)
        svm.__dict__.update(original)


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
    refused(model, "the nodes of a decision tree are inconsistent", monkeypatch)


@pytest.mark.parametrize("kind", ["boosting", "gradient boosting"])
def test_a_tree_of_fewer_features_than_its_forest_is_an_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged number of features would let rows that are too short pass the check of X."""
    model = tree_model(kind)
    model.estimator_.n_features_in_ = 1
    save_unchecked(model, monkeypatch)
    rejected("decision tree")


def test_opening_a_model_imports_no_optional_package() -> None:
    """Nor do the plots, before they draw, and fits over blocks, before they have any.

    The helpers of scikit-learn for torch and dask are hidden only meanwhile.
    """
    code = (
        "import sys, oneof.distributed, oneof.plots\n"
        "from oneof.persistence.archive import import_skops; import_skops()\n"
        "print([name for name in ('torch', 'dask', 'matplotlib') if name in sys.modules], "
        "[n for n, m in sys.modules.items() if m is None and n.startswith('sklearn')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"
