"""PLGP and LOORidge on torch tensors, compared with NumPy arrays."""

import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import oneof
from benchmarks.common import describe_machine, load_average, write_section
from benchmarks.gaussian_process import default_kernel, load_mnist, predict_by_means
from oneof import make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors
from oneof.solvers.laplace.evidence import evidence_gradient
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior

EXACT = {"cuda": (10_000, 20_000, 40_000, 60_000), "cpu": (500, 1_000, 2_000)}
DOUBLE = {"cuda": 20_000, "cpu": 1_000}
LARGE = {"cuda": (60_000, 2_000), "cpu": (4_000, 300)}
EVIDENCE = {"cuda": (2_000, 10_000), "cpu": (300,)}
PROBA = {"cuda": (10_000, 10_000), "cpu": (1_000, 500)}
RATE_SIZE = {"cuda": 8_192, "cpu": 1_000}
"""Size of the square matrices with which the rates of a device are measured."""
GPU_REPEATS = 3
LOO_EXACT = {"cuda": (6_000, 60_000), "cpu": (1_000,)}
"""Rows of MNIST for LOORidge without an approximation."""
LOO_NYSTROEM = {"cuda": (1_000_000, None), "cpu": (10_000, 500)}
"""Rows of 50 normal features for LOORidge with landmarks, and the number of landmarks."""


class Device:
    """A torch device with its synchronization and its memory statistics."""

    def __init__(self, torch, name):
        self.torch, self.name = torch, name
        self.is_cuda = name != "cpu"
        self.title = torch.cuda.get_device_name() if self.is_cuda else "the processor"

    def tensor(self, array):
        """Return a tensor of the array on the device."""
        return self.torch.tensor(array, device=self.name)

    def timed(self, run):
        """Return the outcome, wall-clock seconds and peak gigabytes."""
        if self.is_cuda:
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()
            self.torch.cuda.synchronize()
        start = time.perf_counter()
        outcome = run()
        if self.is_cuda:
            self.torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        return outcome, seconds, self.torch.cuda.max_memory_allocated() / 1e9 if self.is_cuda else float("nan")


@dataclass
class DeviceBound:
    """Rates of a device, and the lower bound of the seconds of the products that were computed since the last reset.

    A product of the Gram matrix reads the matrix, for 2 n^2 K operations; factors and the gradient of the evidence take
    3 K n^3 operations (`oneof.solvers.laplace.evidence`). Kernels and elementwise operations are not included.
    """

    read: float
    """Bytes per second that a sum reads."""
    rates: dict[str, float]
    """Operations per second of products of square matrices, by precision."""
    seconds: float = 0.0

    @classmethod
    def measure(cls, device, kind):
        """Measure the rates; the best of several runs counts."""
        n, torch = RATE_SIZE[kind], device.torch

        def best(run):
            run()
            return min(device.timed(run)[1] for _ in range(2 * GPU_REPEATS))

        rates = {}
        for dtype in (torch.float32, torch.float64):
            A = torch.ones((n, n), dtype=dtype, device=device.name)
            rates[str(dtype)] = 2 * n**3 / best(lambda A=A: A @ A)
        numbers = torch.ones(4 * n * n, device=device.name)
        return cls(4 * len(numbers) / best(numbers.sum), rates)

    @contextmanager
    def counting(self):
        """Count the products of Gram matrices, and the factors and gradients of evidences."""
        names = ("matvec", "matvec_float32")
        originals = {name: getattr(GramPrior, name) for name in names}

        def counted(name):
            def product(prior, V):
                gram = prior.gram if name == "matvec" else prior.float32
                operations = 2 * gram.numel() * V.shape[1] if hasattr(gram, "numel") else 0
                n_bytes = gram.numel() * gram.element_size() if operations else 0
                self.seconds += max(n_bytes / self.read, operations / self.rates.get(str(gram.dtype), np.inf))
                return originals[name](prior, V)

            return product

        self.seconds = 0.0
        for name in names:
            setattr(GramPrior, name, counted(name))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(GramPrior, name, original)

    def describe(self):
        """Return the rates as text."""
        single, double = (self.rates[f"torch.float{bits}"] / 1e12 for bits in (32, 64))
        return f"reading {self.read / 1e9:.0f} GB/s, products {single:.2f} (single) and {double:.2f} T operations/s"


def gpu_tasks(kind, size, rows):
    """Yield the name of each task, and a function that converts the rows and returns a function that runs the task."""
    X, y, X_test, _ = rows
    kernel = default_kernel(X[:2_000])

    def scaled(n):
        return max(100, round(n * size))

    def sets(n):
        return make_partial_labels(y[:n], n_distractors=2, random_state=0)

    def fit(n, **parameters):
        return lambda read: (
            lambda: oneof.PLGP(kernel, random_state=0, **{"optimizer": None, **parameters}).fit(read(X[:n]), sets(n))
        )

    for n in map(scaled, EXACT[kind]):
        yield f"exact mode, {n:,} x {X.shape[1]}, single precision", fit(n)
    n = scaled(DOUBLE[kind])
    yield (
        f"exact mode, {n:,} x {X.shape[1]}, double precision",
        lambda read, n=n: fit(n)(lambda rows: read(rows.astype(np.float64))),
    )
    n, landmarks = map(scaled, LARGE[kind])
    yield f"Nystrom, {n:,} rows, {landmarks:,} landmarks", fit(n, approximation="nystroem", n_components=landmarks)
    for n in map(scaled, EVIDENCE[kind]):
        name = f"mode, evidence and its gradient, {n:,} rows, double precision"
        yield name, evidence_task(kernel, X[:n], sets(n).mask)
    n, n_new = map(scaled, PROBA[kind])

    def probabilities(read):
        model, new = fit(n)(read)(), read(X_test[:n_new])

        def run():
            model.predict_proba(new)
            return model

        return run

    yield f"probabilities of {n_new:,} rows (the first call, covariances prepared) after {n:,}", probabilities


def evidence_task(kernel, X, mask):
    """Return a function that converts the rows and returns a function that computes the evidence and its gradient."""

    def evidence_of(read):
        K, sets_of = read(covariance(kernel, X.astype(np.float64))), read(mask)

        def run():
            prior = GramPrior(K)
            mode = find_mode(prior, sets_of, np.inf)
            factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
            # The derivative with respect to the logarithm of the variance is the Gram matrix itself.
            gradient = evidence_gradient(prior, mode, factors, K[:, :, None])
            operations = 3 * mask.shape[1] * len(mask) ** 3
            return SimpleNamespace(
                latent_mode_=mode.latents, n_iter_=mode.n_iter, gradient=gradient, operations=operations
            )

        return run

    return evidence_of


def accuracy_by_means(model, X_test, y_test):
    """Return the accuracy of the largest latent mean on new rows; "-" for a mode without a model."""
    if not hasattr(model, "predict"):
        return "-"
    if "float64" in str(model.latent_mode_.dtype):
        X_test = X_test.double()
    return f"{float((predict_by_means(model, X_test) == y_test).mean()):.4f}"


def device_rows(device, kind, size, rows):
    """Return the table on a CUDA device: one run per task."""
    bound = DeviceBound.measure(device, kind)
    print(bound.describe(), flush=True)
    lines = [
        f"Rates: {bound.describe()}. The lower bound is that of the products with Gram matrices and of the evidence.",
        "",
        "| task | seconds | lower bound, fraction reached | Newton steps | peak memory | accuracy by means |",
        "|---|---|---|---|---|---|",
    ]
    X_test = device.tensor(rows[2])
    for name, make in gpu_tasks(kind, size, rows):
        try:
            run = make(device.tensor)
            with bound.counting():
                model, seconds, memory = device.timed(run)
            least = bound.seconds + getattr(model, "operations", 0) / bound.rates["torch.float64"]
            reached = f"{least:.3g} s, {least / seconds:.0%}" if least else "-"
            accuracy = accuracy_by_means(model, X_test, rows[3])
            cells = f"{seconds:.2f} | {reached} | {model.n_iter_} | {memory:.1f} GB | {accuracy}"
            del model, run
        except (RuntimeError, ValueError) as error:  # for example out of memory; the other tasks are run
            cells = f"failed: {str(error).splitlines()[0][:120]} | | | |"
        lines.append(f"| {name} | {cells} |")
        print(lines[-1], flush=True)
    return lines


def processor_rows(device, kind, size, rows):
    """Return the table on the processor: torch and NumPy alternate, medians of several runs."""
    lines = ["| task | torch | NumPy | Newton steps, both | largest difference of latents |", "|---|---|---|---|---|"]
    for name, make in gpu_tasks(kind, size, rows):
        runs = {"torch": make(device.tensor), "NumPy": make(np.asarray)}
        seconds, models = {key: [] for key in runs}, {}
        for _ in range(GPU_REPEATS):
            for key, run in runs.items():
                models[key], elapsed, _ = device.timed(run)
                seconds[key].append(elapsed)
        F, G = (np.asarray(models[key].latent_mode_) for key in runs)
        times = " | ".join(
            f"{statistics.median(s):.3f} s [{min(s):.3f}, {max(s):.3f}]" for s in (seconds[key] for key in runs)
        )
        steps = ", ".join(str(models[key].n_iter_) for key in runs)
        lines.append(f"| {name} | {times} | {steps} | {np.abs(F - G).max():.1e} |")
        print(lines[-1], flush=True)
    return lines


LOO_HEADER = (
    "| LOORidge, sets of 3, K = 10 | torch: fit, prediction | NumPy: fit, prediction | peak memory of the device "
    "| accuracy, torch | accuracy, NumPy | equal labels of the training rows |\n"
    "|---|---|---|---|---|---|---|"
)


def normal_rows(n, n_test=10_000):
    """Return training and test rows of 10 overlapping normal classes in 50 features, single precision."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n + n_test)
    X = rng.normal(size=(n + n_test, 50)).astype(np.float32)
    X += rng.normal(size=(10, 50), scale=0.4).astype(np.float32)[y]
    return X[:n], y[:n], X[n:], y[n:]


def loo_ridge_tasks(kind, size, rows):
    """Yield the name of each task, its training and test rows, and the parameters for tensors and for NumPy arrays."""
    X, y, X_test, y_test = rows
    for n in (max(100, round(n * size)) for n in LOO_EXACT[kind]):
        on_processor = {"approximation": None if n <= LOO_EXACT["cuda"][0] else "nystroem", "random_state": 0}
        name = f"exact, {n:,} x {X.shape[1]}" + (", NumPy with landmarks" if on_processor["approximation"] else "")
        yield name, (X[:n], y[:n], X_test, y_test), {"approximation": None}, on_processor
    n, landmarks = LOO_NYSTROEM[kind]
    n = max(100, round(n * size))
    options = {"approximation": "nystroem", "n_components": landmarks, "random_state": 0}
    yield f"Nystrom, {n:,} x 50, {landmarks or 'default'} landmarks", normal_rows(n), options, options


def loo_ridge_run(device, read, rows, options):
    """Fit to the rows, and return the seconds, the peak memory, the accuracy and the labels of the training rows."""
    X, y, X_test, y_test = rows
    sets, train, test = make_partial_labels(y, n_distractors=2, random_state=0), read(X), read(X_test)
    try:
        model, fit_seconds, memory = device.timed(lambda: oneof.LOORidge(**options).fit(train, sets))
        predictions, seconds, _ = device.timed(lambda: model.predict(test))
    except (RuntimeError, ValueError) as error:  # for example out of memory; the other tasks are run
        return f"failed: {str(error).splitlines()[0][:120]}", "-", "-", None
    times = f"{fit_seconds:.1f} s, {seconds:.2f} s"
    return times, f"{memory:.1f} GB", f"{float((predictions == y_test).mean()):.4f}", model.transduction_


def loo_ridge_rows(device, kind, size, rows):
    """Return the table of LOORidge: one fit in single precision to tensors, and one to the same NumPy rows."""
    lines = [LOO_HEADER]
    for name, task_rows, for_tensors, for_arrays in loo_ridge_tasks(kind, size, rows):
        times, memory, accuracy, labels = loo_ridge_run(device, device.tensor, task_rows, for_tensors)
        array_times, _, array_accuracy, array_labels = loo_ridge_run(device, np.asarray, task_rows, for_arrays)
        is_complete = labels is not None and array_labels is not None
        equal = f"{float((labels == array_labels).mean()):.2%}" if is_complete else "-"
        memory = memory if device.is_cuda else "-"
        lines.append(f"| {name} | {times} | {array_times} | {memory} | {accuracy} | {array_accuracy} | {equal} |")
        print(lines[-1], flush=True)
    return lines


def gpu(*, device="", size=1.0, form=""):
    """Fit PLGP and LOORidge to tensors, on a CUDA device if there is one, otherwise at small sizes on the processor.

    PLGP: all solvers in the array API are run: the exact mode, Nystroem features, the evidence and its gradient,
    posterior covariances and probabilities (kernel parameters are only optimized on NumPy arrays, since scikit-learn's
    derivatives are NumPy's). Rows are MNIST's, pixels in [0, 1], sets of 3, PLGP's default kernel. Times are wall-clock
    times, after a small fit that loads the device's libraries and with synchronization; memory is the device's peak. On
    the processor the same tasks are timed with NumPy and torch alternating.

    LOORidge: exact fits to MNIST, and landmarks for 1,000,000 rows of 50 normal features, each also to NumPy rows;
    prediction is that of the 10,000 test rows. `--form device` prints the table of a CUDA device, with the lower bound
    by the rates of the device, also on the processor, to try out the script. Writes benchmarks/RESULTS.md if `--size`
    is 1 and no form is given.
    """
    try:
        import torch
    except ImportError:
        print("skipped: torch is not installed")
        return
    name = device or ("cuda" if torch.cuda.is_available() else "cpu")
    target, kind = Device(torch, name), "cpu" if name == "cpu" else "cuda"
    before = load_average()
    X, y, *_ = rows = load_mnist(max(*EXACT[kind], LARGE[kind][0]))
    for model in (oneof.PLGP(optimizer=None, random_state=0), oneof.LOORidge()):
        model.fit(target.tensor(X[:500]), make_partial_labels(y[:500], n_distractors=2, random_state=0))
    lines = (device_rows if (form or kind) in ("cuda", "device") else processor_rows)(target, kind, size, rows)
    lines += ["", *loo_ridge_rows(target, kind, size, rows)]
    where = f"on {target.title}, torch {torch.__version__}; {describe_machine()}"
    note = (
        "One run per task, wall-clock time."
        if kind == "cuda"
        else f"These are small sizes, {torch.get_num_threads()} threads for torch; medians of {GPU_REPEATS} rounds for "
        "PLGP, one run for LOORidge."
    )
    text = f"""## Tensors on {"a CUDA device" if kind == "cuda" else "the processor"}

`python -m benchmarks hardware gpu`, {where}. Load average: {before} at the start, {load_average()} at the end. {note}

""" + "\n".join(lines)
    if size == 1.0 and not form:
        write_section(f"tensors-{kind}", text)
