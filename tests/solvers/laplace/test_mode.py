"""The mode: a stationary point and a maximum of Psi, the book's where rows are exact, whatever the route to it."""

import numpy as np
import pytest

from oneof.likelihoods import masked_softmax, softmax
from oneof.solvers.laplace import mode as mode_module
from oneof.solvers.laplace.mode import find_mode, find_mode_cholesky, nystroem_prior
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from tests.oracles import laplace as oracle
from tests.solvers.laplace.problems import SHARPNESSES, exact, gram, problem

SOLVERS = [find_mode, find_mode_cholesky]


def distance(mode, K, mask, sharpness):
    """Return max |F - K (q - pi)|, as a share of what the tolerance is of."""
    slopes = masked_softmax(mode.latents, mask, sharpness) - softmax(mode.latents)
    image = np.einsum("kij,jk->ik", np.broadcast_to(K, (mask.shape[1], *K.shape[-2:])), slopes)
    return np.abs(mode.latents - image).max() / max(1.0, np.abs(mode.latents).max())


def rises(mode):
    """Return whether Psi never falls beyond rounding: of itself, and of the latents it is summed from."""
    slack = 1e-12 * np.abs(mode.objective_path).max() + np.finfo(float).eps * np.abs(mode.latents).max() * len(
        mode.latents
    )
    return np.diff(mode.objective_path).min(initial=0.0) >= -slack


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("kernel", ["rbf", "exponential", "linear"])
@pytest.mark.parametrize("variance", [1e-2, 1.0, 30.0, 1e3])
def test_the_mode_is_stationary_and_psi_never_falls(kernel, variance, sharpness):
    """F = K (q - pi) to the tolerance, for Gram matrices of full and of low rank and variances small and large."""
    for seed in range(3):
        K, mask = problem(kernel, variance=variance, seed=seed)
        mode = find_mode(GramPrior.from_gram(K), mask, sharpness)
        assert mode.converged
        assert distance(mode, K, mask, sharpness) <= 2e-6
        assert rises(mode)
        np.testing.assert_allclose(
            K @ mode.coefficients, mode.latents, atol=1e-9 * max(1.0, np.abs(mode.latents).max())
        )


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("variance", [0.1, 30.0])
def test_the_published_climb_is_stationary_and_psi_never_falls(variance, sharpness):
    """So is the mode that Cholesky factors and bisection lead to."""
    K, mask = problem("rbf", variance=variance)
    mode = find_mode_cholesky(GramPrior.from_gram(K), mask, sharpness, max_iter=3000)
    assert mode.converged
    assert distance(mode, K, mask, sharpness) <= 2e-6
    assert rises(mode)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("variance", [0.1, 10.0, 100.0])
def test_the_mode_is_a_maximum_of_psi_by_the_definition(variance, sharpness):
    """With K^-1 written out, Psi has the value that the solver says, no gradient, and a negative definite Hessian."""
    K, mask = problem("exponential", variance=variance, n=15, share=0.5)
    mode = find_mode(GramPrior.from_gram(K), mask, sharpness, tol=1e-10)
    F = mode.latents
    np.testing.assert_allclose(mode.objective_path[-1], oracle.psi(F, mask, K, sharpness), rtol=1e-10)
    np.testing.assert_allclose(oracle.slope(F, mask, K, sharpness), 0, atol=1e-7)
    _, W_true = oracle.bends(F, mask, sharpness)
    assert np.linalg.eigvalsh(np.linalg.inv(oracle.covariance(K, 4)) + W_true).min() > 0


def test_the_gradient_and_the_hessian_of_the_oracle_are_those_of_its_psi():
    """What other tests compare with is right itself, by differences."""
    random = np.random.default_rng(0)
    K, mask = problem("exponential", n=6)
    F, move = random.normal(size=(2, 6, 4))
    for sharpness in SHARPNESSES:
        ahead, behind = F + 1e-5 * move, F - 1e-5 * move
        rise = (oracle.psi(ahead, mask, K, sharpness) - oracle.psi(behind, mask, K, sharpness)) / 2e-5
        np.testing.assert_allclose((oracle.slope(F, mask, K, sharpness) * move).sum(), rise, rtol=1e-7)
        turn = (oracle.slope(ahead, mask, K, sharpness) - oracle.slope(behind, mask, K, sharpness)) / 2e-5
        negative = np.linalg.inv(oracle.covariance(K, 4)) + oracle.bends(F, mask, sharpness)[1]
        np.testing.assert_allclose(-negative @ move.T.ravel(), turn.T.ravel(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_exact_rows_give_the_mode_of_the_book(solver, sharpness):
    """Where every set is one label, Algorithm 3.3 of Rasmussen & Williams finds the same, at every sharpness."""
    y, mask = exact()
    for own in (False, True):
        K = 4.0 * problem("rbf", n=30)[0]
        K = np.stack([K, 2.0 * K, K**2]) if own else K
        mode = solver(GramPrior.from_gram(K), mask, sharpness, tol=1e-9)
        np.testing.assert_allclose(mode.latents, oracle.exactly_labeled(K, y, 3).mode, atol=1e-7)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_both_solvers_find_the_one_maximum_of_a_mild_prior(sharpness):
    """Where the prior's precision outweighs what is not concave, Psi has one maximum, and both find it."""
    K, mask = problem("rbf", variance=0.2)
    one = find_mode(GramPrior.from_gram(K), mask, sharpness, tol=1e-8)
    other = find_mode_cholesky(GramPrior.from_gram(K), mask, sharpness, tol=1e-8)
    np.testing.assert_allclose(one.latents, other.latents, atol=1e-6)


@pytest.mark.parametrize("sharpness", [0.5, np.inf])
@pytest.mark.parametrize("solver", SOLVERS)
def test_permuted_rows_and_classes_permute_the_mode(solver, sharpness):
    random = np.random.default_rng(0)
    K, mask = problem("exponential", variance=2.0)
    rows, classes = random.permutation(40), random.permutation(4)
    mode = solver(GramPrior.from_gram(K), mask, sharpness, tol=1e-9)
    moved = solver(GramPrior.from_gram(K[np.ix_(rows, rows)]), mask[np.ix_(rows, classes)], sharpness, tol=1e-9)
    np.testing.assert_allclose(moved.latents, mode.latents[np.ix_(rows, classes)], atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_class_may_have_a_kernel_of_its_own(solver):
    """Equal kernels give the mode of one that is shared; others give F_k = K_k (q - pi)_k."""
    K, mask = problem("rbf", variance=3.0)
    shared, equal = (solver(GramPrior.from_gram(G), mask, 3.0, tol=1e-9) for G in (K, np.stack([K] * 4)))
    np.testing.assert_allclose(equal.latents, shared.latents, atol=1e-7)
    others = np.stack([K, 5.0 * K, problem("linear")[0], np.eye(40)])
    mode = solver(GramPrior.from_gram(others), mask, 3.0, max_iter=3000)
    assert mode.converged
    assert distance(mode, others, mask, 3.0) <= 2e-6


def test_features_give_the_mode_of_their_gram_matrix():
    """Phi, shared or one a class, stands for Phi Phi^T."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    _, mask = problem()
    for features in (X, np.stack([X, 2.0 * X, X**2, X[:, ::-1] ** 3])):
        products = features @ np.swapaxes(features, -1, -2)
        one = find_mode(FeaturePrior.from_features(features), mask, 1.0, tol=1e-9)
        other = find_mode(GramPrior.from_gram(products), mask, 1.0, tol=1e-9)
        assert one.converged
        np.testing.assert_allclose(one.latents, other.latents, atol=1e-6 * np.abs(one.latents).max())


def test_sharpening_in_stages_ends_higher_than_starting_sharp():
    """Where sets are large and the variance is too, the start from F = 0 at the last sharpness is lower on average."""
    gains = []
    for seed in range(20):
        K, mask = problem("rbf", variance=100.0, K=6, seed=seed, share=0.5)
        staged, sharp = (find_mode(GramPrior.from_gram(K), mask, np.inf, anneal=anneal) for anneal in (True, False))
        assert staged.converged
        assert sharp.converged
        gains.append(staged.objective_path[-1] - sharp.objective_path[-1])
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(20)
    assert np.mean(np.array(gains) >= 0) > 0.7


@pytest.mark.parametrize("each", [False, True])
def test_stages_of_many_rows_see_some_of_them(monkeypatch, each):
    """With few landmarks they end elsewhere; the ascent after them is of the kernel, and gains as much by them."""
    gained = []
    for seed in range(5):
        K, mask = problem("rbf", variance=10.0, n=150, seed=seed)
        prior = GramPrior.from_gram(np.stack([K] * mask.shape[1]) if each else K)
        exactly, plain = (find_mode(prior, mask, np.inf, anneal=anneal).objective_path[-1] for anneal in (True, False))
        with monkeypatch.context() as patch:
            patch.setattr(mode_module, "N_LANDMARKS", 30)
            found = find_mode(prior, mask, np.inf)
            assert nystroem_prior(prior).features.shape[-1] == 30
        assert found.converged
        assert distance(found, K, mask, np.inf) <= 2e-6
        gained.append((found.objective_path[-1] - plain, exactly - plain))
    ours, theirs = np.sum(gained, axis=0)
    assert ours > 0.5 * theirs > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_mode_is_the_end(solver):
    """Given its coefficients, no step is taken."""
    K, mask = problem("exponential", variance=2.0)
    mode = solver(GramPrior.from_gram(K), mask, 3.0)
    again = solver(GramPrior.from_gram(K), mask, 3.0, initial=mode.coefficients, tol=2e-6)
    assert again.converged
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.coefficients, mode.coefficients)


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_may_recur_and_variances_be_of_any_size(kernel, scale, sharpness):
    """Copies of rows have equal latents where their sets are the same; K, which then is singular, may be huge or tiny.

    Coefficients of a linear kernel are free in all but a few directions; rounding there must not hide the others.
    """
    K, mask = problem(kernel, n=20)
    K, mask = scale * np.tile(K, (2, 2)), np.tile(mask, (2, 1))
    mode = find_mode(GramPrior.from_gram(K), mask, sharpness)
    assert mode.converged
    assert distance(mode, K, mask, sharpness) <= 2e-6
    assert rises(mode)
    np.testing.assert_allclose(mode.latents[:20], mode.latents[20:], atol=1e-6 * np.abs(mode.latents).max())


@pytest.mark.parametrize("seed", range(6))
def test_large_gram_matrices_of_low_rank_let_the_climb_end(seed):
    """Where nearly all directions of the coefficients are free, the mode is found to the tolerance, in few steps."""
    X = np.random.default_rng(seed).normal(size=(60, 2)) * 100.0
    _, mask = problem(n=60, seed=seed)
    mode = find_mode(GramPrior.from_gram(X @ X.T), mask, 2.0)
    assert mode.converged
    assert mode.n_iter < 200
    assert distance(mode, X @ X.T, mask, 2.0) <= 2e-6


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize(("kernel", "variance"), [("rbf", 0.5), ("rbf", 4.0), ("linear", 0.5)])
def test_single_precision_is_kept_and_nearly_as_good(kernel, variance, sharpness):
    """A float32 Gram matrix gives float32 latents, which are those of float64 to about 1e-4 of the largest."""
    K, mask = problem(kernel, variance=variance)
    single = find_mode(GramPrior.from_gram(K.astype(np.float32)), mask, sharpness)
    double = find_mode(GramPrior.from_gram(K), mask, sharpness)
    assert single.converged
    assert single.latents.dtype == single.coefficients.dtype == single.derivatives.gradient.dtype == np.float32
    np.testing.assert_allclose(single.latents, double.latents, atol=5e-4 * np.abs(double.latents).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_row_of_one_label_solves_an_equation(solver):
    """With two classes and variance v, f_0 = -f_1 = v pi_1: a fixed point of one number."""
    mode = solver(GramPrior.from_gram(np.array([[5.0]])), np.array([[True, False]]), np.inf, tol=1e-10)
    f = mode.latents[0, 0]
    np.testing.assert_allclose(mode.latents, [[f, -f]])
    np.testing.assert_allclose(f, 5.0 / (1.0 + np.exp(2.0 * f)), rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_climb_cut_short_says_so(solver):
    """With too few steps the result is not called a mode, and has as many steps as were allowed."""
    K, mask = problem("rbf", variance=100.0)
    mode = solver(GramPrior.from_gram(K), mask, np.inf, anneal=False, max_iter=1)
    assert not mode.converged
    assert mode.n_iter == 1
    assert distance(mode, K, mask, np.inf) > 1e-6


def test_single_precision_ends_where_it_can_go_no_further():
    """A tolerance that float32 cannot meet is raised to one that it can, and the result is a mode to that tolerance."""
    K, mask = 500.0 * problem("exponential", n=60)[0], exact(60)[1]
    single, double = (
        find_mode(GramPrior.from_gram(K.astype(np.float32)), mask, 1.0),
        find_mode(GramPrior.from_gram(K), mask, 1.0),
    )
    assert single.converged
    np.testing.assert_allclose(single.latents, double.latents, atol=5e-4 * np.abs(double.latents).max())


def test_a_climb_that_rounding_stops_does_not_go_on_for_long():
    """Where single precision cannot tell a higher Psi, the steps end far from the most that are allowed."""
    K, mask = problem("linear", variance=1e5, n=60)
    mode = find_mode(GramPrior.from_gram(K.astype(np.float32)), mask, 1.0, tol=1e-9)
    assert not mode.converged
    assert mode.n_iter < 400
    assert np.isfinite(mode.latents).all()


def test_a_gram_matrix_that_is_none_does_not_hold_the_climb_up():
    """With negative eigenvalues there may be no mode: the climb ends, with finite latents."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    _, mask = problem(n=30)
    mode = find_mode(GramPrior.from_gram(gram("rbf", X) - 0.5 * np.eye(30)), mask, 1.0, max_iter=200)
    assert np.isfinite(mode.latents).all()
