"""Gaussian processes: PLGP's cost compared with the published form and scikit-learn, calibration and annealing.

Unless stated otherwise, the kernel is PLGP's default, 1.0 * RBF(l) with l^2 the sum of the variances of the features,
and is not optimized. Both sides of a comparison are timed in one run. Fits on a CUDA device are in `hardware gpu`.
"""

import sys
import time
import warnings

import numpy as np
from scipy.linalg import cholesky
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler

import oneof
from benchmarks.accuracy import TunedGaussianProcess
from benchmarks.common import median_and_range, peak_memory, timed
from oneof.datasets import load, make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.mode import find_mode, find_mode_cholesky
from oneof.solvers.laplace.model import GramPrior
from oneof.solvers.laplace.posterior_covariance import LatentCovariance
from oneof.solvers.laplace.predictive import apply_temperature, expected_softmax

# Sizes; smaller ones are for trying out the script.
LARGE_ROWS, LANDMARKS = 60_000, 1000
MODE_ROWS = 2000
BIRDSONG_ROWS = 4998
PROBA_ROWS, PUBLISHED_ROWS, NOISE = 10_000, 200, 0.1
REPEATS = 3


def default_kernel(X, variance=1.0):
    """Return PLGP's default kernel, with another signal variance."""
    return variance * RBF(float(np.sqrt(X.var(axis=0, dtype=np.float64).sum())))


def load_mnist(n_rows, n_test=10_000, dtype=np.float32):
    """Return the first rows of the training part and of the test part, with pixels in [0, 1]."""
    data = load("mnist")
    train, test = slice(n_rows), slice(60_000, 60_000 + n_test)
    X, X_test = data.X[train].astype(dtype), data.X[test].astype(dtype)
    X /= 255
    X_test /= 255
    return X, data.y[train], X_test, data.y[test]


def load_birdsong():
    """Return the standardized rows and the candidate sets of birdsong."""
    data = load("birdsong")
    return StandardScaler().fit_transform(data.X[:BIRDSONG_ROWS].astype(np.float64)), data.candidates[:BIRDSONG_ROWS]


def predict_by_means(model, X):
    """Return the classes of the largest latent means, without covariances."""
    means = model._posterior.means(X)
    return model.classes_[np.asarray(means.argmax(1).tolist())]


def large():
    """Fit 60,000 rows of MNIST (pixels in [0, 1], single precision, sets of 3) by the Nystroem approximation.

    Prints the time of fit, the peak memory of the process including the data, and the test accuracy.
    """
    X, y, X_test, y_test = load_mnist(LARGE_ROWS)
    partial = make_partial_labels(y, n_distractors=2, random_state=0)
    before = peak_memory()
    model = oneof.PLGP(optimizer=None, approximation="nystroem", n_components=LANDMARKS, random_state=0)
    _, seconds = timed(lambda: model.fit(X, partial))
    print(
        f"mnist {len(X):,} x {X.shape[1]} x {len(model.classes_)}, |S| 3, {LANDMARKS} landmarks: fit "
        f"{seconds[0]:.1f} s (target 300), {model.n_iter_} steps, peak memory {peak_memory():.2f} GB (target 3; "
        f"{before:.2f} before fit)",
        flush=True,
    )
    predicted, seconds = timed(lambda: predict_by_means(model, X_test))
    print(f"  test accuracy by means {(predicted == y_test).mean():.4f}, {len(X_test):,} rows in {seconds[0]:.1f} s")


def compare_modes():
    """Time both solvers to the same mode, and the fits of both libraries."""
    X, y, *_ = load_mnist(MODE_ROWS, n_test=0, dtype=np.float64)
    partial = make_partial_labels(y, fraction=1.0, n_distractors=2, random_state=0)
    kernel = default_kernel(X)
    prior = GramPrior(covariance(kernel, X))
    exact = make_partial_labels(y, fraction=0.0)
    for name, mask, anneal in (
        ("exact labels", exact.mask, True),
        ("|S| 3, stages", partial.mask, True),
        ("|S| 3, no stages", partial.mask, False),
    ):
        ours, fast = timed(lambda mask=mask, anneal=anneal: find_mode(prior, mask, np.inf, anneal=anneal), REPEATS)
        published, slow = timed(
            lambda mask=mask, anneal=anneal: find_mode_cholesky(prior, mask, np.inf, anneal=anneal), 1
        )
        stayed = find_mode_cholesky(prior, mask, np.inf, initial=ours.coefficients, tol=1e-9)
        print(
            f"mnist {len(X):,} x {mask.shape[1]}, {name}: published mode {slow[0]:.1f} s in {published.n_iter} steps, "
            f"Psi {published.objective_path[-1]:.6f} | ours {median_and_range(fast)} in {ours.n_iter}, Psi "
            f"{ours.objective_path[-1]:.6f} = 1/{slow[0] / np.median(fast):.0f} (target 1/40) | largest |F| "
            f"{np.abs(published.latents).max():.2f}, |F - F'| {np.abs(published.latents - ours.latents).max():.1e}, "
            f"from our mode {np.abs(stayed.latents - ours.latents).max():.1e} in {stayed.n_iter} steps; "
            f"converged {published.converged}, {ours.converged}",
            flush=True,
        )
    _, slow = timed(lambda: GaussianProcessClassifier(kernel, optimizer=None).fit(X, y), 1)
    for name, labels in (("exact labels", y), ("|S| 3", partial)):
        model = oneof.PLGP(kernel, optimizer=None, random_state=0)
        _, fast = timed(lambda model=model, labels=labels: model.fit(X, labels), REPEATS)
        print(
            f"mnist {len(X):,}: scikit-learn's fit, exact labels, {slow[0]:.1f} s | ours, {name}, "
            f"{median_and_range(fast)} in {model.n_iter_} steps = 1/{slow[0] / np.median(fast):.0f} (target 1/40)",
            flush=True,
        )


def count_factorizations():
    """Time the mode in units of one Cholesky factorization."""
    X, candidates = load_birdsong()
    for variance in (1.0, 10.0):
        prior = GramPrior(covariance(default_kernel(X, variance), X))
        shifted = prior.gram + np.eye(len(X))
        _, one = timed(lambda shifted=shifted: cholesky(shifted, lower=True, check_finite=False), REPEATS)
        for anneal in (True, False):
            ours, fast = timed(
                lambda prior=prior, anneal=anneal: find_mode(prior, candidates.mask, np.inf, anneal=anneal), REPEATS
            )
            print(
                f"birdsong {len(X):,} x {candidates.shape[1]}, signal variance {variance:g}, anneal={anneal}: mode "
                f"{median_and_range(fast)} in {ours.n_iter} steps (converged {ours.converged}) = "
                f"{np.median(fast) / one.min():.1f} Cholesky factorizations, the fastest of "
                f"{median_and_range(one)} (target 8)",
                flush=True,
            )


def latent_moments(posterior, rows, spread):
    """Return the means and covariances of the latent values of rows."""
    return [np.concatenate(parts) for parts in zip(*posterior.means_and_covariances(rows, spread), strict=True)]


def mode():
    """Compare `find_mode` with the published solver, and PLGP with scikit-learn's one-vs-rest classifier.

    2,000 rows of MNIST; both solvers run through the same annealing stages, and the time of the Gram matrix is
    excluded. On exact labels there is one mode, which both must reach. On candidate sets there are many, and each
    solver may end in another one; so the published solver is also started at our mode, with tolerance 1e-9, and should
    stay there. Then `PLGP.fit`, on exact labels and on sets of 3, is compared with scikit-learn's fit, including the
    Gram matrix. Then all of birdsong, standardized, 13 classes: `find_mode` in units of a Cholesky factorization of one
    n x n matrix.
    """
    compare_modes()
    count_factorizations()


def proba():
    """Time `predict_proba` of 10,000 rows after a fit on birdsong, including the preparation of the first call.

    The rows are random rows of fit with noise. For 200 of them the published covariances are computed, with the time
    that 10,000 would take: the preparation and 50 times that of 200.
    """
    X, candidates = load_birdsong()
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=PROBA_ROWS)]
    rows += NOISE * rng.standard_normal(rows.shape)
    model, fit = timed(lambda: oneof.PLGP(optimizer=None, random_state=0).fit(X, candidates))
    _, first = timed(lambda: model.predict_proba(rows[:1]))
    probabilities, rest = timed(lambda: model.predict_proba(rows))
    print(
        f"birdsong {len(X):,} x {candidates.shape[1]}: fit {fit[0]:.1f} s; probabilities of {len(rows):,} rows "
        f"{first[0] + rest[0]:.1f} s (target 60), of which preparation {first[0]:.1f}",
        flush=True,
    )
    subset, posterior = rows[:PUBLISHED_ROWS], model._posterior
    _, ours = model.latent_mean_and_cov(subset)
    spread, before = timed(lambda: LatentCovariance.from_prior(posterior.prior(), posterior.proba), 1)
    (means, covariances), each = timed(lambda: latent_moments(posterior, subset, spread), 1)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    off = np.diagonal(ours, axis1=1, axis2=2) / variances - 1
    difference = np.abs(expected_softmax(means, covariances, model._normals) - probabilities[: len(subset)])
    total = before[0] + each[0] * len(rows) / len(subset)
    print(
        f"  published: preparation {before[0]:.1f} s, covariances of {len(subset)} rows {each[0]:.1f} s; {len(rows):,} "
        f"would take {total:.0f} s, extrapolated = {total / (first[0] + rest[0]):.1f} times ours\n"
        f"  variances relative to published: {off.min():+.2e} to {off.max():+.2e}, rms {np.sqrt((off**2).mean()):.1e}; "
        f"largest difference of probabilities {difference.max():.1e}"
    )


# Sizes; smaller ones are for trying out the script.
CALIBRATION_SETS, CALIBRATION_SPLITS, BINS = ("lost", "birdsong", "msrcv2"), 3, 15
VARIANCES, ANNEALING_SPLITS = (1.0, 10.0, 100.0, 1000.0), 5


def expected_calibration_error(proba, right):
    """Return the weighted mean of |accuracy - mean probability| over bins of the largest probability."""
    top = proba.max(axis=1)
    index = np.minimum((top * BINS).astype(int), BINS - 1)
    gaps = np.bincount(index, right, BINS) - np.bincount(index, top, BINS)
    return np.abs(gaps).sum() / len(top)


def plgp_probabilities(train, candidates, test):
    """Return PLGP's probabilities as published, and at their leave-one-out temperature."""
    model = TunedGaussianProcess(temperature="loo").fit(train, candidates.to_indicator()).model_
    proba = model.predict_proba(test)
    return {"PLGP": apply_temperature(proba, 1.0 / model.temperature_), 'PLGP, temperature="loo"': proba}


def plecoc_softmax(train, candidates, test):
    """Return the softmax of PLECOC's scores."""
    model = oneof.PLECOC(random_state=0).fit(train, candidates.to_indicator())
    return {"PLECOC, softmax": softmax(model.decision_function(test), axis=1)}


def make_calibrated(name, method):
    """Return a function that calibrates a method on the labels that it has chosen.

    The folds are not stratified, since scikit-learn rejects classes with fewer rows than folds.
    """

    def probabilities_of(train, candidates, test):
        labels = method.fit(train, candidates.to_indicator()).disambiguate().labels
        folds = list(KFold(5, shuffle=True, random_state=0).split(train))
        model = CalibratedClassifierCV(clone(method), cv=folds).fit(train, labels)
        proba = np.zeros((len(test), candidates.shape[1]))  # including classes without rows
        proba[:, model.classes_] = model.predict_proba(test)
        return {f"{name}, calibrated": proba}

    return probabilities_of


CALIBRATION_METHODS = (
    plgp_probabilities,
    plecoc_softmax,
    make_calibrated("PLECOC", oneof.PLECOC(random_state=0)),
    make_calibrated("PLSVM", oneof.PLSVM()),
)


def calibration():
    """Print the expected calibration error on held-out fifths of lost, birdsong and msrcv2, by true labels.

    The error has 15 bins of equal width of the largest probability; accuracy and the mean of the largest probability
    are also printed. PLGP's kernels are those of the theme `accuracy`, chosen without true labels, with its
    probabilities as published and at their leave-one-out temperature. PLSVM and PLECOC are calibrated on the labels
    that they have chosen, over five folds.
    """
    for name in CALIBRATION_SETS:
        data = load(name)
        splits = list(ShuffleSplit(CALIBRATION_SPLITS, test_size=0.2, random_state=0).split(data.X))
        for method in CALIBRATION_METHODS:
            results = {}
            start = time.perf_counter()
            for train, test in splits:
                scaler = StandardScaler().fit(data.X[train].astype(np.float64))
                X, X_test = (scaler.transform(data.X[part].astype(np.float64)) for part in (train, test))
                for label, proba in method(X, data.candidates[train], X_test).items():
                    right = data.candidates.classes[proba.argmax(axis=1)] == data.y[test]
                    values = expected_calibration_error(proba, right), right.mean(), proba.max(axis=1).mean()
                    results.setdefault(label, []).append(values)
            for label, values in results.items():
                error, accuracy, confidence = np.array(values).T
                print(
                    f"{name:9s} {label:24s} ECE {error.mean():.3f} [{error.min():.3f}, {error.max():.3f}], accuracy "
                    f"{accuracy.mean():.3f} +- {accuracy.std():.3f}, mean largest probability {confidence.mean():.3f}, "
                    f"{time.perf_counter() - start:.0f} s",
                    flush=True,
                )


def annealing():
    """Print the objective Psi, the covering rate and the accuracy on lost, with and without annealing.

    Five random 80/20 splits, a linear and an RBF kernel of growing signal variance. The covering rate and the accuracy
    are those of the largest latent mean on held-out rows.
    """
    data = load("lost")
    d = data.X.shape[1]
    kernels = {"linear": lambda s: (s / d) * DotProduct(1e-5), "rbf": lambda s: s * RBF(np.sqrt(d))}
    for name, kernel_of in kernels.items():
        for variance in VARIANCES:
            columns, ends = [], []
            for anneal in (True, False):
                results, n_failed = anneal_splits(data, kernel_of(variance), anneal)
                psi, covering, accuracy, steps = results.T
                ends.append(psi)
                columns.append(
                    f"{'stages' if anneal else 'none':6s} Psi {psi.mean():9.2f}, covering {covering.mean():.3f} +- "
                    f"{covering.std():.3f}, accuracy {accuracy.mean():.3f} +- {accuracy.std():.3f}, "
                    f"{steps.mean():3.0f} steps" + (f", {n_failed} not converged" if n_failed else "")
                )
            better = int((ends[0] > ends[1]).sum())
            print(f"{name:6s} s {variance:<4g} " + " | ".join(columns) + f" | Psi higher by stages {better}/{len(psi)}")
            sys.stdout.flush()


def anneal_splits(data, kernel, anneal):
    """Return Psi, covering rate, accuracy and steps of each split, and the number of fits without convergence."""
    results, n_failed = [], 0
    for train, test in ShuffleSplit(ANNEALING_SPLITS, test_size=0.2, random_state=0).split(data.X):
        scaler = StandardScaler().fit(data.X[train].astype(np.float64))
        X, X_test = (scaler.transform(data.X[part].astype(np.float64)) for part in (train, test))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = oneof.PLGP(kernel, optimizer=None, anneal=anneal, random_state=0).fit(X, data.candidates[train])
        n_failed += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        predicted = predict_by_means(model, X_test)
        covering = oneof.metrics.covering_rate(data.candidates[test], predicted)
        results.append((model.objective_, covering, (predicted == data.y[test]).mean(), model.n_iter_))
    return np.array(results), n_failed
