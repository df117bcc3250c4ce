"""The command ``python -m benchmarks THEME [PART] [OPTIONS]``; without arguments it lists the themes and parts."""

import argparse
import importlib
import inspect
import os
import subprocess
import sys
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A function of a theme's module."""

    module: str
    about: str
    time: str
    """Approximate running time on two cores."""
    one_thread: bool = False
    """Whether numerical libraries get one thread."""


def _parts(module: str, *parts: tuple[Any, ...]) -> dict[str, Part]:
    return {name: Part(f"benchmarks.{module}", *rest) for name, *rest in parts}


THEMES: dict[str, dict[str, Part]] = {
    "peers": _parts(
        "peers.table",
        ("online", "online learners: scikit-learn, Vowpal Wabbit, river", "20 min"),
        ("svm", "linear SVMs: scikit-learn, liblinear", "20 min"),
        ("gaussian-processes", "Gaussian process classifiers: scikit-learn", "15 min"),
        ("graphs", "label propagation and spreading: scikit-learn", "10 min"),
        ("naive-bayes", "naive Bayes and self-training: scikit-learn", "5 min"),
    ),
    "speed": {
        **_parts(
            "speed",
            ("candidates", "read a million candidate sets in each form", "1 min"),
            ("batch", "CLPL, PLEM and PLKNN compared with scikit-learn on exact labels", "3 min"),
            ("growth", "time and memory of every estimator by the numbers of rows and classes", "30 min"),
        ),
        **_parts(
            "logistic",
            ("logistic", "PLEM and the solvers of LogisticRegression at equal objectives", "5 min", True),
        ),
    },
    "online": _parts(
        "online",
        ("epochs", "rows per second of the online learners", "5 min"),
        ("streaming", "fits from files compared with rows in memory, and their memory", "10 min"),
    ),
    "hardware": {
        **_parts(
            "hardware",
            ("roofline", "bytes and operations of the main loops, and the fraction of the machine's rates", "5 min"),
        ),
        **_parts(
            "tensors",
            ("gpu", "PLGP and LOORidge on torch tensors, on a CUDA device if there is one", "10 min"),
        ),
    },
    "parallel": _parts(
        "parallel",
        ("dask", "fits over blocks on 1 to 4 worker processes", "15 min"),
        ("threads", "one and two threads compared with two processes", "3 min"),
    ),
    "svm": _parts(
        "svm",
        ("linear", "PLSVM compared with the published solver, linear kernel", "1 h"),
        ("kernel", "the same with an RBF kernel, 4,000 rows", "1 h"),
        ("large", "PLSVM on 60,000 rows of MNIST", "10 min"),
        ("transductive-speed", "TransductiveSVM on 10,000 unlabeled documents", "20 min"),
        ("transductive-accuracy", "TransductiveSVM on the semi-supervised benchmark", "1 h"),
    ),
    "gaussian-process": _parts(
        "gaussian_process",
        ("large", "60,000 rows of MNIST by the Nystroem approximation", "5 min"),
        ("mode", "the mode compared with the published solver and scikit-learn", "15 min"),
        ("proba", "probabilities of 10,000 rows", "10 min"),
        ("calibration", "calibration error on Lost, BirdSong and MSRCv2", "1 h"),
        ("annealing", "the objective with and without annealing, on Lost", "30 min"),
    ),
    "loo-ridge": {
        **_parts(
            "loo_ridge",
            ("accuracy", "LOORidge on Lost, MSRCv2 and BirdSong, seeds 0 to 4", "30 min"),
            ("held-out", "the same for seeds 5 to 14; writes docs/loo_ridge_held_out.csv", "1 h"),
            ("folds", "LOORidge on the stored folds of the same data sets", "5 min"),
            ("unlabeled", "ignored or used rows without a label", "30 min"),
            ("large", "letter and 100,000 synthetic rows", "10 min"),
            ("text", "TF-IDF of 5,000 newsgroup articles", "5 min"),
            ("figure", "docs/loo_ridge.png from the two tables", "3 s"),
        ),
        **_parts(
            "many_rows",
            ("growth", "time and memory from 10^4 to 10^6 rows; writes docs/loo_ridge_growth.csv", "30 min"),
            (
                "landmarks",
                "accuracy and time by the number of landmarks; writes docs/loo_ridge_landmarks.csv",
                "30 min",
            ),
            ("pixels", "60,000 x 784 pixels of MNIST", "5 min"),
            ("growth-figure", "docs/loo_ridge_growth.png from the two tables", "3 s"),
        ),
        **_parts(
            "distractors",
            ("sets", "with and without the judge on sets of all kinds; writes docs/loo_ridge_sets.csv", "30 min"),
            ("sets-summary", "the means of docs/loo_ridge_sets.csv", "1 s"),
        ),
        **_parts(
            "scenes",
            ("models", "distractor models on simulated recordings; writes docs/scenes.csv", "15 min"),
            ("models-summary", "the means of docs/scenes.csv", "1 s"),
            ("estimates", "accuracies estimated from simulated recordings, and corrected weights", "20 min"),
        ),
    },
    "candidate-em": _parts(
        "candidate_em",
        ("accuracy", "CandidateEM and other methods on six data sets; writes docs/candidate_em.csv", "1 h"),
        ("table", "the test accuracies of docs/candidate_em.csv", "1 s"),
        ("large", "60,000 x 784 pixels of MNIST: accuracy, time and memory", "2 h"),
    ),
    "graph-logistic": _parts(
        "graph_logistic",
        ("solver", "the three M-steps", "1 min"),
        ("wide", "fits on 5,000 sparse columns", "5 min"),
        ("label-curves", "accuracy by the number of labeled rows", "1 h"),
        ("views", "co-training on the six views of mfeat", "1 h"),
    ),
    "semi-supervised": _parts(
        "semi_supervised",
        ("solver", "labels over a given graph compared with scikit-learn", "5 min", True),
        ("full", "the same from rows to labels", "5 min", True),
        ("large", "200,000 rows: time and memory", "5 min", True),
        ("neighbors", "exact and approximate nearest neighbors, with recall", "1 min", True),
        ("graph-methods", "graph methods on the semi-supervised benchmark", "20 min"),
        ("gaussian-em", "GaussianEM on the same benchmark", "30 min"),
    ),
    "few-labels": _parts(
        "few_labels",
        ("made", "choice of a method on tasks with few labels; writes docs/few_labels.csv", "30 min", True),
        ("book", "the same on the splits of the semi-supervised benchmark; same file", "30 min", True),
        ("summary", "the tables of docs/semi_supervised.md from the file", "1 s"),
    ),
    "accuracy": _parts(
        "accuracy",
        ("real-sets", "all methods on Lost, BirdSong and MSRCv2", "hours"),
        ("lost", "compare() on Lost", "30 min"),
        ("choosing", "regret of choosing a method without true labels", "40 min"),
        ("feature-maps", "LOORidge by family of feature maps", "30 min"),
    ),
    "text": {
        **_parts(
            "text",
            ("methods", "LOORidge and other methods on texts with synthetic candidates", "15 min"),
            ("reuters", "ten topics of Reuters-21578 from 17 labeled documents", "1 h"),
            ("newsgroups", "EM on 20 Newsgroups from few labels", "1 h"),
            ("em-sweep", "a sweep of MultinomialEM compared with MultinomialNB", "1 min"),
        ),
        **_parts(
            "sparse_scaling",
            ("sparse-scaling", "scaling of TF-IDF rows; writes docs/sparse_scaling.csv", "5 min", True),
        ),
    },
    "labeling": _parts(
        "labeling_rows",
        ("table", "the labeling page of 1,000,000 rows: start, response times and memory", "4 min"),
    ),
    "active": {
        **_parts(
            "active",
            ("query", "time and memory of queries on a pool of 100,000 rows", "5 min", True),
            ("two-sensors", "one and two sensors, and mines found by queries", "30 min", True),
        ),
        **_parts(
            "active_labeling",
            ("labeling", "accuracy by the number of answers in a labeling session", "hours", True),
            ("latency", "time to the next question over HTTP", "5 min", True),
        ),
        **_parts(
            "degrees",
            ("degrees", "answers with degrees of certainty: ignored, with prior means, and learned", "2 min", True),
        ),
    },
    "tables": {
        **_parts(
            "tables",
            ("messy", "accuracy from a messy CSV file without an option, compared with the clean file", "1 min"),
            ("numbers", "a million rows of 50 numbers in CSV, compared with one polars read", "3 min"),
            ("parquet", "time of Parquet files with and without their decoding by another process first", "2 min"),
        ),
        **_parts("serving", ("serving", "time of predictions of rows, in Python and over HTTP", "3 min")),
    },
    "weights": {
        **_parts(
            "weights",
            ("lists", "probabilities of a weak classifier as labels; writes docs/weights_lists.csv", "1 h", True),
            ("temperatures", "weights of a wrong temperature, on generated labels", "20 min", True),
            ("calibrated", "lists of any confidence, calibrated; adds to docs/weights_lists.csv", "10 min", True),
            ("summary", "the tables of docs/weights.md from the two files", "1 s"),
            ("figure", "docs/weights.png from the same files", "3 s"),
        ),
        **_parts(
            "weights_crowd",
            ("crowd", "answers of annotators as weights on LabelMe; writes docs/weights_crowd.csv", "5 min", True),
        ),
        **_parts(
            "weights_speed",
            ("fits", "time of fits with weights and with sets; writes docs/weights_speed.csv", "15 min", True),
            ("hard-sets", "hard sets compared with a checkout of another version", "10 min", True),
            ("costs", "the tables of times of docs/weights.md from the two files", "1 s"),
        ),
    },
    "crowds": {
        **_parts(
            "crowds",
            ("aggregation", "labels from answers alone on four data sets; writes docs/crowds.csv", "10 s", True),
            ("intervals", "intervals of the accuracies of annotators on the same data sets", "10 s", True),
            ("classifiers", "classifiers fitted to answers on LabelMe; writes docs/crowds.csv", "2 min", True),
            (
                "rules",
                "classifiers fitted to the votes of rules on four data sets; writes docs/crowds.csv",
                "10 min",
                True,
            ),
        ),
        **_parts(
            "crowd_accuracy",
            ("estimated-accuracy", "intervals of the estimated accuracy with simulated annotators", "5 min", True),
        ),
        **_parts(
            "assignment",
            (
                "assignment",
                "fixed and adaptive numbers of answers; writes a table in docs/",
                "10 min",
                True,
            ),
            ("confidence", "the confidence from which on a row needs no more answers", "5 min", True),
        ),
    },
    "conformal": {
        **_parts(
            "conformal",
            ("exact", "prediction sets compared with those of MAPIE; writes docs/conformal.csv", "10 min", True),
            ("partial", "calibration by rows with candidate sets; writes docs/conformal.csv", "20 min", True),
            ("summary", "the tables of docs/conformal.md from the file", "1 s"),
        ),
        **_parts(
            "conformal_noise",
            ("noise", "prediction sets of labels that lack the truth; writes docs/conformal_noise.csv", "10 min"),
        ),
        **_parts(
            "conformal_crowds",
            ("crowds", "prediction sets of models of answers; writes docs/conformal_crowds.csv", "10 min"),
        ),
    },
    "audit": _parts(
        "audit",
        ("exact", "errors in exact labels of 13 data sets; writes docs/audit_exact.csv", "15 min", True),
        ("sets", "sets without the true class, and LabelMe; writes docs/audit_sets.csv", "10 min", True),
        ("refits", "accuracy of fits and of refits on corrected weights; writes docs/audit_refits.csv", "30 min", True),
        ("summary", "the tables of docs/audit.md from the three files", "1 s"),
    ),
    "reliability": {
        **_parts(
            "reliability.determinism",
            ("determinism", "equal results of other processes and numbers of threads", "10 min"),
            ("threads", "models shared by eight threads, and eight fits in parallel", "10 min"),
            ("workers", "forked, spawned and joblib workers", "10 min"),
            ("tables", "the tables of docs/reliability.md from docs/reliability/*.csv", "1 s"),
        ),
        **_parts(
            "reliability.fuzzing",
            ("fuzzing", "random calls of every estimator and function", "10 min for 100 cases"),
            ("truth", "errors on ill-conditioned problems by 50-digit oracles", "5 min"),
        ),
        **_parts(
            "reliability.memory",
            ("memory", "memory of a fit, and of the fitted estimator", "1 h"),
            ("opening-models", "time to import the model reader", "10 s"),
        ),
        **_parts(
            "reliability.kills",
            ("kills", "kill the labeling page, streams and the reproduction runner 500 times", "15 min"),
        ),
        **_parts("reliability.supply", ("supply", "docs/reliability/supply.md from pyproject.toml", "1 s")),
    },
    "equality": _parts(
        "equality",
        ("record", "record the results of every estimator in a file", "2 min"),
        ("compare", "compare two records number by number", "1 s"),
    ),
}


def list_themes(*themes: str) -> str:
    """Return the list of parts with their times, of all themes or of the given ones."""
    lines = ["usage: python -m benchmarks THEME [PART] [OPTIONS]", "Without PART, all parts of the theme are run."]
    for theme in themes or THEMES:
        parts = THEMES[theme]
        lines += ["", theme, *(f"  {name:22s} {part.about} ({part.time})" for name, part in parts.items())]
    return "\n".join(lines)


def parse(function: Any, prog: str, words: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Parse the arguments of a part: its positional parameters by position, its keyword-only ones as options."""
    parser = argparse.ArgumentParser(
        prog=prog, description=inspect.getdoc(function), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    positional, options = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        kind = parameter.annotation if parameter.annotation in (int, float, str) else type(default)
        kind = str if kind is type(None) else kind
        if parameter.kind is parameter.VAR_POSITIONAL:
            parser.add_argument(name, nargs="*", type=kind)
            positional.append(f"*{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            flag = f"--{name.replace('_', '-')}"
            extra = {"action": "store_true"} if kind is bool else {"type": kind, "default": default}
            parser.add_argument(flag, dest=name, help=f"default: {default}", **extra)
            options.append(name)
        else:
            optional = {} if parameter.default is parameter.empty else {"nargs": "?", "default": default}
            parser.add_argument(name, type=kind, **optional)
            positional.append(name)
    values = vars(parser.parse_args(words))
    args: list[Any] = []
    for name in positional:
        args += values[name[1:]] if name.startswith("*") else [values[name]]
    return args, {name: values[name] for name in options}


def run_part(theme: str, name: str, words: list[str]) -> int:
    """Run one part; a name that ends with "-child" is a process that a part has started."""
    parts = THEMES[theme]
    part = parts.get(name.removesuffix("-child")) or next(iter(parts.values()))
    if part.one_thread:  # before NumPy is imported
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
    module = importlib.import_module(part.module)
    function = getattr(module, name.replace("-", "_"))
    args, options = parse(function, f"python -m benchmarks {theme} {name}", words)
    return function(*args, **options) or 0


def main() -> int:
    """Run what the command line names."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(list_themes() + "\n")
        return 0
    theme, *rest = words
    if theme not in THEMES:
        sys.stderr.write(f"There is no theme {theme!r}; the themes are {', '.join(THEMES)}.\n")
        return 2
    parts = THEMES[theme]
    if not rest:
        # Each part has its own process, with its own numbers of threads and its own peak memory.
        commands = [[sys.executable, "-m", "benchmarks", theme, name] for name in parts]
        return max(subprocess.run(command, check=False).returncode for command in commands)
    if rest[0] in ("-h", "--help"):
        sys.stdout.write(list_themes(theme) + "\n")
        return 0
    if rest[0].removesuffix("-child") not in parts:
        sys.stderr.write(f"{theme} has no part {rest[0]!r}; its parts are {', '.join(parts)}.\n")
        return 2
    return run_part(theme, rest[0], rest[1:])


if __name__ == "__main__":
    sys.exit(main())
