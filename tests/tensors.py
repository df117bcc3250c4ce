"""Tensors of torch in tests, on the processor and on a CUDA device if there is one."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator

import pytest

DEVICES = ["cpu"]
if importlib.util.find_spec("torch") is not None:
    with contextlib.suppress(ImportError):
        # The BLAS of torch must be loaded before oneof.parallel lists the BLAS libraries.
        import torch

        DEVICES += ["cuda"] * torch.cuda.is_available()


@contextlib.contextmanager
def tensors_on(device: str) -> Iterator[Callable]:
    """Return a function that converts arrays to tensors on a device, with one thread, since products are small.

    Skips the test if torch is not installed.
    """
    torch = pytest.importorskip("torch", reason="torch is not installed")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def tensor(values, **options):
        return torch.asarray(values, device=device, **options)

    yield tensor
    torch.set_num_threads(threads)
