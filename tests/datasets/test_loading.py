import numpy as np
import pytest

import oneof
from oneof.datasets import dataset_info, list_datasets, load
from oneof.datasets.registry import KNOWN, OPENML
from oneof.errors import DataError

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


def test_list_datasets_has_exactly_the_loadable_sets(tmp_path):
    """Bundled sets, sets at OpenML and readable files are listed; damaged files and manual downloads are not."""
    put(tmp_path, "mine", 1.0)
    put(tmp_path, "lost", 1.0)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    listed = list_datasets(tmp_path)
    assert listed == sorted({"mine", "lost", *BUNDLED, *OPENML})
    assert oneof.datasets.list_datasets() == sorted({*BUNDLED, *OPENML})


def test_dataset_info_has_the_source_of_each_set(tmp_path, cache):
    put(tmp_path, "mine", 1.0)
    put(cache, "glass", 1.0)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    infos = {info.name: info for info in dataset_info(tmp_path)}
    assert list(infos) == sorted({"mine", "broken", *KNOWN})
    sources = {name: (info.source, info.available) for name, info in infos.items()}
    assert sources["mine"] == ("file", True)
    assert sources["glass"] == ("cache", True)
    assert sources["iris"] == ("scikit-learn", True)
    assert sources["letter"] == ("OpenML", False)
    assert sources["lost"] == ("elsewhere", False)
    assert sources["broken"] == ("file", False)
    assert "damaged" in infos["broken"].note
    assert infos["mine"].path == tmp_path / "mine.npz"
    assert infos["letter"].n_samples == 20000


ARRAYS = {"X": np.zeros((2, 1)), "text": np.zeros(0, np.uint8), "y": [0, 1], "classes": ["a", "b"]}


@pytest.mark.parametrize("absent", [("y",), ("X", "text"), ("y", "X", "text")], ids=str)
def test_an_archive_without_labels_or_rows_is_not_a_data_set(tmp_path, absent):
    """Stored folds, for example, are skipped by the list, and `load` gives the reason in one sentence."""
    np.savez(tmp_path / "folds.npz", folds=[0, 1], **{key: ARRAYS[key] for key in ARRAYS if key not in absent})
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
