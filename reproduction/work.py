"""Where trials are carried out: in this process, in several of this machine, or on a Dask cluster."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oneof.errors import InputError, LostWorkersError, MissingExtraError
from reproduction.records import Record, Result
from reproduction.trial import Trial

if TYPE_CHECKING:
    from distributed import Future

CONNECT_WITHIN = "10s"
Measure: TypeAlias = Callable[[Trial], Result]
"""A function of a module, so that other processes find it by its name."""


def attempt(measure: Measure, trial: Trial) -> Record:
    """Carry out one trial; an error becomes part of the record.

    Libraries get one thread, with which sums come out the same on any machine of a kind.
    """
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Of thousands of fits some end by max_iter: what they reached is what is measured.
            warnings.simplefilter("ignore")
            result = _plain(measure(trial))
    except MissingExtraError:
        raise  # it would be the end of every trial, and can be mended
    except Exception as error:  # a trial that fails is a record, and the others go on
        said = " ".join(str(error).split())
        return Record(trial, None, f"{type(error).__name__}: {said}", time.perf_counter() - start, _version())
    return Record(trial, result, None, time.perf_counter() - start, _version())


@cache
def _version() -> str:
    """Return the version of this process, which may be a worker of another machine."""
    from importlib.metadata import version

    return version("oneof")


def here(measure: Measure, trials: Sequence[Trial]) -> Iterator[Record]:
    """Carry out the trials one after the other."""
    for trial in trials:
        yield attempt(measure, trial)


def in_processes(measure: Measure, trials: Sequence[Trial], jobs: int) -> Iterator[Record]:
    """Carry out the trials in processes of this machine, and yield each record as soon as it is there.

    Raises
    ------
    LostWorkersError
        If one of the processes died.
    """
    from concurrent.futures import BrokenExecutor

    from joblib import Parallel, delayed

    work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    try:
        with warnings.catch_warnings():
            # A process that has read large data sets is taken for one that leaks, and replaced. It is told in a thread
            # of joblib's own, which `-W error` would end, and the run would wait for ever.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
            yield from work(delayed(attempt)(measure, trial) for trial in trials)
    except BrokenExecutor as error:
        raise LostWorkersError(
            "a process died, most often because memory ran out: start again with fewer --jobs, and the run goes on."
        ) from error


def on_cluster(measure: Measure, trials: Sequence[Trial], address: str) -> Iterator[Record]:
    """Carry out the trials on the workers of a Dask scheduler, where oneof and the data sets have to be.

    A trial whose worker was lost is sent to others; after three of them it counts as failed.

    Raises
    ------
    InputError
        If the scheduler does not answer, or has no workers.
    LostWorkersError
        If the scheduler goes away.
    MissingExtraError
        If Dask is not installed, or a worker lacks what a trial needs.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtraError("dask.distributed", "dask") from error
    try:
        client = Client(address, timeout=CONNECT_WITHIN, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: give its address, as tcp://host:8786.") from error
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise InputError(
                f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`."
            )
        futures = client.map(attempt, [measure] * len(trials), trials, pure=False, retries=0)
        trial_of = {future.key: trial for future, trial in zip(futures, trials, strict=True)}
        waiting = as_completed(futures, loop=client.loop)
        del futures  # a result that was handed on is dropped by the cluster
        for future in waiting:
            if future.cancelled():
                raise LostWorkersError(
                    f"the Dask scheduler at {address} went away: start again when it is back, and the run goes on."
                )
            yield _collected(future, trial_of[future.key])


def _collected(future: "Future", trial: Trial) -> Record:
    lost = future.exception()
    if isinstance(lost, MissingExtraError):
        raise lost  # as in `attempt`
    return future.result() if lost is None else Record(trial, None, f"{type(lost).__name__}: {lost}")


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back, so that a new record and one that was read are equal."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
