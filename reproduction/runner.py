"""Carrying out what is left of a plan."""

from collections.abc import Callable, Sequence

from oneof.errors import InputError
from reproduction.records import Records
from reproduction.store import Store
from reproduction.trial import Trial
from reproduction.work import Measure, here, in_processes, on_cluster

Progress = Callable[[int, int, str], None]
"""Called with how many trials of those that were left are done, how many were left, and which came last."""


def left_of(trials: Sequence[Trial], store: Store, *, retry: bool = False) -> list[Trial]:
    """Return the trials that the store does not hold; with `retry` those too that failed."""
    known = store.records
    return [t for t in trials if t.key not in known or (retry and known[t.key].error is not None)]


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
    """Carry out the trials that the store does not hold, and return the records of all of them.

    What a trial gives depends on the trial alone, so that neither the order, nor `jobs`, nor how often a run was cut
    off and begun again changes the records. Only this process writes to the store.

    Parameters
    ----------
    trials : sequence of Trial
    measure : callable
        Trial -> dict of results; a function of a module.
    store : Store
        Open.
    jobs : int, default=1
        Processes of this machine; -1: one for each core.
    dask : str, optional
        Address of a Dask scheduler, whose workers take the place of `jobs`.
    retry : bool, default=False
        Run trials again that failed before.
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
        raise InputError("a plan names some trial twice: each trial may stand in it once.")
    if jobs == 0:
        raise InputError("jobs=0 is not possible: give a number of processes, or -1 for one for each core.")
    left = left_of(trials, store, retry=retry)
    if dask is not None:
        found = on_cluster(measure, left, dask)
    else:
        found = here(measure, left) if jobs == 1 else in_processes(measure, left, jobs)
    if progress is not None:
        progress(0, len(left), "starting")
    for done, record in enumerate(found if left else (), start=1):
        store.append(record)
        if progress is not None:
            progress(done, len(left), str(record.trial))
    return Records(store.records[trial.key] for trial in trials)
