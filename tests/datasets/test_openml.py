import hashlib
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from oneof.datasets import dataset_info, load
from oneof.datasets.registry import OPENML
from oneof.errors import DataError


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


def test_codes_of_nominal_columns_become_their_numbers(serve):
    """OpenML declares the gray values of mfeat-pixel as nominal; the order of the names must not matter."""
    sent = bunch_of("mfeat_pixel")
    truth = sent.data % 7
    declared = {f"V{j}": [str(v) for v in np.roll(np.arange(7), j)] for j in range(240)}
    codes = np.column_stack([(truth[:, j] + j) % 7 for j in range(240)])
    serve(Bunch(**(sent | {"data": codes, "categories": declared})))
    data = load("mfeat_pixel")
    np.testing.assert_array_equal(data.X, truth)
    assert data.X.dtype == np.uint8


def test_missing_values_remain_missing(serve):
    sent = bunch_of("dermatology")
    sent.data[3, 33] = sent.data[4, 0] = np.nan
    sent.categories["V0"] = [str(k) for k in range(9)]
    serve(sent)
    X = load("dermatology").X
    np.testing.assert_array_equal(np.argwhere(np.isnan(X)), [[3, 33], [4, 0]])


def test_a_first_column_that_is_not_a_feature_is_dropped(serve):
    """The sex of abalone is a nominal column of strings."""
    sent = bunch_of("abalone", columns=8)
    sent.categories["V0"] = ["M", "F", "I"]
    serve(sent)
    np.testing.assert_array_equal(load("abalone").X, sent.data[:, 1:])


def test_pixels_that_do_not_fit_a_byte_are_rejected(serve):
    sent = bunch_of("mfeat_pixel")
    sent.data[0, 0] = 0.5
    serve(sent)
    with pytest.raises(DataError, match="do not fit the type uint8"):
        load("mfeat_pixel")


def test_an_unwritable_cache_gives_a_warning_and_the_data(serve, cache):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    serve(bunch_of("ecoli"))
    with pytest.warns(UserWarning, match="could not be stored"):
        assert load("ecoli").X.shape == (336, 7)
