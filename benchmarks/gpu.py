"""PLGP on torch tensors, on a CUDA device where there is one and else, at small sizes, on the processor.

Run with `python benchmarks/gpu.py [--device cuda|cpu] [--size S]`; it goes to benchmarks/RESULTS.md. All the solvers
that are written in the array API take part: the exact mode, Nystrom features, the evidence and its gradient, posterior
covariances and probabilities (a kernel's parameters are searched for on NumPy's rows alone, since scikit-learn's
derivatives are NumPy's). Rows are MNIST's, pixels in [0, 1], sets of 3, the kernel PLGP's own. Times are on the wall,
after a small fit that loads the device's libraries and with the device waited for; memory is the device's peak. On the
processor the same tasks are timed with NumPy beside torch, alternating.
"""

import argparse
import statistics
import time
from types import SimpleNamespace

import numpy as np
from plgp import by_means, mnist, own_kernel
from sides.results import load, machine, write

import oneof
from oneof import make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors
from oneof.solvers.laplace.evidence import evidence_gradient
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior

EXACT = {"cuda": (10_000, 20_000, 40_000, 60_000), "cpu": (500, 1_000, 2_000)}
DOUBLE = {"cuda": 20_000, "cpu": 1_000}
LARGE = {"cuda": (60_000, 2_000), "cpu": (4_000, 300)}
EVIDENCE = {"cuda": 2_000, "cpu": 300}
PROBA = {"cuda": (10_000, 10_000), "cpu": (1_000, 500)}
REPEATS = 3


class Device:
    """Where tensors lie, how it is waited for, and what it remembers of memory."""

    def __init__(self, torch, name):
        self.torch, self.name = torch, name
        self.is_cuda = name != "cpu"
        self.title = torch.cuda.get_device_name() if self.is_cuda else "the processor"

    def tensor(self, array):
        """Return a tensor of the array on the device."""
        return self.torch.as_tensor(array, device=self.name)

    def timed(self, run):
        """Return the outcome, seconds on the wall and gigabytes at the peak."""
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


def tasks(kind, size, rows):
    """Yield the name of each task, and a function from a namespace's rows to one that runs it and returns the model."""
    X, y, X_test, _ = rows
    kernel = own_kernel(X[:2_000])

    def some(n):
        return max(100, round(n * size))

    def sets(n):
        return make_partial_labels(y[:n], n_distractors=2, random_state=0)

    def fit(n, **parameters):
        return lambda read: (
            lambda: oneof.PLGP(kernel, random_state=0, **{"optimizer": None, **parameters}).fit(read(X[:n]), sets(n))
        )

    for n in map(some, EXACT[kind]):
        yield f"exact mode, {n:,} x {X.shape[1]}, single precision", fit(n)
    n = some(DOUBLE[kind])
    yield (
        f"exact mode, {n:,} x {X.shape[1]}, double precision",
        lambda read, n=n: fit(n)(lambda rows: read(rows.astype(np.float64))),
    )
    n, landmarks = map(some, LARGE[kind])
    yield f"Nystrom, {n:,} rows, {landmarks:,} landmarks", fit(n, approximation="nystroem", n_components=landmarks)
    n = some(EVIDENCE[kind])
    gram, mask = covariance(kernel, X[:n].astype(np.float64)), sets(n).mask

    def evidence_of(read):
        K, sets_of = read(gram), read(mask)

        def run():
            prior = GramPrior.from_gram(K)
            mode = find_mode(prior, sets_of, np.inf)
            factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
            # The derivative with respect to the logarithm of the variance is the Gram matrix itself.
            gradient = evidence_gradient(prior, mode, factors, K[:, :, None])
            return SimpleNamespace(latent_mode_=mode.latents, n_iter_=mode.n_iter, gradient=gradient)

        return run

    yield f"mode, evidence and its gradient, {n:,} rows, double precision", evidence_of
    n, n_new = map(some, PROBA[kind])

    def probabilities(read):
        model, new = fit(n)(read)(), read(X_test[:n_new])

        def run():
            model.predict_proba(new)
            return model

        return run

    yield f"probabilities of {n_new:,} rows (the first call, covariances prepared) after {n:,}", probabilities


def judged(model, X_test, y_test):
    """Return the share of further rows on which the largest latent mean is right; of a bare mode nothing."""
    if not hasattr(model, "predict"):
        return "-"
    if "float64" in str(model.latent_mode_.dtype):
        X_test = X_test.double()
    return f"{float((by_means(model, X_test) == y_test).mean()):.4f}"


def on_device(device, kind, size, rows):
    """Return the table on a CUDA device: one run a task."""
    lines = ["| task | seconds | Newton steps | peak memory | right, by means |", "|---|---|---|---|---|"]
    X_test = device.tensor(rows[2])
    for name, make in tasks(kind, size, rows):
        try:
            model, seconds, memory = device.timed(make(device.tensor))
            cells = f"{seconds:.2f} | {model.n_iter_} | {memory:.1f} GB | {judged(model, X_test, rows[3])}"
            del model
        except (RuntimeError, ValueError) as error:  # out of memory, say; the other tasks go on
            cells = f"failed: {str(error).splitlines()[0][:120]} | | |"
        lines.append(f"| {name} | {cells} |")
        print(lines[-1], flush=True)
    return lines


def on_processor(device, kind, size, rows):
    """Return the table on the processor: torch and NumPy in turn, the medians of some runs."""
    lines = ["| task | torch | NumPy | Newton steps, both | largest difference of latents |", "|---|---|---|---|---|"]
    for name, make in tasks(kind, size, rows):
        runs = {"torch": make(device.tensor), "NumPy": make(np.asarray)}
        seconds, models = {key: [] for key in runs}, {}
        for _ in range(REPEATS):
            for key, run in runs.items():
                models[key], spent, _ = device.timed(run)
                seconds[key].append(spent)
        F, G = (np.asarray(models[key].latent_mode_) for key in runs)
        times = " | ".join(
            f"{statistics.median(s):.3f} s [{min(s):.3f}, {max(s):.3f}]" for s in (seconds[key] for key in runs)
        )
        steps = ", ".join(str(models[key].n_iter_) for key in runs)
        lines.append(f"| {name} | {times} | {steps} | {np.abs(F - G).max():.1e} |")
        print(lines[-1], flush=True)
    return lines


def main():
    """Run on the device that there is, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None)
    parser.add_argument("--size", type=float, default=1.0)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("left out: torch is not installed")
        return
    name = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    device, kind = Device(torch, name), "cpu" if name == "cpu" else "cuda"
    before = load()
    X, y, *_ = rows = mnist(max(*EXACT[kind], LARGE[kind][0]))
    oneof.PLGP(optimizer=None, random_state=0).fit(
        device.tensor(X[:500]), make_partial_labels(y[:500], n_distractors=2, random_state=0)
    )
    lines = (on_device if kind == "cuda" else on_processor)(device, kind, options.size, rows)
    where = f"on {device.title}, torch {torch.__version__}; {machine()}"
    note = (
        "One run a task, on the wall."
        if kind == "cuda"
        else f"No CUDA device was at hand: these are small sizes, {torch.get_num_threads()} threads for torch; "
        f"medians of {REPEATS} turns. On a machine with a device the same command fits 10,000 to 60,000 rows exactly."
    )
    text = f"""## Tensors

`python benchmarks/gpu.py`, {where}. Processes that wanted a core: {before} at the start, {load()} at the end. {note}

""" + "\n".join(lines)
    if options.size == 1.0:
        write("gpu", text)


if __name__ == "__main__":
    main()
