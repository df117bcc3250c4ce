import hashlib
import struct
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat
from sklearn.utils import Bunch

from oneof import CandidateSets
from oneof.datasets import cache as cache_module
from oneof.datasets import dataset_info, list_datasets, load, load_mat
from oneof.datasets.registry import KNOWN, OPENML
from oneof.errors import DataError, WriteError

BUNDLED = [name for name, info in KNOWN.items() if info.source == "scikit-learn"]


def put(folder, name, value):
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}.npz", X=np.full((2, 1), value), y=[0, 1], classes=["a", "b"])


def test_the_first_folder_with_the_set_is_used(tmp_path, monkeypatch, cache):
    """The folders are searched in order: data_home, $ONEOF_DATA, the cache, and scikit-learn last."""
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path / "named"))
    assert load("iris").X.shape == (150, 4)
    for folder, value in [(cache, 3.0), (tmp_path / "named", 2.0), (tmp_path / "given", 1.0)]:
        put(folder, "iris", value)
        assert load("iris", tmp_path / "given" if value == 1.0 else None).X[0, 0] == value


def test_a_relative_cache_root_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / ".cache" / "oneof", "mine", 4.0)
    assert load("mine").X[0, 0] == 4.0


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_neither_network_nor_folder(name):
    data = load(name)
    info = KNOWN[name]
    assert (*data.X.shape, len(data.classes)) == (info.n_samples, info.n_features, info.n_classes)
    assert data.candidates.is_exact.all()
    assert set(data.y.tolist()) == set(data.classes.tolist())


def test_the_error_for_an_unknown_name_has_a_remedy(tmp_path):
    with pytest.raises(DataError, match=r"no 'lettre\.npz' in .*did you mean 'letter'"):
        load("lettre", tmp_path)
    with pytest.raises(DataError, match=r"see oneof\.datasets\.list_datasets\(\)"):
        load("zzz")
    with pytest.raises(DataError, match=r"'lost' is not available.*load_mat.*ONEOF_DATA"):
        load("lost")
    with pytest.raises(DataError, match="not a folder"):
        load("iris", tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../iris", "", "a/b", ".hidden", "a b", "\0"])
def test_a_name_cannot_leave_the_folder(tmp_path, name):
    """A name is looked up among the names of the files, and never part of a path."""
    put(tmp_path / "data", "glass", 1.0)
    put(tmp_path, "iris", 2.0)
    with pytest.raises(DataError, match="there is no data set"):
        load(name, tmp_path / "data")


def test_the_list_has_the_loadable_sets_and_the_table_has_every_set_with_its_source(tmp_path, cache):
    """Bundled sets, sets at OpenML and readable files are listed; damaged files and manual downloads are not."""
    assert list_datasets() == sorted({*BUNDLED, *OPENML})
    put(tmp_path, "mine", 1.0)
    put(cache, "glass", 1.0)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    assert list_datasets(tmp_path) == sorted({"mine", *BUNDLED, *OPENML})
    infos = {info.name: info for info in dataset_info(tmp_path)}
    assert list(infos) == sorted({"mine", "broken", *KNOWN})
    sources = {
        "mine": ("file", True),
        "glass": ("cache", True),
        "iris": ("scikit-learn", True),
        "letter": ("OpenML", False),
        "lost": ("elsewhere", False),
        "broken": ("file", False),
    }
    assert {name: (infos[name].source, infos[name].available) for name in sources} == sources
    assert "damaged" in infos["broken"].note
    assert infos["mine"].path == tmp_path / "mine.npz"
    assert infos["letter"].n_samples == 20000
    put(tmp_path, "lost", 1.0)
    assert "lost" in list_datasets(tmp_path)


@pytest.mark.parametrize("absent", [("y",), ("X", "text"), ("y", "X", "text")], ids=str)
def test_an_archive_without_labels_or_rows_is_not_a_data_set(tmp_path, absent):
    """Stored folds, for example, are skipped by the list, and `load` gives the reason in one sentence."""
    save(tmp_path, components(**dict.fromkeys(absent)), "folds")
    assert "folds" not in list_datasets(tmp_path)
    assert "folds" not in {info.name for info in dataset_info(tmp_path)}
    reason = "the key 'y' is missing" if "y" in absent else "there is neither X .* nor text"
    with pytest.raises(DataError, match=rf"folds\.npz is not a data set in oneof's form: {reason}\.$"):
        load("folds", tmp_path)


def test_dataset_info_reads_headers_only(tmp_path):
    """An archive with unreadable rows is still described, since its rows are not read."""
    path = tmp_path / "mine.npz"
    X = np.random.default_rng(0).random((20000, 1))
    np.savez(path, X=X, y=np.zeros(len(X), int), classes=["a", "b"])
    path.write_bytes(path.read_bytes().replace(X[-50:].tobytes(), bytes(400)))
    assert next(info for info in dataset_info(tmp_path) if info.name == "mine").n_features == 1
    with pytest.raises(DataError, match="cannot be read"):
        load("mine", tmp_path)


# -- the public data sets ------------------------------------------------------------------------------------------

# Rows, features (None: raw text), classes and n_train, from the table of the data sets.
STATED = {
    "lost": (1122, 108, 16, None),
    "birdsong": (4998, 38, 13, None),
    "msrcv2": (1758, 48, 23, None),
    "letter": (20000, 16, 26, 16000),
    "mnist": (70000, 784, 10, 60000),
    "news20": (18846, 32443, 20, 11314),
    "news20_raw": (18846, None, 20, 11314),
    "reuters21578": (12902, 11524, 10, 9603),
    "ssl_text": (1500, 11960, 2, None),
    "labelme_crowd": (2688, 512, 8, 1000),
    "bluebirds_crowd": (108, 0, 2, None),
    "abalone": (4177, 7, 29, None),
}


def test_every_public_set_loads_and_matches_its_headers(data_folder, public_name):
    data = load(public_name, data_folder)
    info = next(info for info in dataset_info(data_folder) if info.name == public_name)
    n_features = None if data.X is None else data.X.shape[1]
    assert (len(data.y), n_features, len(data.classes)) == (info.n_samples, info.n_features, info.n_classes)
    assert data.candidates.shape == (len(data.y), len(data.classes))
    assert public_name not in STATED or STATED[public_name] == (
        len(data.y),
        n_features,
        len(data.classes),
        data.n_train,
    )


def test_public_sets_agree_with_the_registry(data_folder):
    """Sizes and class counts of the registry equal the originals, except for satimage, which lacks 5 rows at OpenML."""
    for name, entry in OPENML.items():
        data = load(name, data_folder)
        counts = np.unique(data.y, return_counts=True)[1]
        if name == "satimage":
            assert entry.size[0] == len(data.y) - 5 == sum(entry.class_counts)
            assert (np.sort(counts) - entry.class_counts).tolist() == [1, 0, 0, 2, 0, 2]
            continue
        assert (*data.X.shape, len(counts)) == tuple(entry.size)
        assert data.X.dtype == entry.dtype
        assert np.sort(counts).tolist() == entry.class_counts
        n_train = sum(entry.train_counts)
        assert data.n_train == (n_train or None)
        assert not n_train or np.sort(np.unique(data.y[:n_train], return_counts=True)[1]).tolist() == entry.train_counts


@pytest.mark.parametrize(("name", "mean_size"), [("lost", 2.23), ("birdsong", 2.18), ("msrcv2", 3.16)])
def test_real_candidate_sets_contain_the_truth_and_have_the_stated_size(data_folder, name, mean_size):
    data = load(name, data_folder)
    codes = np.searchsorted(np.sort(data.classes), data.y)
    column = np.argsort(data.classes)[codes]
    assert data.candidates.mask[np.arange(len(column)), column].all()
    assert round(data.candidates.sizes.mean(), 2) == mean_size


def test_unknown_topics_are_unlabeled_and_the_label_matrix_has_all_topics(data_folder):
    data = load("reuters21578", data_folder)
    unknown = np.array([label is None for label in data.y])
    assert unknown.sum() == 5227
    np.testing.assert_array_equal(data.candidates.is_unlabeled, unknown)
    # A labeled row has its topic in the matrix too.
    assert (data.Y.astype(bool) & data.candidates.mask)[~unknown].any(axis=1).all()


# -- files of arrays -------------------------------------------------------------------------------------------------


MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)


def components(**changes):
    """Return the arrays of four rows and three classes with every component; None removes a component."""
    text = [b"one", "zw\u00f6lf".encode(), b"", b"four"]
    arrays = {
        "X": np.arange(8, dtype=np.float32).reshape(4, 2),
        "y": np.array([0, 1, -1, 2]),
        "classes": np.array(["a", "b", "c"]),
        "candidates": np.packbits(MASK, axis=1),
        "n_train": np.asarray(3),
        "splits_labeled2": np.array([[0, 1], [1, 3]], dtype=np.int32),
        "splits_labeled1": np.array([[0], [1], [3]]),
        "answers": np.array([[0, -1], [1, 1]], dtype=np.int8),
        "Y_top3": MASK.astype(np.uint8),
        "text": np.frombuffer(b"".join(text), dtype=np.uint8),
        "text_offsets": np.cumsum([0, *map(len, text)]),
        "features": np.array(["not", "ours"]),
    }
    return {key: array for key, array in (arrays | changes).items() if array is not None}


def csr_components(**changes):
    X = sp.csr_array(components()["X"])
    shape = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": np.array(X.shape)}
    return components(X=None, **(shape | changes))


def save(folder, arrays, name="small"):
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    return folder / f"{name}.npz"


def test_every_component_is_read_back(tmp_path):
    save(tmp_path, components())
    data = load("small", tmp_path)
    assert data.name == "small"
    np.testing.assert_array_equal(data.X, components()["X"])
    assert data.y.tolist() == ["a", "b", None, "c"]
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.candidates == CandidateSets(MASK, ["a", "b", "c"])
    assert data.n_train == 3
    assert list(data.splits) == [1, 2]
    assert data.splits[2].tolist() == [[0, 1], [1, 3]]
    assert data.annotations.tolist() == [[0, -1], [1, 1]]
    np.testing.assert_array_equal(data.Y, MASK)
    assert data.text.tolist() == ["one", "zw\u00f6lf", "", "four"]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["9", "10", "-2"], [9, 10, -2]),
        (["9", "10", "b"], ["9", "10", "b"]),
        (["1", "01", "2"], ["1", "01", "2"]),
        (["0", "-0", "1"], ["0", "-0", "1"]),
        (["-1", "0", "1"], ["-1", "0", "1"]),
        (["1", "2", "9" * 19], ["1", "2", "9" * 19]),
        (["1", "2", "\u0663"], ["1", "2", "\u0663"]),
        ([5, 7, 9], [5, 7, 9]),
    ],
)
def test_class_names_that_are_all_written_integers_are_integers(tmp_path, names, classes):
    """As text, 10 is sorted before 9; names of which one would change its spelling remain, with their type."""
    save(tmp_path, components(classes=np.array(names)))
    data = load("small", tmp_path)
    assert data.classes.tolist() == data.candidates.classes.tolist() == classes
    assert data.y.tolist() == [classes[0], classes[1], None, classes[2]]
    save(tmp_path, components(classes=np.array(names), y=np.array([2, 0, 1, 1])))
    assert load("small", tmp_path).y.dtype == data.classes.dtype


def test_sparse_rows_equal_dense_rows_and_raw_text_has_none(tmp_path):
    save(tmp_path, csr_components())
    X = load("small", tmp_path).X
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), components()["X"])
    save(tmp_path, components(X=None))
    assert load("small", tmp_path).X is None
    assert "raw text" in repr(load("small", tmp_path))


WEIGHTS = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.25, 1.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_replace_the_sets(tmp_path, dtype):
    save(tmp_path, components(candidates=None, weights=WEIGHTS.astype(dtype)))
    assert load("small", tmp_path).candidates == CandidateSets.from_weights(WEIGHTS, ["a", "b", "c"])


class Trap:
    """An object whose pickle creates a file."""

    def __reduce__(self):
        return Path("sprung").touch, ()


WRONG = {
    "no classes": (components(classes=None), "'classes' is missing"),
    "labels as floats": (components(y=np.zeros(4)), "y has shape"),
    "a matrix of labels": (components(y=np.zeros((4, 1), int)), "y has shape"),
    "a number for labels": (components(y=np.asarray(3)), "y has shape"),
    "labels of more rows": (components(y=np.zeros(5, int), candidates=None, text=None, Y_top3=None), "X has 4 rows"),
    "a code beyond the classes": (components(y=np.array([0, 1, 3, 0])), "row 2: y has the value 3, expected -1 to 2"),
    "a code below unknown": (components(y=np.array([0, -2, 1, 0])), "row 1: y has the value -2, expected -1 to 2"),
    "classes twice": (components(classes=np.array(["a", "b", "a"])), "'a' twice"),
    "no class": (components(classes=np.array([], dtype=str)), "`classes` must be"),
    "a vector for rows": (components(X=np.arange(4.0)), "X has shape"),
    "rows of text": (components(X=np.full((4, 2), "a")), "X has shape .* expected numbers"),
    "sets of other width": (components(candidates=np.zeros((4, 2), np.uint8)), "`candidates` must contain"),
    "sets not packed": (components(candidates=MASK), "`candidates` must contain"),
    "an empty set": (
        components(candidates=np.packbits(MASK & [[1], [1], [0], [1]], axis=1)),
        "row 2: the candidate set is empty",
    ),
    "training beyond the rows": (components(n_train=np.asarray(5)), "n_train has the value 5, expected 0 to 4"),
    "two training parts": (components(n_train=np.array([1, 2])), "n_train has shape"),
    "a split of other width": (components(splits_labeled2=np.zeros((2, 3), int)), "splits_labeled2 has shape"),
    "a split beyond the rows": (components(splits_labeled2=np.array([[0, 4]])), "value 4, expected 0 to 3"),
    "answers of more items": (components(answers=np.zeros((5, 2), int)), "at most 4 items"),
    "an answer beyond the classes": (components(answers=np.full((2, 2), 3)), "value 3, expected -1 to 2"),
    "a label matrix of other shape": (components(Y_top3=np.zeros((4, 2), int)), "Y_top3 has shape"),
    "a label matrix of counts": (components(Y_top3=np.full((4, 3), 2)), "value 2, expected 0 to 1"),
    "text without cuts": (components(text_offsets=None), "'text_offsets' is missing"),
    "cuts beyond the text": (components(text_offsets=np.array([0, 1, 2, 3, 99])), "`text_offsets` must increase"),
    "cuts that go back": (components(text_offsets=np.array([0, 5, 2, 8, 12])), "`text_offsets` must increase"),
    "text of numbers": (components(text=np.zeros(12)), "`text` must be the bytes"),
    "half a letter": (components(text_offsets=np.array([0, 6, 9, 9, 13])), "row 0: the text is not UTF-8"),
    "half a matrix": (csr_components(X_indptr=None), "only X_data, X_indices, X_shape"),
    "columns beyond the shape": (csr_components(X_shape=np.array([4, 1])), "do not fit together"),
    "fewer columns than values": (csr_components(X_indices=np.zeros(2, int)), "X_indices has shape"),
    "values of text": (csr_components(X_data=np.full(7, "a")), "X_data has shape"),
    "weights of fewer rows": (components(weights=WEIGHTS[:3]), r"expected floats of shape \(4, 3\)"),
    "weights of another type": (components(weights=WEIGHTS.astype(int)), "expected floats"),
    "negative weights": (components(weights=-WEIGHTS), "row 0, column 0: a weight must be"),
    "pickled labels": (components(y=np.array([Trap()] * 4, dtype=object)), "pickled objects, which are never loaded"),
}
FOREIGN = b"", b"not an archive", b"PK\x03\x04 nor this", b"\x93NUMPY\x01\x00", b"\x80\x04N."
WRONG |= {repr(content): (content, "cannot be read as a data set") for content in FOREIGN}
WRONG |= {
    f"the first {part:.1%}": (part, "cannot be read as a data set") for part in (0.0, 0.01, 0.3, 0.7, 0.95, 0.999)
}


@pytest.mark.parametrize("case", WRONG)
def test_files_that_are_not_data_sets_are_rejected_with_the_reason(tmp_path, monkeypatch, case):
    """The error is one sentence that names the file, and no pickle is executed."""
    monkeypatch.chdir(tmp_path)
    given, reason = WRONG[case]
    path = save(tmp_path, given if isinstance(given, dict) else components())
    if not isinstance(given, dict):
        content = path.read_bytes()
        path.write_bytes(given if isinstance(given, bytes) else content[: int(given * len(content))])
    with pytest.raises(DataError, match=reason) as caught:
        load("small", tmp_path)
    assert "small.npz" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Path("sprung").exists()


def test_a_changed_byte_is_detected(tmp_path):
    """A flipped byte in the compressed data of an array is always detected."""
    path = save(tmp_path, {key: components()[key] for key in ("y", "X", "classes")})
    content = bytearray(path.read_bytes())
    start = content.index(b"y.npy") + 30
    content[start : start + 8] = bytes(255 - byte for byte in content[start : start + 8])
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a data set"):
        load("small", tmp_path)


# -- downloads -------------------------------------------------------------------------------------------------------


def bunch_of(name, *, columns=None, order=None):
    """Return a bunch such as `fetch_openml` returns: floats, string labels, named columns."""
    entry = OPENML[name]
    counts = np.array(entry.class_counts)
    head = np.array(entry.train_counts or counts)
    codes = np.concatenate([np.repeat(np.arange(len(counts)), head), np.repeat(np.arange(len(counts)), counts - head)])
    if order is not None:
        codes = order(codes)
    columns = columns or entry.size[1]
    data = np.random.default_rng(0).integers(0, 9, size=(len(codes), columns)).astype(float)
    names = [f"V{j}" for j in range(columns)]
    target = np.array([f"{code + 1}" for code in codes], dtype=object)
    return Bunch(data=data, target=target, feature_names=names, target_names=["class"], categories={})


@pytest.fixture
def serve(monkeypatch):
    """Replace `fetch_openml` by a bunch or an error, and return the list of its calls."""

    def answer_with(answer):
        calls = []

        def fetch_openml(**arguments):
            calls.append(arguments)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
        return calls

    return answer_with


def test_a_download_is_cached_and_not_repeated(serve, cache):
    sent = bunch_of("ecoli")
    calls = serve(sent)
    first, again = load("ecoli"), load("ecoli")
    assert [call["data_id"] for call in calls] == [39]
    for data in (first, again):
        np.testing.assert_array_equal(data.X, sent.data)
        assert data.y.tolist() == sent.target.astype(int).tolist()
        assert data.candidates.is_exact.all()
    (path,) = cache.iterdir()
    assert path.name == f"ecoli.{hashlib.sha256(path.read_bytes()).hexdigest()}.npz"
    assert next(info for info in dataset_info() if info.name == "ecoli").source == "cache"


def wrong(name, **changes):
    return Bunch(**(bunch_of(name) | changes))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (bunch_of("ecoli", columns=8), "its shape is"),
        (wrong("ecoli", data=bunch_of("ecoli").data[:-1]), "its shape is"),
        (wrong("ecoli", target=np.roll(bunch_of("ecoli").target, 1)[:-1]), "class counts"),
        (wrong("ecoli", target=np.full(336, "1", object)), "class counts"),
        (wrong("ecoli", categories={"V0": ["a", "b"]}), "'V0' has text values"),
    ],
)
def test_a_download_that_differs_from_the_registry_is_not_stored(serve, cache, sent, reason):
    serve(sent)
    with pytest.raises(DataError, match=f"number 39 from OpenML is not the data set 'ecoli': .*{reason}"):
        load("ecoli")
    assert not cache.exists()


@pytest.mark.parametrize(
    "error",
    [URLError("no route to host"), TimeoutError("timed out"), ValueError("md5 checksum\ndoes not match"), KeyError()],
)
def test_the_error_of_a_failed_download_has_a_remedy(serve, cache, error):
    serve(error)
    with pytest.raises(DataError, match=r"Check the network.*ecoli\.npz.*\$ONEOF_DATA") as caught:
        load("ecoli")
    assert "\n" not in str(caught.value)
    assert not cache.exists()


def test_n_train_is_set_only_if_the_rows_are_in_the_official_order(serve, cache):
    serve(bunch_of("pendigits"))
    assert load("pendigits").n_train == 7494
    next(cache.iterdir()).unlink()
    serve(bunch_of("pendigits", order=np.sort))
    assert load("pendigits").n_train is None


def nominal_pixels():
    """OpenML declares the gray values of mfeat-pixel as nominal; the order of the names must not matter."""
    sent = bunch_of("mfeat_pixel")
    truth = sent.data % 7
    declared = {f"V{j}": [str(v) for v in np.roll(np.arange(7), j)] for j in range(240)}
    return wrong("mfeat_pixel", data=(truth + np.arange(240)) % 7, categories=declared), truth


def missing_values():
    sent = bunch_of("dermatology")
    sent.data[3, 33] = sent.data[4, 0] = np.nan
    return Bunch(**(sent | {"categories": {"V0": [str(k) for k in range(9)]}})), sent.data


def a_nominal_first_column():
    """Return abalone, whose sex is a nominal column of strings, and not a feature."""
    sent = bunch_of("abalone", columns=8)
    return Bunch(**(sent | {"categories": {"V0": ["M", "F", "I"]}})), sent.data[:, 1:]


@pytest.mark.parametrize(
    ("name", "make"),
    [("mfeat_pixel", nominal_pixels), ("dermatology", missing_values), ("abalone", a_nominal_first_column)],
)
def test_declared_columns_become_numbers(serve, name, make):
    sent, expected = make()
    serve(sent)
    X = load(name).X
    np.testing.assert_array_equal(X, expected)
    assert X.dtype == OPENML[name].dtype


def test_pixels_that_do_not_fit_a_byte_are_rejected(serve):
    serve(wrong("mfeat_pixel", data=bunch_of("mfeat_pixel").data + 0.5))
    with pytest.raises(DataError, match="do not fit the type uint8"):
        load("mfeat_pixel")


def test_an_unwritable_cache_gives_a_warning_and_the_data(serve, cache):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    serve(bunch_of("ecoli"))
    with pytest.warns(UserWarning, match="could not be stored"):
        assert load("ecoli").X.shape == (336, 7)


# -- MATLAB files ----------------------------------------------------------------------------------------------------


X = np.arange(12.0).reshape(4, 3)
SETS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]][:4])
TRUTH = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])


def write(path, level="5", **changes):
    matrices = {"data": X, "partial_target": SETS.T, "target": TRUTH.T} | changes
    savemat(path, {key: matrix for key, matrix in matrices.items() if matrix is not None}, format=level)
    return path


@pytest.mark.parametrize(
    ("form", "turn", "level"),
    [
        (form, turn, "45"[(i + j) % 2])  # all pairs of two of the three
        for i, form in enumerate([np.asarray, sp.csc_matrix, lambda a: sp.csc_matrix(a.astype(bool)), np.float64])
        for j, turn in enumerate([np.transpose, np.asarray])
    ],
)
def test_either_orientation_and_storage_gives_the_same_sets(tmp_path, form, turn, level):
    rows = sp.csc_matrix(X) if form is sp.csc_matrix else X
    path = write(tmp_path / "four.mat", level, data=rows, partial_target=form(turn(SETS)), target=form(turn(TRUTH)))
    data = load_mat(path)
    assert data.name == "four"
    assert data.classes.tolist() == [0, 1, 2]
    assert not sp.issparse(rows) or data.X.format == "csr"
    np.testing.assert_array_equal(data.X.toarray() if sp.issparse(data.X) else data.X, X)
    np.testing.assert_array_equal(data.candidates.mask, SETS.astype(bool))
    assert data.y.tolist() == [0, 1, None, 2]


@pytest.mark.parametrize("name", ["four", "four.mat"])
def test_load_names_the_function_for_matlab_files(tmp_path, name):
    """A MATLAB file in a data folder, or a name that ends as one, is read by load_mat."""
    write(tmp_path / "four.mat")
    with pytest.raises(DataError, match=rf"'{name}' is a MATLAB file. Read it by `oneof.datasets.load_mat"):
        load(name, data_home=tmp_path)


def test_a_square_matrix_is_read_as_classes_by_rows_with_a_warning(tmp_path):
    square = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
    path = write(tmp_path / "square.mat", data=X[:3], partial_target=square, target=np.eye(3))
    with pytest.warns(UserWarning, match=r"read as \(classes, rows\)"):
        data = load_mat(path)
    np.testing.assert_array_equal(data.candidates.mask, square.T.astype(bool))


@pytest.mark.parametrize(
    ("level", "changes", "reason"),
    [
        ("5", {"target": None}, r"lacks the matrix 'target'.* it has 'data', 'partial_target'\."),
        ("4", {"partial_target": None, "Y": SETS}, r"lacks the matrix 'partial_target'.* it has .*'Y'"),
        ("5", {"target": np.array([[1, 2, 3, 3]])}, r"target has shape \(1, 4\).*Numbers of classes, such as 1 to K"),
        ("5", {"partial_target": 2.0 * SETS.T - 1}, r"partial_target.*row 0.*0 and 1 only"),
        ("4", {"target": 2 * TRUTH.T - 1}, r"row 0: target has the value -1"),
        ("5", {"target": 2 * TRUTH.T - 1}, r"row 0: target has the value -1"),
    ],
)
def test_errors_of_other_forms_name_the_matrix_and_the_constructor(tmp_path, level, changes, reason):
    """A file of another form is an error that names the matrix at fault, and the expression that builds the sets."""
    if level == "4":
        changes = {key: None if matrix is None else np.asarray(matrix, float) for key, matrix in changes.items()}
        reason = reason.replace("-1", r"-1(\.0)?")
    with pytest.raises(DataError, match=reason + r".*CandidateSets\.from_indicator\(partial_target\.T == 1\)"):
        load_mat(write(tmp_path / "four.mat", level, **changes))


NEW = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + b"\0" * 384 + b"\x89HDF\r\n\x1a\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "does not exist"),
        (b"x, y\n1, 2\n" * 50, "cannot be read as a MATLAB file"),
        (NEW, r"version 7\.3.*'-v7'.*h5py.*CandidateSets\.from_indicator"),
        *((n_bytes, "cannot be read as a MATLAB file|lacks the matrix") for n_bytes in (0, 50, 140, 300)),
    ],
)
def test_other_files_are_rejected(tmp_path, content, reason):
    path = write(tmp_path / "four.mat")
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else path.read_bytes()[:content])
    with pytest.raises(DataError, match=reason):
        load_mat(path)


def test_indices_outside_a_sparse_matrix_of_level_4_are_rejected(tmp_path):
    path = write(tmp_path / "four.mat", "4", data=sp.csc_array(7.0 * np.eye(4)))
    content = path.read_bytes()
    offset = content.index(struct.pack("<d", 7.0)) - 8 * 6  # after the row indices, before the column indices
    assert struct.unpack_from("<d", content, offset) == (4.0,)
    path.write_bytes(content[:offset] + struct.pack("<d", 3.0) + content[offset + 8 :])
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_mat(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": None}, "lacks the matrix 'data'"),
        ({"partial_target": SETS.T[:, :3], "target": TRUTH.T[:, :3][:2].repeat(2, 0)[:3]}, "data has 4 rows"),
        ({"partial_target": (SETS * [[1], [0], [1], [1]]).T}, "row 1: the candidate set is empty"),
        ({"target": SETS.T}, "row 0 has 2 true labels"),
        ({"target": TRUTH.T * 0.5}, "row 0: target has the value 0.5"),
        ({"data": np.array([["a"], ["b"], ["c"], ["d"]], dtype=object)}, "expected numbers of shape"),
    ],
)
def test_mismatched_matrices_are_rejected_with_the_reason(tmp_path, changes, reason):
    with pytest.raises(DataError, match=rf"four\.mat.*{reason}"):
        load_mat(write(tmp_path / "four.mat", **changes))


# -- The cache of downloads: a reader finds no file or the complete one, and detects a change ------------------------


def _arrays(value):
    return {"X": np.full((2, 1), value), "y": np.array([0, 1]), "classes": np.array(["a", "b"])}


def _read():
    """Return the value of the data set, or None if there is none."""
    return load("birds").X[0, 0] if "birds" in cache_module.find_files(None) else None


@pytest.mark.parametrize("before", [None, 1.0])
def test_at_every_moment_the_cache_has_no_file_or_the_complete_one(cache, monkeypatch, before):
    """Before and after the renaming, also if another process stores the same download at the same time."""
    if before:
        cache_module.store("birds", _arrays(1.0))
    contents, replace = [_read()], Path.replace

    def watched(self, target):
        contents.append(_read())
        replace(self, target)
        contents.append(_read())

    monkeypatch.setattr(Path, "replace", watched)
    cache_module.store("birds", _arrays(1.0))
    assert contents == [before, before, 1.0]
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("before", [None, 1.0])
def test_a_kill_leaves_the_set_or_nothing(cache, monkeypatch, before):
    """The next call of `store` completes the work, and a later change of the file is still detected."""
    if before:
        cache_module.store("birds", _arrays(1.0))

    def killed(self, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            cache_module.store("birds", _arrays(1.0))
    assert _read() == before
    cache_module.store("birds", _arrays(1.0))
    assert _read() == 1.0
    np.savez(next(cache.iterdir()), **_arrays(3.0))
    with pytest.raises(DataError, match="was changed"):
        load("birds")


def test_a_file_of_the_user_needs_no_checksum(cache):
    """A file without a checksum in its name is not verified."""
    put(cache, "birds", 3.0)
    assert _read() == 3.0


def test_an_unwritable_cache_leaves_no_folder(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WriteError, match="No space left"):
        cache_module.store("birds", _arrays(1.0))
    assert not cache.parent.exists()


def test_a_stored_set_is_synced_before_it_is_renamed(cache, monkeypatch):
    synced = []
    monkeypatch.setattr("oneof.files.os.fsync", synced.append)
    cache_module.store("birds", _arrays(1.0))
    assert len(synced) == 1
