"""Graph methods: definitions and common behavior."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from oneof import HarmonicField, LocalGlobalConsistency, MarkovWalk, PoissonLearning, SpectralGraphTransducer
from oneof.graphs import NeighborGraph
from tests.estimators.panel import few_labels, table
from tests.oracles import diffusion as oracle
from tests.oracles import transducer as transducer_oracle
from tests.oracles.graphs import directed
from tests.solvers.diffusion.problems import balance_mass

METHODS = {
    "clamped": HarmonicField(),
    "soft": HarmonicField(0.5, 0.1),
    "consistency": LocalGlobalConsistency(),
    "walk": MarkovWalk(),
    "poisson": PoissonLearning(),
    "cuts": PoissonLearning(True),
    "transducer": SpectralGraphTransducer(affinity="gaussian", n_neighbors=5, symmetrize="union"),
}
each_method = pytest.mark.parametrize("estimator", METHODS.values(), ids=METHODS)


def rows_and_sets(n=80, fraction=0.25):
    """Return rows of three clusters, exact labels on some, and their graph as a dense array."""
    X, mask = table(n)
    full = np.random.default_rng(5).random(n) > fraction
    full[:3] = False
    labels = np.where(mask[:, 0], 0, np.where(mask[:, 1], 1, 2))
    exact = np.eye(3, dtype=bool)[labels]
    exact[full] = True
    return X, exact, NeighborGraph(n_neighbors=7).graph(X).affinity.toarray()


def test_harmonic_field_is_that_of_the_paper():
    """Distributions are L_UU^-1 W_UL Y_L, and labels those after class mass."""
    X, mask, W = rows_and_sets()
    exact = ~mask.all(axis=1)
    model = HarmonicField(n_neighbors=7, class_prior=None).fit(X, mask)
    F = oracle.harmonic(W, exact, mask)
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-9)
    balanced = balance_mass(F, mask)
    np.testing.assert_array_equal(model.transduction_, balanced.argmax(axis=1))
    np.testing.assert_array_equal(model.affinity_.toarray(), W)
    reference = HarmonicField(n_neighbors=7, class_mass=False, class_prior=None).fit(X, mask)
    np.testing.assert_array_equal(reference.transduction_, F.argmax(axis=1))
    labels, confidence = model.disambiguate()
    np.testing.assert_array_equal(labels, model.transduction_)
    np.testing.assert_allclose(confidence, balanced.max(axis=1), atol=1e-9)


@each_method
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix], ids=["dense", "array", "matrix"])
def test_a_precomputed_affinity_defines_the_graph(estimator, form):
    """A precomputed affinity, or a function that returns it, gives the same model as the parameters."""
    X, mask, W = rows_and_sets()
    built = clone(estimator).set_params(n_neighbors=7).fit(X, mask)
    for affinity in (form(W), lambda _: form(W)):
        precomputed = clone(estimator).set_params(affinity=affinity).fit(X, mask)
        np.testing.assert_allclose(precomputed.label_distributions_, built.label_distributions_, atol=1e-12)
        assert np.isfinite(precomputed.predict_proba(X + 0.1)).all()


@each_method
def test_components_without_a_label_are_uniform_with_a_warning(estimator):
    """One warning has the number of rows that no label reaches; these are uniform, and no score is NaN."""
    X, mask, _ = rows_and_sets()
    far = np.vstack([X, X[:9] + 1e4])
    wide = np.vstack([mask, np.ones((9, 3), dtype=bool)])
    with pytest.warns(UserWarning, match="9 of 89 rows are in components of the graph without a label"):
        model = clone(estimator).fit(far, wide)
    np.testing.assert_allclose(model.label_distributions_[80:], 1 / 3)
    np.testing.assert_allclose(model.predict_proba(far[80:]), 1 / 3)
    assert np.isfinite(model.predict_proba(far)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide[80] = [True, False, False]
        clone(estimator).fit(far, wide)


@each_method
def test_new_rows_get_the_mean_of_their_neighbors(estimator):
    """The mean is weighted by the edges to the rows of fit; without rows within the radius it is uniform."""
    X, mask, _ = rows_and_sets()
    queries, _ = table(20, seed=1)
    model = clone(estimator).set_params(n_neighbors=7, class_prior=None if estimator is METHODS["walk"] else "labels")
    model.fit(X, mask)
    mean = NeighborGraph(n_neighbors=7).graph(X).transform(queries) @ model._final_distributions
    np.testing.assert_allclose(model.predict_proba(queries), mean / mean.sum(axis=1, keepdims=True), atol=1e-9)
    model = clone(estimator).set_params(radius=50.0).fit(X, mask)
    np.testing.assert_allclose(model.predict_proba(X[:1] + 1e4), 1 / 3)


@pytest.mark.parametrize("method", [HarmonicField, LocalGlobalConsistency, PoissonLearning])
def test_too_few_iterations_warn(method):
    """If max_iter is reached on a large graph, a warning names the parameters to raise."""
    X, mask = table(1500)
    mask[10:] = True
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        method(tol=1e-14, max_iter=2, n_neighbors=10).fit(X, mask)


def test_fit_is_the_published_method_on_a_cosine_graph():
    """The transduction of exact labels is z above the threshold, on A + A^T of the nearest rows by cosine."""
    X, labels = few_labels(60, 6, K=2)
    model = SpectralGraphTransducer(20, n_neighbors=15).fit(X, labels)
    A = directed(X, None, affinity="cosine", n_neighbors=15)
    np.testing.assert_allclose(model.affinity_.toarray(), A + A.T, atol=1e-12)
    z, threshold = transducer_oracle.scores(A + A.T, np.choose(labels + 1, [0, -1, 1]), 20, 3200.0)
    np.testing.assert_array_equal(model.transduction_[labels < 0], (z > threshold)[labels < 0])
    np.testing.assert_array_equal(model.transduction_[labels >= 0], labels[labels >= 0])
    assert model.n_iter_ == 1


def test_two_moons_are_separated_by_two_labels():
    """Labels follow the curved clusters, which a straight line would not separate."""
    X, y = make_moons(400, noise=0.05, random_state=0)
    labels = np.full(400, -1)
    labels[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = [0, 1]
    model = SpectralGraphTransducer(affinity="gaussian", n_neighbors=10).fit(X, labels)
    assert (model.transduction_ == y).mean() > 0.98
    assert model.score(X, y) > 0.98
