"""How Vowpal Wabbit runs its race: cost-sensitive one-against-all, where the candidates cost nothing."""

from pathlib import Path

import numpy as np
from arrays import formed, read
from vowpalwabbit import Workspace
from worker import afresh, aside

PARSED = 2_000
"""Examples that are held at a time: 60,000 take gigabytes."""


def costs(mask):
    """Return each row's label: 0 for a candidate, 1 for another class."""
    return [" ".join(f"{k + 1}:{0 if inside else 1}" for k, inside in enumerate(row)) for row in mask.tolist()]


def features(X):
    """Return each row's features that are not 0, by number."""
    X = formed(X, "csr32")
    pairs = [f"{j}:{value:.6g}" for j, value in zip(X.indices.tolist(), X.data.tolist())]
    return ["|f " + " ".join(pairs[X.indptr[i] : X.indptr[i + 1]]) for i in range(X.shape[0])]


def csoaa(data, reading, options="", bits=18, n_rows=None):
    """Learn from a text file, from the binary cache of one, or from examples parsed before the clock starts."""
    X_test, y_test = read(data, "X_test"), read(data, "y_test")
    mask = read(data, "mask")[:n_rows]
    tests = features(X_test)
    lines = [f"{label} {row}" for label, row in zip(costs(mask), features(read(data, "X")[:n_rows]))]
    command = f"--csoaa {mask.shape[1]} -b {bits} --quiet {options}"

    def judge(workspace):
        found = np.array([workspace.predict(row) for row in tests]) - 1
        workspace.finish()
        return {"accuracy": (found == y_test).mean()}

    if reading == "parsed":

        def run(_):
            workspace = Workspace(command)
            learn, finish = workspace.learn, workspace.finish_example
            for first in range(0, len(lines), PARSED):
                with aside():
                    examples = [workspace.parse(line) for line in lines[first : first + PARSED]]
                    examples = [e[0] if isinstance(e, list) else e for e in examples]
                for example in examples:
                    learn(example)
                with aside():
                    for example in examples:
                        finish(example)
            return workspace

        return afresh, run, judge

    text = Path(data) / f"rows{n_rows or ''}.vw"
    text.write_text("\n".join(lines) + "\n")
    command += f" -d {text}"
    if reading == "cache":
        cache = text.with_suffix(f".{bits}.cache")
        cache.unlink(missing_ok=True)
        command += f" --cache_file {cache}"
        Workspace(command).finish()  # writes it
    return afresh, lambda _: Workspace(command), judge
