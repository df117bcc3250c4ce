"""LOORidge: what it keeps of the solver, its choices, its forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from oneof import CandidateSets, LOORidge
from oneof.errors import InputError
from oneof.estimators import loo_ridge
from oneof.kernels.feature_maps import MAPS
from oneof.kernels.radial import MappedKernel
from tests.estimators.panel import table
from tests.oracles import loo_ridge as oracle


def test_exact_labels_make_it_a_kernel_ridge_classifier():
    """Without partial rows the scores are those of ridge regression on the labels, and no scene is seen."""
    X, _ = table()
    labels = np.arange(60) % 3
    model = LOORidge("rbf", features="standard").fit(X, labels)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = np.eye(3)[labels]
    gram = rbf_kernel(Z, gamma=0.3 / 4)
    a = np.linalg.solve(gram + 0.05 * np.eye(60), P - P.mean(axis=0))
    np.testing.assert_allclose(model.decision_function(X), gram @ a + P.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(model.loo_scores_, oracle.left_out(gram, P, 0.05), atol=1e-8)
    assert model.distractor_exponent_ == 0
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.transduction_, labels)


def test_kernels_are_averaged():
    """Of all kernels that were tried each has a weight, and scores are the average of theirs with these weights."""
    X, mask = table(90)
    model = LOORidge().fit(X, mask)
    names = {f"{f}-{k}" for f in ("standard", "rank", "angle") for k in ("rbf", "laplacian")}
    assert set(model.kernel_weights_) == names
    weights = np.array(list(model.kernel_weights_.values()))
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    told = mask[~mask.all(axis=1)]
    exact = X[~mask.all(axis=1)], model.label_distributions_[~mask.all(axis=1)]
    expected = 0.0
    for name, weight in model.kernel_weights_.items():
        features, kernel = name.split("-")
        feature_map = MAPS[features].of(exact[0])
        radial = MappedKernel.of(feature_map, kernel, feature_map(exact[0]))
        gram, means = radial.gram(feature_map(exact[0])), exact[1].mean(axis=0)
        expected += weight * (gram @ np.linalg.solve(gram + 0.05 * np.eye(len(told)), exact[1] - means) + means)
    np.testing.assert_allclose(model.decision_function(exact[0]), expected, atol=1e-8)


def test_the_parts_of_the_accounts():
    """Parts sum to 1, that of the scenes is the exponent, and where the account is given there is one alone."""
    X, mask = table(120)
    model = LOORidge("rbf").fit(X, mask)
    assert sum(model.distractor_weights_.values()) == pytest.approx(1)
    assert model.distractor_exponent_ == model.distractor_weights_["scene"]
    assert set(model.distractor_z_scores_) == {"scene", "confusion"}
    for account in ("uniform", "scene", "confusion"):
        alone = LOORidge("rbf", distractors=account).fit(X, mask)
        assert alone.distractor_weights_[account] == 1
        assert alone.distractor_z_scores_ == {}


def test_predictions_of_a_row_of_fit_without_it():
    """The scores left out of a row are those of a model that keeps its label from it, the means of labels apart."""
    X, mask = table(60)
    mask = mask[~mask.all(axis=1)]
    X = X[: len(mask)]
    model = LOORidge(rbf_kernel).fit(X, mask)
    P = model.label_distributions_
    np.testing.assert_allclose(model.loo_scores_, oracle.left_out(rbf_kernel(X), P, 0.05), atol=1e-8)


def test_bounds():
    """Confidences and probabilities sum to 1; they and the exponent are from 0 to 1; exact rows keep their label."""
    X, mask = table(120)
    for options in ({}, {"distractors": "scene"}, {"distractors": "uniform"}, {"unlabeled": "class_mass"}):
        model = LOORidge("rbf", **options).fit(X, mask)
        for shares in (model.label_distributions_, model.predict_proba(X)):
            assert np.all((shares >= 0) & (shares <= 1))
            np.testing.assert_allclose(shares.sum(axis=1), 1)
        exact = mask.sum(axis=1) == 1
        np.testing.assert_array_equal(model.label_distributions_[exact], mask[exact])
        assert np.all(model.label_distributions_[~mask] == 0)
        assert 0 <= model.distractor_exponent_ <= 1
        assert np.all((model.label_changes_ >= 0) & (model.label_changes_ <= 1))
    scene, even = (LOORidge("rbf", distractors=account).fit(X, mask) for account in ("scene", "uniform"))
    assert np.abs(scene.label_distributions_ - even.label_distributions_).max() > 1e-3


def test_all_rows_as_landmarks_are_the_exact_form():
    """The Nystroem form of all rows is the exact one; above the limit of rows it is taken by itself."""
    X, mask = table(120)
    exact = LOORidge("rbf", approximation=None).fit(X, mask)
    landmarks = LOORidge("rbf", approximation="nystroem", n_components=500).fit(X, mask)
    np.testing.assert_allclose(landmarks.predict_proba(X), exact.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(landmarks.label_distributions_, exact.label_distributions_, atol=1e-5)


def test_many_rows_take_landmarks(monkeypatch):
    """Above the limit "auto" is the Nystroem form, which a seed makes reproducible; None is exact at any size."""
    monkeypatch.setattr(loo_ridge, "MOST_EXACT_ROWS", 50)
    X, mask = table(120)
    options = {"kernel": "rbf", "n_components": 10, "random_state": 3}
    auto = LOORidge(**options).fit(X, mask).predict_proba(X)
    np.testing.assert_array_equal(auto, LOORidge(**options, approximation="nystroem").fit(X, mask).predict_proba(X))
    assert np.abs(auto - LOORidge(**options, approximation=None).fit(X, mask).predict_proba(X)).max() > 1e-3


def test_a_precomputed_kernel_is_its_function():
    """The matrix of all pairs gives the model of the function that makes it, unlabeled rows included."""
    X, mask = table(80)
    gram = linear_kernel(X)
    before = gram.copy()
    given = LOORidge("precomputed", lam=1.0).fit(gram, mask)
    function = LOORidge(linear_kernel, lam=1.0).fit(X, mask)
    np.testing.assert_allclose(given.predict_proba(gram), function.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(gram, before)
    assert given._model.models[0].known.size == 0  # the kernel of other rows comes with them
    assert given.disambiguate().labels.tolist() == function.disambiguate().labels.tolist()
    with pytest.raises(InputError, match="square"):
        LOORidge("precomputed").fit(X, mask)


def test_kernels_are_weighed_on_labeled_rows(monkeypatch):
    """Where rows without a label join and landmarks stand for all, the rows that weigh the kernels have labels."""
    monkeypatch.setattr(loo_ridge, "MOST_WEIGHED_ROWS", 4)
    labels = [["a", "b"][i % 3 % 2] if i % 20 == 0 else None for i in range(100)]
    unlabeled = CandidateSets.from_labels(labels).is_unlabeled
    for seed in range(5):
        model = LOORidge(approximation="nystroem", n_components=20, random_state=seed)
        landmarks, weighed = model._drawn_rows(unlabeled)
        assert len(landmarks) == 20
        assert len(weighed) == 4
        assert not unlabeled[weighed].any()


def test_unlabeled_rows_join_where_asked():
    """With "class_mass" they get labels that teach; by default they have the probabilities of the others' model."""
    X, _ = table(150)
    labels = [["a", "b", "c"][i % 3] if i < 12 else None for i in range(150)]
    ignored = LOORidge("rbf").fit(X, labels)
    np.testing.assert_allclose(ignored.label_distributions_[12:], ignored.predict_proba(X[12:]), rtol=1e-9)
    joined = LOORidge("rbf", unlabeled="class_mass").fit(X, labels)
    assert joined.n_iter_ == 25
    assert ignored.n_iter_ == 0
    assert np.abs(joined.predict_proba(X) - ignored.predict_proba(X)).max() > 0.05


def test_decisions_on_the_rows_of_fit():
    """`disambiguate` gives what the rounds settled, and `transduction_` the same for rows with any label."""
    X, mask = table(120)
    model = LOORidge("rbf").fit(X, CandidateSets(mask, ["a", "b", "c"]))
    labels, confidence = model.disambiguate()
    np.testing.assert_array_equal(labels, model.transduction_)
    np.testing.assert_allclose(confidence, model.label_distributions_.max(axis=1))


def test_who_speaks_for_each_label():
    """Vouchers are other rows that taught, rivals other candidates; ignored rows have none, landmarks name none."""
    X, mask = table(90)
    model = LOORidge("rbf").fit(X, mask)
    ignored = mask.all(axis=1)
    assert np.all(model.influential_rows_[ignored] == -1)
    assert not np.isin(model.influential_rows_[~ignored], np.flatnonzero(ignored)).any()
    assert np.all(model.influential_rows_[~ignored] != np.flatnonzero(~ignored)[:, None])
    assert np.all(np.diff(model.influences_, axis=1) <= 0)
    assert np.all(model.runner_up_ != model.transduction_)
    several = (mask.sum(axis=1) > 1).nonzero()[0]
    assert mask[several, model.runner_up_[several]].all()
    assert model.set_params(approximation="nystroem").fit(X, mask).influential_rows_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "poly"}, "choose one of auto, rbf, laplacian, precomputed"),
        ({"features": "raw"}, "choose one of auto, standard"),
        ({"kernel": "laplacian", "features": "unit"}, "does not go with"),
        ({"distractors": "even"}, "distractors='even' is not possible"),
        ({"unlabeled": True}, "unlabeled=True is not possible"),
        ({"approximation": "svd"}, "approximation='svd' is not possible"),
        ({"kernel": "precomputed", "approximation": "nystroem"}, "taken as it is"),
        ({"lam": 0.0}, "lam=0.0 is not possible"),
        ({"max_iter": 0}, "max_iter=0 is not possible"),
        ({"n_components": 1.5}, "n_components=1.5 is not possible"),
        ({"kernel": lambda X, Y: -linear_kernel(X, Y)}, "no kernel is below 0"),
        ({"kernel": lambda X, Y: linear_kernel(X, Y) * np.nan}, "NaN or infinity"),
    ],
)
def test_refused_parameters(options, message):
    """What cannot be used is named, before anything is kept."""
    X, mask = table()
    model = LOORidge(**options)
    with pytest.raises(InputError, match=message):
        model.fit(X, mask)
    assert not hasattr(model, "classes_")


def test_what_would_not_fit_in_memory_is_refused(monkeypatch):
    """What a machine of 10 kB cannot hold is refused in one sentence that names the way out."""
    monkeypatch.setattr("oneof.validation.os.sysconf", lambda _: 100)
    X, mask = table(60)
    with pytest.raises(InputError, match='pass approximation="nystroem"'):
        LOORidge("rbf").fit(X, mask)
    with pytest.raises(InputError, match="name one kernel and one map"):
        LOORidge("rbf", approximation="nystroem", n_components=20).fit(X, mask)
    with pytest.raises(InputError, match="lower n_components"):
        LOORidge("rbf", features="standard", approximation="nystroem", n_components=20).fit(X, mask)
    wide = sp.csr_array((np.ones(10), (np.arange(10), np.arange(10))), shape=(10, 1000))
    with pytest.raises(InputError, match='pass features="unit"'):
        LOORidge("rbf", features="standard").fit(wide, np.arange(10) % 2)
