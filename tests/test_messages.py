"""Warnings name the line of the user's code, however many calls of oneof and scikit-learn are between."""

import ast
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oneof
from oneof.candidates import CandidateSets
from oneof.conformal import ConformalClassifier
from oneof.crowd import AnnotatorModel, CrowdClassifier
from oneof.messages import enumerate_items, warn
from oneof.metrics import covering_rate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) + 2.0 * np.eye(3)[np.arange(30) % 3]
Y = np.array(["a", "b", "c"])[np.arange(30) % 3]
FEW = np.where(np.arange(30) < 3, Y, None)
TEXTS = ["a|b" if i % 5 == 0 else Y[i] for i in range(30)]
"""Labels of which "a|b" is read as one class, with a warning."""
ANSWERS = np.array([[y, y, RNG.choice(["a", "b", "c"])] for y in Y], dtype=object)
CLPL = oneof.CLPL(max_iter=1)
CALLS: dict[str, Callable[[], Any]] = {
    "fit": lambda: oneof.PLEM(max_iter=1).fit(X, Y),
    "fit, labels": lambda: oneof.PLKNN().fit(X, TEXTS),
    "pipeline": lambda: make_pipeline(StandardScaler(), CLPL).fit(X, Y),
    "nested pipelines": lambda: make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), CLPL)).fit(X, Y),
    "search": lambda: GridSearchCV(CLPL, {"fit_intercept": [True, False]}, cv=2).fit(X, Y),
    "graph": lambda: oneof.HarmonicField(n_neighbors=1).fit(X, FEW),
    "graph logistic": lambda: oneof.GraphLogisticRegression(max_iter=1).fit(X, Y),
    "support vector machine": lambda: oneof.PLSVM(max_iter=1).fit(X, TEXTS),
    "transductive": lambda: oneof.TransductiveSVM(max_iter=1).fit(X, FEW),
    "generative": lambda: oneof.GaussianEM(max_iter=1).fit(X, FEW),
    "Gaussian process": lambda: oneof.PLGP(optimizer=None, max_iter=1).fit(X, Y),
    "wrapper": lambda: oneof.CandidateEM(max_iter=1).fit(X, TEXTS),
    "score": lambda: oneof.PLKNN().fit(X, Y).score(X, TEXTS),
    "compare": lambda: oneof.compare(X, TEXTS, {"CLPL": CLPL, "PLKNN": oneof.PLKNN()}, cv=2),
    "from_strings": lambda: CandidateSets.from_strings(["a|b", "n/a"]),
    "from_weights": lambda: CandidateSets.from_strings(["a:0.7|a:0.3", "b:1|a:1"], weighted=True),
    "prediction sets": lambda: ConformalClassifier(CLPL, coverage=0.999, cv=2).fit(X, Y),
    "annotators": lambda: AnnotatorModel(max_iter=1).fit(ANSWERS),
    "crowd": lambda: CrowdClassifier(CLPL, max_iter=1).fit(X, ANSWERS),
    "metric": lambda: covering_rate(np.eye(3, dtype=int), [0, 1, 7]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_warning_names_the_line_of_the_caller(call: Callable[[], Any]) -> None:
    """Every warning of a public function, called directly or by scikit-learn, has the line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    lines = {(warning.filename, warning.lineno) for warning in caught}
    assert lines == {(__file__, call.__code__.co_firstlineno)}


def test_a_warning_is_shown_once_for_each_line() -> None:
    """The filter "default" of Python tells two lines of the user apart, although both call the same line of oneof."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            CandidateSets.from_strings(["a|b", "n/a"])
        CandidateSets.from_strings(["a|b", "n/a"])
    assert len(caught) == 2


def test_a_warning_without_a_caller_names_its_own_line() -> None:
    """In a thread that has no frame of the user, the warning names the line that issued it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = Thread(target=oneof.PLEM(max_iter=1).fit, args=(X, Y))
        thread.start()
        thread.join()
    assert [Path(warning.filename).name for warning in caught] == ["base.py"]


SCRIPT = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from sklearn.model_selection import GridSearchCV

import oneof

if __name__ == "__main__":
    X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 3
    GridSearchCV(oneof.PLEM(max_iter=1), {"fit_intercept": [True, False]}, cv=2, refit=False, n_jobs=2).fit(X, y)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(oneof.PLEM(max_iter=1).fit, X, y).result()
"""


@pytest.mark.long
def test_a_warning_of_a_worker_process_names_its_own_line(tmp_path: Path) -> None:
    """Workers of joblib and Python, which have no frame of the user, name no line of the code that starts them."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONWARNINGS": "always::UserWarning"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    files = re.findall(r"^(.*):\d+: ConvergenceWarning", done.stderr, flags=re.MULTILINE)
    assert len(files) == 5, done.stderr
    assert {Path(file).name for file in files} == {"base.py"}


def test_a_warning_keeps_its_category() -> None:
    """A category is passed as to `warnings.warn`, and a `Warning` has its own."""
    with pytest.warns(RuntimeWarning, match="first"):
        warn("first", RuntimeWarning)
    with pytest.warns(FutureWarning, match="second"):
        warn(FutureWarning("second"))


def test_warnings_of_one_comparison_differ_in_more_than_a_name_and_numbers() -> None:
    """Fits of several methods to several folds, each with its own number of rows, have one warning of one kind."""
    rows = np.concatenate([X, X[:9] + 1e4, X[:9] - 1e4])
    y = [*Y[:30], *[None] * 18]
    methods = ["HarmonicField", "LocalGlobalConsistency", "MarkovWalk"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        oneof.compare(rows, y, methods, cv=3, refit=False)
    assert ["in components of the graph" in str(warning.message) for warning in caught] == [True]


def test_no_module_counts_frames() -> None:
    """Only `oneof.messages` calls the functions of `warnings` that issue one, so no warning names a line of oneof."""
    package = Path(oneof.__file__).parent
    calls = [
        f"{path.relative_to(package)}, line {node.lineno}"
        for path in package.rglob("*.py")
        if path.name != "messages.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in ("warn", "warn_explicit")
        and isinstance(node.value, ast.Name)
        and node.value.id == "warnings"
    ]
    assert not calls


@pytest.mark.parametrize("conjunction", [True, False])
@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_each_item_is_written_or_counted(n: int, limit: int | None, *, conjunction: bool) -> None:
    """The items are in their order, and the number of the others is written."""
    items = [f"item{i}" for i in range(n)]
    text = enumerate_items(items, limit, conjunction=conjunction)
    shown = [item for item in items if item in text]
    assert shown == items[: n if limit is None else limit]
    assert all(text.index(a) < text.index(b) for a, b in pairwise(shown))
    assert text.endswith(f"{n - len(shown)} more") == (len(shown) < n)
    assert (" and " in text) == (len(shown) < n or (conjunction and n > 1))
