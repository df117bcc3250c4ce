"""Running the pending trials of a plan: in this process, in several processes, or on a Dask cluster."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oneof.errors import InputError, LostWorkersError, MissingExtraError
from reproduction.records import Record, Records, Result
from reproduction.store import Store
from reproduction.trial import Trial

if TYPE_CHECKING:
    from distributed import Future

CONNECT_TIMEOUT = "10s"
Measure: TypeAlias = Callable[[Trial], Result]
"""A module-level function, so that other processes can import it by name."""
Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of trials done in this run, the number of pending trials, and the last trial."""


def pending(trials: Sequence[Trial], store: Store, *, retry: bool = False) -> list[Trial]:
    """Return the trials without a record in the store; with `retry`, also those that failed."""
    records = store.records
    return [t for t in trials if t.key not in records or (retry and records[t.key].error is not None)]


def run(
    trials: Sequence[Trial],
    measure: Measure,
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry: bool = False,
    progress: Progress | None = None,
) -> Records:
    """Run the pending trials, and return the records of all trials.

    The result of a trial depends on the trial alone: neither the order, nor `jobs`, nor the number of interruptions
    changes the records. Only this process writes to the store.

    Parameters
    ----------
    trials : sequence of Trial
    measure : callable
        Trial -> dict of results; a module-level function.
    store : Store
        Open.
    jobs : int, default=1
        Number of processes of this machine; -1: one for each core.
    dask : str, optional
        Address of a Dask scheduler, whose workers are used instead of `jobs`.
    retry : bool, default=False
        Run the trials again that failed before.
    progress : callable, optional

    Returns
    -------
    Records
        In the order of the trials.

    Raises
    ------
    InputError
        If the trials are not all different, or `jobs` is 0.
    """
    if len(set(trials)) < len(trials):
        raise InputError("the trials of a plan must be distinct; one of them occurs twice.")
    if jobs == 0:
        raise InputError("`jobs` must be a positive number of processes, or -1 for one for each core; got 0.")
    waiting = pending(trials, store, retry=retry)
    if dask is not None:
        records = run_dask(measure, waiting, dask)
    else:
        serial = (run_trial(measure, trial) for trial in waiting)
        records = serial if jobs == 1 else run_multiprocess(measure, waiting, jobs)
    if progress is not None:
        progress(0, len(waiting), "starting")
    for done, record in enumerate(records if waiting else (), start=1):
        store.append(record)
        if progress is not None:
            progress(done, len(waiting), str(record.trial))
    return Records(store.records[trial.key] for trial in trials)


def run_trial(measure: Measure, trial: Trial) -> Record:
    """Run one trial; an error becomes part of the record.

    Libraries get one thread, so that sums are equal on all machines of a kind.
    """
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Some of thousands of fits stop at max_iter: their result is the measurement.
            warnings.simplefilter("ignore")
            result = _to_builtin(measure(trial))
    except MissingExtraError:
        raise  # every trial would fail in the same way, and the cause can be removed
    except Exception as error:  # a failed trial is a record, and the other trials run
        message = " ".join(str(error).split())
        return Record(trial, None, f"{type(error).__name__}: {message}", time.perf_counter() - start, _version())
    return Record(trial, result, None, time.perf_counter() - start, _version())


@cache
def _version() -> str:
    """Return the version of oneof in this process, which may be a worker of another machine."""
    from importlib.metadata import version

    return version("oneof")


def run_multiprocess(measure: Measure, trials: Sequence[Trial], jobs: int) -> Iterator[Record]:
    """Run the trials in processes of this machine, and yield each record as soon as it is complete.

    Raises
    ------
    LostWorkersError
        If one of the processes died.
    """
    from concurrent.futures import BrokenExecutor

    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    try:
        with warnings.catch_warnings():
            # joblib takes a process that has read large data sets for a leak, and replaces it. Its warning comes in a
            # thread of its own, which `-W error` would end, and the run would hang.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
            yield from pool(delayed(run_trial)(measure, trial) for trial in trials)
    except BrokenExecutor as error:
        raise LostWorkersError(
            "a process died, most often because memory ran out. Start again with fewer --jobs; the run continues."
        ) from error


def run_dask(measure: Measure, trials: Sequence[Trial], address: str) -> Iterator[Record]:
    """Run the trials on the workers of a Dask scheduler, where oneof and the data sets must be installed.

    A trial whose worker was lost is sent to another one; after three lost workers it counts as failed.

    Raises
    ------
    InputError
        If the scheduler does not answer, or has no workers.
    LostWorkersError
        If the connection to the scheduler is lost.
    MissingExtraError
        If Dask is not installed, or a worker lacks a package.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtraError("dask.distributed", "dask") from error
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}; use an address such as tcp://host:8786.") from error
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise InputError(
                f"the Dask scheduler at {address} has no workers. Start some with `dask worker {address}`."
            )
        futures = client.map(run_trial, [measure] * len(trials), trials, pure=False, retries=0)
        trial_of = {future.key: trial for future, trial in zip(futures, trials, strict=True)}
        waiting = as_completed(futures, loop=client.loop)
        del futures  # the cluster drops a result that was received
        for future in waiting:
            if future.cancelled():
                raise LostWorkersError(
                    f"the connection to the Dask scheduler at {address} was lost. Start again when it is back; the "
                    "run continues."
                )
            yield _result_of(future, trial_of[future.key])


def _result_of(future: "Future", trial: Trial) -> Record:
    error = future.exception()
    if isinstance(error, MissingExtraError):
        raise error  # as in `run_trial`
    return future.result() if error is None else Record(trial, None, f"{type(error).__name__}: {error}")


def _to_builtin(value: Any) -> Any:
    """Return a value as JSON restores it, so that a new record equals one that was read."""
    if isinstance(value, dict):
        return {str(name): _to_builtin(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_to_builtin(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
