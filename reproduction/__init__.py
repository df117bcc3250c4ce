"""The figures and tables of the methods' papers: trials as data, records, and the papers' claims, checked.

Run an experiment from the repository root with ``python -m reproduction NAME``. The files in reading order:

* `trial`: one measurement as data, with its key and its seeds; the replicates of a plan.
* `records`: the results of trials. `store`: their file, which survives a kill at any moment.
* `runner`: runs the pending trials in this process, in several processes or on a Dask cluster.
* `claims`: statements of a paper as assertions over records. `experiment`: all of it in one object.
* `registry`: the experiments by name. `papers/`: one module for each experiment.
* `data`, `plot_style`: what the experiments share. `outputs`: tables, figures and the page of one run.
* `docs_page`: the pages in docs/reproduction, made from the records of full runs.
"""

from reproduction.claims import Claim
from reproduction.experiment import Experiment
from reproduction.records import Record, Records
from reproduction.registry import NAMES, get_experiment, iter_experiments
from reproduction.runner import pending, run
from reproduction.store import Store
from reproduction.trial import Trial

__all__ = [
    "NAMES",
    "get_experiment",
    "iter_experiments",
    "pending",
    "run",
    "Claim",
    "Experiment",
    "Record",
    "Records",
    "Store",
    "Trial",
]
