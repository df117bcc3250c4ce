"""PLGP's cost beside the published form and scikit-learn's classifier.

Run with `python benchmarks/plgp.py [large] [mode] [proba]`; all, in this order, if none is named. Where two sides are
compared, both are timed in one run. Unless said otherwise the kernel is PLGP's own, 1.0 * RBF(l) with l^2 the summed
variances of the features, and is not learned.

"large": 60,000 rows of mnist, pixels in [0, 1] in single precision, sets of 3, Nystrom with 1,000 landmarks: time of
fit, peak memory of the process (with the data, and with whatever ran before: so it comes first), test accuracy.

"mode": 2,000 of these rows. `find_mode` against `find_mode_cholesky` through the same stages, without the Gram matrix
on either side. On exact labels there is one mode, which both must reach. On sets there are many, and each may end in
another: so the published solver is also started from our mode, to 1e-9, and should stay. Then `PLGP.fit` against
scikit-learn's one-against-rest GaussianProcessClassifier, with the Gram matrix on both sides, ours on exact labels and
on sets of 3.
Then all of birdsong, standardized, 13 classes: `find_mode` in units of a Cholesky factorization of one n x n matrix.

"proba": `predict_proba` of 10,000 rows after a fit on birdsong, the first call's preparation included; the rows are
those of fit, drawn at random, with noise. On 200 of them the published covariances, with the time that 10,000 would
take: its preparation and 50 times that of 200.

Fits on a CUDA device are in `benchmarks/gpu.py`.
"""

import resource
import sys
import time

import numpy as np
from scipy.linalg import cholesky
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import oneof
from oneof.datasets import load, make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.mode import find_mode, find_mode_cholesky
from oneof.solvers.laplace.model import GramPrior
from oneof.solvers.laplace.posterior_covariance import LatentCovariance
from oneof.solvers.laplace.predictive import expected_softmax

# Sizes: smaller ones try out the script.
LARGE_ROWS, LANDMARKS = 60_000, 1000
MODE_ROWS = 2000
BIRDSONG_ROWS = 4998
PROBA_ROWS, PUBLISHED_ROWS, NOISE = 10_000, 200, 0.1
REPEATS = 3


def timed(function, repeats=REPEATS):
    """Return the last result, and the seconds of each run."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, np.array(seconds)


def spread_of(seconds):
    """Format a median with its range."""
    return f"{np.median(seconds):.3f} s [{seconds.min():.3f}, {seconds.max():.3f}]"


def own_kernel(X, variance=1.0):
    """Return the kernel that PLGP takes by default, with another signal variance."""
    return variance * RBF(float(np.sqrt(X.var(axis=0, dtype=np.float64).sum())))


def mnist(n_rows, n_test=10_000, dtype=np.float32):
    """Return the first rows of the training part and of the test part, with pixels in [0, 1]."""
    data = load("mnist")
    train, test = slice(n_rows), slice(60_000, 60_000 + n_test)
    X, X_test = data.X[train].astype(dtype), data.X[test].astype(dtype)
    X /= 255
    X_test /= 255
    return X, data.y[train], X_test, data.y[test]


def birdsong():
    """Return standardized rows and their own candidate sets."""
    data = load("birdsong")
    return StandardScaler().fit_transform(data.X[:BIRDSONG_ROWS].astype(np.float64)), data.candidates[:BIRDSONG_ROWS]


def by_means(model, X):
    """Return the classes of the largest latent means, without covariances."""
    means = model._posterior.means(X)
    return model.classes_[np.asarray(means.argmax(1).tolist())]


def peak():
    """Return the most memory that the process ever held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


def large():
    """Fit many rows through the Nystrom approximation."""
    X, y, X_test, y_test = mnist(LARGE_ROWS)
    partial = make_partial_labels(y, n_distractors=2, random_state=0)
    before = peak()
    model = oneof.PLGP(optimizer=None, approximation="nystroem", n_components=LANDMARKS, random_state=0)
    _, seconds = timed(lambda: model.fit(X, partial), 1)
    print(
        f"mnist {len(X):,} x {X.shape[1]} x {len(model.classes_)}, |S| 3, {LANDMARKS} landmarks: fit "
        f"{seconds[0]:.1f} s (asked 300), {model.n_iter_} steps, peak memory {peak():.2f} GB (asked 3; "
        f"{before:.2f} before fit)",
        flush=True,
    )
    found, seconds = timed(lambda: by_means(model, X_test), 1)
    print(f"  test accuracy by means {(found == y_test).mean():.4f}, {len(X_test):,} rows in {seconds[0]:.1f} s")


def compare_modes():
    """Time both solvers to the same mode, and both libraries' fits."""
    X, y, *_ = mnist(MODE_ROWS, n_test=0, dtype=np.float64)
    partial = make_partial_labels(y, fraction=1.0, n_distractors=2, random_state=0)
    kernel = own_kernel(X)
    prior = GramPrior.of(covariance(kernel, X))
    exact = make_partial_labels(y, fraction=0.0)
    for name, mask, anneal in (
        ("exact labels", exact.mask, True),
        ("|S| 3, stages", partial.mask, True),
        ("|S| 3, no stages", partial.mask, False),
    ):
        ours, fast = timed(lambda mask=mask, anneal=anneal: find_mode(prior, mask, np.inf, anneal=anneal))
        published, slow = timed(
            lambda mask=mask, anneal=anneal: find_mode_cholesky(prior, mask, np.inf, anneal=anneal), 1
        )
        stayed = find_mode_cholesky(prior, mask, np.inf, initial=ours.coefficients, tol=1e-9)
        print(
            f"mnist {len(X):,} x {mask.shape[1]}, {name}: published mode {slow[0]:.1f} s in {published.n_iter} steps, "
            f"Psi {published.objective_path[-1]:.6f} | ours {spread_of(fast)} in {ours.n_iter}, Psi "
            f"{ours.objective_path[-1]:.6f} = 1/{slow[0] / np.median(fast):.0f} (asked 1/40) | largest |F| "
            f"{np.abs(published.latents).max():.2f}, |F - F'| {np.abs(published.latents - ours.latents).max():.1e}, "
            f"from our mode {np.abs(stayed.latents - ours.latents).max():.1e} in {stayed.n_iter} steps; "
            f"converged {published.converged}, {ours.converged}",
            flush=True,
        )
    _, slow = timed(lambda: GaussianProcessClassifier(kernel, optimizer=None).fit(X, y), 1)
    for name, labels in (("exact labels", y), ("|S| 3", partial)):
        model = oneof.PLGP(kernel, optimizer=None, random_state=0)
        _, fast = timed(lambda model=model, labels=labels: model.fit(X, labels))
        print(
            f"mnist {len(X):,}: scikit-learn's fit, exact labels, {slow[0]:.1f} s | ours, {name}, {spread_of(fast)} in "
            f"{model.n_iter_} steps = 1/{slow[0] / np.median(fast):.0f} (asked 1/40)",
            flush=True,
        )


def count_factorizations():
    """Time the mode in units of a Cholesky factor."""
    X, candidates = birdsong()
    for variance in (1.0, 10.0):
        prior = GramPrior.from_gram(covariance(own_kernel(X, variance), X))
        shifted = prior.gram + np.eye(len(X))
        _, one = timed(lambda shifted=shifted: cholesky(shifted, lower=True, check_finite=False))
        for anneal in (True, False):
            ours, fast = timed(
                lambda prior=prior, anneal=anneal: find_mode(prior, candidates.mask, np.inf, anneal=anneal)
            )
            print(
                f"birdsong {len(X):,} x {candidates.shape[1]}, signal variance {variance:g}, anneal={anneal}: mode "
                f"{spread_of(fast)} in {ours.n_iter} steps (converged {ours.converged}) = "
                f"{np.median(fast) / one.min():.1f} Cholesky factorizations, the fastest of {spread_of(one)} (asked 8)",
                flush=True,
            )


def moments(posterior, rows, spread):
    """Return the means and covariances of the latents of rows."""
    return [np.concatenate(parts) for parts in zip(*posterior.means_and_covariances(rows, spread), strict=True)]


def probabilities():
    """Time probabilities of many rows, and compare some with those of the published covariances."""
    X, candidates = birdsong()
    random = np.random.default_rng(0)
    rows = X[random.integers(len(X), size=PROBA_ROWS)]
    rows += NOISE * random.standard_normal(rows.shape)
    model, fit = timed(lambda: oneof.PLGP(optimizer=None, random_state=0).fit(X, candidates), 1)
    _, first = timed(lambda: model.predict_proba(rows[:1]), 1)
    proba, rest = timed(lambda: model.predict_proba(rows), 1)
    print(
        f"birdsong {len(X):,} x {candidates.shape[1]}: fit {fit[0]:.1f} s; probabilities of {len(rows):,} rows "
        f"{first[0] + rest[0]:.1f} s (asked 60), of which preparation {first[0]:.1f}",
        flush=True,
    )
    some, posterior = rows[:PUBLISHED_ROWS], model._posterior
    _, ours = model.latent_mean_and_cov(some)
    spread, before = timed(lambda: LatentCovariance.from_prior(posterior.prior(), posterior.proba), 1)
    (means, covariances), each = timed(lambda: moments(posterior, some, spread), 1)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    off = np.diagonal(ours, axis1=1, axis2=2) / variances - 1
    moved = np.abs(expected_softmax(means, covariances, model._normals) - proba[: len(some)])
    whole = before[0] + each[0] * len(rows) / len(some)
    print(
        f"  published: preparation {before[0]:.1f} s, covariances of {len(some)} rows {each[0]:.1f} s; {len(rows):,} "
        f"would take {whole:.0f} s, extrapolated = {whole / (first[0] + rest[0]):.1f} times ours\n"
        f"  variances relative to published: {off.min():+.2e} to {off.max():+.2e}, rms {np.sqrt((off**2).mean()):.1e}; "
        f"largest difference of probabilities {moved.max():.1e}"
    )


SECTIONS = {
    "large": (large,),
    "mode": (compare_modes, count_factorizations),
    "proba": (probabilities,),
}


def main(names):
    """Run the named sections."""
    if unknown := set(names) - set(SECTIONS):
        raise SystemExit(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    libraries = {f"{found['internal_api']} {found['num_threads']}" for found in threadpool_info()}
    print(f"threads: {', '.join(sorted(libraries))}", flush=True)
    for name in [section for section in SECTIONS if section in names]:
        print(f"\n{name}", flush=True)
        for part in SECTIONS[name]:
            part()


if __name__ == "__main__":
    main(sys.argv[1:] or list(SECTIONS))
