"""The command ``python -m benchmarks THEME [PART] [OPTIONS]``; without arguments it lists the themes and parts."""

import argparse
import importlib
import inspect
import os
import subprocess
import sys
from typing import Any, NamedTuple

TABLE = """
peers: peers.table
  online                  20 min     online learners: scikit-learn, Vowpal Wabbit, river
  svm                     20 min     linear SVMs: scikit-learn, liblinear
  gaussian-processes      15 min     Gaussian process classifiers: scikit-learn
  graphs                  10 min     label propagation and spreading: scikit-learn
  naive-bayes             5 min      naive Bayes and self-training: scikit-learn
speed: speed
  growth                  30 min     time and memory of every estimator by the numbers of rows and classes
  threads                 20 min     every fit with its own number of threads, with one and with all
speed: logistic
  logistic                5 min *    PLEM and the solvers of LogisticRegression at equal objectives
online: online
  epochs                  5 min      rows per second of the online learners
  streaming               10 min     fits from files compared with rows in memory, and their memory
svm: svm
  transductive-speed      20 min     TransductiveSVM on 10,000 unlabeled documents
  transductive-accuracy   1 h        TransductiveSVM on the semi-supervised benchmark
loo-ridge: distractors
  sets                    30 min     with and without the judge on sets of all kinds; writes docs/loo_ridge_sets.csv
  sets-summary            1 s        the means of docs/loo_ridge_sets.csv
semi-supervised: semi_supervised
  neighbors               1 min *    exact and approximate nearest neighbors, with recall
  mnist                   5 min*     graph methods on MNIST with 1 and 5 labels a class
  graph-methods           20 min     graph methods on the semi-supervised benchmark
  gaussian-em             30 min     GaussianEM on the same benchmark
few-labels: few_labels
  made                    30 min *   choice of a method on tasks with few labels; writes docs/few_labels.csv
  book                    30 min *   the same on the splits of the semi-supervised benchmark; same file
  summary                 1 s        the tables of docs/semi_supervised.md from the file
accuracy: accuracy
  real-sets               hours      all methods on Lost, BirdSong and MSRCv2
  choosing                40 min     regret of choosing a method without true labels
tables: tables
  messy                   1 min      accuracy from a messy CSV file without an option, compared with the clean file
  numbers                 3 min      a million rows of 50 numbers in CSV, compared with one polars read
tables: serving
  serving                 3 min      time of predictions of rows, in Python and over HTTP
crowds: crowds
  aggregation             10 s *     labels from answers alone on four data sets; writes docs/crowds.csv
  intervals               10 s *     intervals of the accuracies of annotators on the same data sets
  classifiers             2 min *    classifiers fitted to answers on LabelMe; writes docs/crowds.csv
  rules                   10 min *   classifiers fitted to the votes of rules; writes docs/crowds.csv
conformal: conformal
  exact                   10 min *   prediction sets compared with those of MAPIE; writes docs/conformal.csv
  partial                 20 min *   calibration by rows with candidate sets; writes docs/conformal.csv
  summary                 1 s        the tables of docs/conformal.md from the file
audit: audit
  exact                   15 min *   errors in exact labels of 13 data sets; writes docs/audit_exact.csv
  sets                    10 min *   sets without the true class, and LabelMe; writes docs/audit_sets.csv
  refits                  30 min *   accuracy of refits on corrected weights; writes docs/audit_refits.csv
  summary                 1 s        the tables of docs/audit.md from the three files
reliability: reliability.determinism
  determinism             10 min     equal results of other processes and numbers of threads
  threads                 10 min     models shared by eight threads, and eight fits in parallel
  workers                 10 min     forked, spawned and joblib workers
  tables                  1 s        the tables of docs/reliability.md from docs/reliability/*.csv
reliability: reliability.fuzzing
  fuzzing                 10 min     random calls of every estimator and function, 100 cases of each
  truth                   5 min      errors on ill-conditioned problems by 50-digit oracles
reliability: reliability.memory
  memory                  1 h        memory of a fit, and of the fitted estimator
reliability: reliability.kills
  kills                   15 min     kill the labeling page, streams and the reproduction runner 500 times
reliability: reliability.supply
  supply                  1 s        docs/reliability/supply.md from pyproject.toml
equality: equality
  record                  2 min      record the results of every estimator in a file
  compare                 1 s        compare two records number by number
"""
"""Themes with their modules, and parts with approximate times on two cores; * gives numerical libraries one thread."""


class Part(NamedTuple):
    """A function of a theme's module."""

    module: str
    time: str
    about: str

    @property
    def one_thread(self) -> bool:
        """Whether numerical libraries get one thread."""
        return self.time.endswith("*")


def read_themes() -> dict[str, dict[str, Part]]:
    """Return the parts of each theme in `TABLE`."""
    themes: dict[str, dict[str, Part]] = {}
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            theme, module = line.split(": ")
            parts = themes.setdefault(theme, {})
        else:
            parts[line[:26].strip()] = Part(f"benchmarks.{module}", line[26:37].strip(), line[37:])
    return themes


THEMES = read_themes()


def list_themes(*themes: str) -> str:
    """Return the list of parts with their times, of all themes or of the given ones."""
    lines = ["usage: python -m benchmarks THEME [PART] [OPTIONS]", "Without PART, all parts of the theme are run."]
    for theme in themes or THEMES:
        parts = THEMES[theme].items()
        lines += ["", theme, *(f"  {name:22s} {part.about} ({part.time.rstrip(' *')})" for name, part in parts)]
    return "\n".join(lines)


def parse(function: Any, prog: str, words: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Parse the arguments of a part: its positional parameters by position, its keyword-only ones as options."""
    about = inspect.getdoc(function)
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=prog, description=about, formatter_class=style)
    positional, options = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        kind = parameter.annotation if parameter.annotation in (int, float, str) else type(default)
        kind = str if kind is type(None) else kind
        if parameter.kind is parameter.KEYWORD_ONLY:
            parser.add_argument(
                f"--{name.replace('_', '-')}", dest=name, type=kind, default=default, help=f"default: {default}"
            )
            options.append(name)
            continue
        is_repeated = parameter.kind is parameter.VAR_POSITIONAL
        number = "*" if is_repeated else None if parameter.default is parameter.empty else "?"
        parser.add_argument(name, type=kind, nargs=number, **({} if is_repeated else {"default": default}))
        positional.append((name, is_repeated))
    values = vars(parser.parse_args(words))
    args = [value for name, is_repeated in positional for value in (values[name] if is_repeated else [values[name]])]
    return args, {name: values[name] for name in options}


def run_part(theme: str, name: str, words: list[str]) -> int:
    """Run one part; a name that ends with "-child" is a process that a part has started."""
    parts = THEMES[theme]
    part = parts.get(name.removesuffix("-child")) or next(iter(parts.values()))
    if part.one_thread:  # before NumPy is imported
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
    function = getattr(importlib.import_module(part.module), name.replace("-", "_"))
    args, options = parse(function, f"python -m benchmarks {theme} {name}", words)
    return function(*args, **options) or 0


def main() -> int:
    """Run the parts of the command line."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(list_themes() + "\n")
        return 0
    theme, *rest = words
    if theme not in THEMES:
        sys.stderr.write(f"There is no theme {theme!r}; the themes are {', '.join(THEMES)}.\n")
        return 2
    if not rest:
        # Each part has its own process, with its own numbers of threads and its own peak memory.
        commands = [[sys.executable, "-m", "benchmarks", theme, name] for name in THEMES[theme]]
        return max(subprocess.run(command, check=False).returncode for command in commands)
    if rest[0] in ("-h", "--help"):
        sys.stdout.write(list_themes(theme) + "\n")
        return 0
    if rest[0].removesuffix("-child") not in THEMES[theme]:
        sys.stderr.write(f"{theme} has no part {rest[0]!r}; its parts are {', '.join(THEMES[theme])}.\n")
        return 2
    return run_part(theme, rest[0], rest[1:])


if __name__ == "__main__":
    sys.exit(main())
