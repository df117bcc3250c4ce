"""Ill-conditioned problems, and the error of each method on them."""

from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

import oneof
from oneof import CandidateSets
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.neighbors import nonnegative_least_squares
from tests.oracles import diffusion, exact, generative, loo_ridge
from tests.oracles import online as online_oracle
from tests.oracles.precision import matrix


class Problem(NamedTuple):
    """Rows and their sets; some classes may be in no set."""

    X: np.ndarray
    mask: np.ndarray

    @property
    def exact(self):
        """Return the problem with the first candidate of each set as its label."""
        return Problem(self.X, np.eye(self.mask.shape[1], dtype=bool)[self.mask.argmax(axis=1)])


def _sets(n, K, rng, fraction=0.3):
    mask = rng.random((n, K)) < fraction
    mask[np.arange(n), np.arange(n) % K] = True
    mask[mask.all(axis=1), -1] = False
    return mask


def problems():
    """Return the problems by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    plain = Problem(X, _sets(12, 3, rng))
    nearly = np.column_stack([X[:, 0], X[:, 0] + 1e-9 * X[:, 1], X[:, 2]])
    few = rng.normal(size=(5, 2))
    skewed = np.zeros((5, 2), dtype=bool)
    skewed[:4, 0], skewed[4, 1] = True, True
    often = np.append(np.repeat(np.arange(4), 2500), 4)
    return {
        "plain": plain,
        "duplicated rows": Problem(np.repeat(X[:4], 3, axis=0), plain.mask),
        "collinear features": Problem(nearly, plain.mask),
        "features of sizes 1e-8, 1, 1e8": Problem(X * [1e-8, 1.0, 1e8], plain.mask),
        "far from the origin (1e8)": Problem(X + 1e8, plain.mask),
        "10,000 rows to 1": Problem(few[often], skewed[often]),
        "1,000 classes": Problem(rng.normal(size=(20, 3)), _sets(20, 1000, rng, 0.001)),
        "one row": Problem(X[:1], np.array([[True, False, False]])),
        "one class named": Problem(X, np.tile([True, False, False], (12, 1))),
    }


def distinct(problem):
    """Return the distinct rows of a problem with how often they occur; equal rows must have equal sets."""
    if len(problem.X) < 1000:
        return problem, np.ones(len(problem.X))
    _, first, count = np.unique(problem.X, axis=0, return_index=True, return_counts=True)
    return Problem(problem.X[first], problem.mask[first]), count


def fit(estimator, problem):
    """Return the estimator fitted with all classes."""
    return estimator.fit(problem.X, CandidateSets(problem.mask, np.arange(problem.mask.shape[1])))


def scores(model, X):
    """Return (n, K) scores."""
    values = model.decision_function(X)
    return np.column_stack([np.zeros(len(values)), values]) if values.ndim == 1 else values


def clpl(problem):
    """CLPL: relative error of the weights."""
    model = fit(oneof.CLPL(), problem)
    few, count = distinct(problem)
    return exact.clpl_error(model.coef_, few.X, few.mask, 1, count)


def plem(problem):
    """PLEM, on exact labels: relative error of the weights."""
    model = fit(oneof.PLEM(), problem.exact)
    few, count = distinct(problem.exact)
    return exact.plem_error(model.coef_, few.X, few.mask, 1, count)


def online(name):
    """Return the relative error of an online classifier's scores, compared with the literal algorithm."""

    def error(problem):
        few, _ = distinct(problem)  # the literal algorithm is slow in many digits: rows are not repeated
        model = fit(getattr(oneof, name)(), few)
        method, prediction = name[3:].lower(), "average" if name.startswith("Avg") else "max"
        options = {"method": method, "prediction": prediction, "lam": exact.mpf(1e-4)}
        history, _, _ = online_oracle.run(matrix(few.X), matrix(few.mask), **options)
        return exact.difference(few.X @ model.coef_.T, matrix(few.X) @ history[-1].T)

    return error


def plsvm(problem):
    """PLSVM, on exact labels: relative excess of the objective over that of liblinear at its smallest tolerance."""
    problem = problem.exact
    n = len(problem.X)
    model = fit(oneof.PLSVM(lam=0.1, tol=1e-12, max_iter=10_000), problem)
    labels = problem.mask.argmax(axis=1)
    peer = LinearSVC(
        multi_class="crammer_singer",
        fit_intercept=False,
        C=1 / (0.1 * n),
        tol=1e-14,
        max_iter=1_000_000,
        random_state=0,
    ).fit(problem.X, labels)
    W = np.zeros_like(model.coef_)
    W[peer.classes_] = peer.coef_ if len(peer.coef_) > 1 else np.vstack([-peer.coef_, peer.coef_]) / 2

    def objective(weights):
        values = problem.X @ weights.T
        true_scores = values[np.arange(n), labels]
        values[np.arange(n), labels] = -np.inf
        return 0.05 * (weights**2).sum() + np.maximum(0, 1 - true_scores + values.max(axis=1)).mean()

    objective_of_plsvm, objective_of_liblinear = objective(model.coef_), objective(W)
    return max(0.0, (objective_of_plsvm - objective_of_liblinear) / objective_of_liblinear)


def affinity(problem):
    """Return Gaussian weights of all pairs of rows, (n, n), in units of the largest feature."""
    rows = problem.X / np.abs(problem.X).max()
    W = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    return W


def half_labeled(problem):
    """Return class numbers, -1 for half of the rows, and the problem with only these labels."""
    # With many rows every other row is labeled, including the last one.
    n, K = problem.mask.shape
    labeled = np.arange(n) < max(1, n // 2) if n < 1000 else np.arange(n) % 2 != n % 2
    labels = np.where(labeled, problem.mask.argmax(axis=1), -1)
    return labels, Problem(problem.X, np.where(labels[:, None] < 0, True, np.arange(K) == labels[:, None]))


def harmonic(problem):
    """HarmonicField: largest error of a probability, compared with the linear system in 50 digits."""
    labels, half = half_labeled(problem)
    W = affinity(problem)
    model = fit(oneof.HarmonicField(affinity=W, tol=1e-12), half)
    return exact.difference(model.label_distributions_, diffusion.harmonic(matrix(W), labels >= 0, matrix(half.mask)))


def loo(problem):
    """LOORidge: error of the leave-one-out predictions, compared with a linear system for each row."""
    unit = problem.X / np.abs(problem.X).max()
    gram = unit @ unit.T
    targets = problem.mask / problem.mask.sum(axis=1, keepdims=True)
    targets = targets[:, targets.any(axis=0)][:, :3]
    return exact.difference(
        ExactRidge.from_gram(gram.copy(), 0.05).predict_loo(targets),
        loo_ridge.predict_loo(matrix(gram), matrix(targets), 0.05),
    )


def ipal(problem):
    """IPAL: violation of the optimality conditions by the reconstruction weights of a row."""
    rows, target = problem.X[1:], problem.X[:1]
    gram, cross = (rows @ rows.T)[None], rows @ target[0]
    weights = nonnegative_least_squares(gram, cross[None], (target @ target.T)[0])
    return exact.nonnegative_error(gram[0], cross, weights[0])


def plgp(problem):
    """PLGP, on exact labels: residual of the equation of the mode, relative to its largest value."""
    from sklearn.gaussian_process.kernels import DotProduct

    unit = problem.X / np.abs(problem.X).max()
    model = fit(oneof.PLGP(DotProduct(0.1, "fixed"), optimizer=None, tol=1e-13), Problem(unit, problem.exact.mask))
    return exact.mode_error(model.latent_mode_, DotProduct(0.1)(unit), problem.exact.mask)


def multinomial(problem):
    """MultinomialEM, on exact labels: error of the probabilities, compared with naive Bayes in closed form."""
    problem = problem.exact
    counts = np.abs(problem.X)
    model = fit(oneof.MultinomialEM(), Problem(counts, problem.mask))
    new = counts[:3] / counts.max()
    y = matrix(problem.mask)
    pi, log_shares = generative.multinomial_step(matrix(counts), matrix(np.ones(len(y))), y, 1)
    expected, _ = generative.e_step(0 * y[:3] + 1, pi, matrix(new) @ log_shares.T)
    return exact.difference(model.predict_proba(new), expected)
