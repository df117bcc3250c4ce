"""Time of predictions of rows: calls of `RowPredictor`, and requests to the server of `oneof serve`."""

import csv
import http.client
import io
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks.common import run_oneof, timed
from benchmarks.survey import make_survey
from oneof.persistence import load
from oneof.serving import RowPredictor

N_SINGLE, N_BATCH, N_CLIENTS, N_BATCHES = 200, 1_000, 8, 5


def serving():
    """Print the times of one row and of 1,000 rows, and the throughput of 8 clients, for two models."""
    for name, train, test, label, options in (_survey(), _remarks()):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.csv").write_bytes(train)
            method = ("--method", "LOORidge", "--folds", "2")
            run_oneof(folder, "fit", "train.csv", "--labels", label, *method, *options)
            path = Path(folder, "train-oneof/model.skops")
            predictor = RowPredictor(load(path))
            for form, rows in test.items():
                print(f"{name}, {len(predictor.columns)} features, cells as {form}", flush=True)
                expected = [row["label"] for row in predictor.predict(rows)]
                _report("Python", predictor.predict, rows)
                _, seconds = timed(lambda p=predictor, some=rows[:N_SINGLE]: [p.predict([row]) for row in some])
                print(f"  Python: processor time of one row {1e3 * seconds / N_SINGLE:.1f} ms")
                _measure_server(path, rows, expected)


def _measure_server(path, rows, expected):
    """Print the times of requests to a server in a process of its own."""
    command = [sys.executable, "-m", "oneof.cli", "serve", str(path), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        facts = "".join(iter(process.stdout.readline, "}\n")) + "}"
        address = urlsplit(json.loads(facts)["url"]).netloc
        connection = http.client.HTTPConnection(address)
        _report("HTTP", lambda some: _post(connection, {"rows": some}), rows)
        wrong, times = [], []

        def ask(first):
            own = http.client.HTTPConnection(address)
            for i in range(first, N_SINGLE * 2, N_CLIENTS):
                (status, reply), seconds = timed(lambda i=i: _post(own, {"row": rows[i]}), time.perf_counter)
                times.append(seconds)
                if status != 200 or reply["prediction"]["label"] != expected[i]:
                    wrong.append(i)

        with ThreadPoolExecutor(N_CLIENTS) as pool:
            _, seconds = timed(lambda: list(pool.map(ask, range(N_CLIENTS))), time.perf_counter)
        print(
            f"  {N_CLIENTS} clients: {len(times) / seconds:.0f} requests per second, median "
            f"{1e3 * np.median(times):.1f} ms; {len(wrong)} wrong or failed of {len(times)}",
            flush=True,
        )
    finally:
        process.terminate()
        process.wait()


def _survey():
    """Return the messy survey of 124 columns, and clean rows of the same distribution."""
    test = make_survey(N_BATCH, seed=1)
    messy, clean = _records(test.messy.decode("latin-1"), ";"), _records(test.clean.decode(), ",")
    cells = {"text as exported": messy, "JSON": clean}
    for row in cells["JSON"]:
        for name in row.keys() - {"region", "day", "consent"}:
            row[name] = float(row[name]) if name.startswith("q") and row[name] else row[name] or None
    return "survey", make_survey().messy, cells, "city", ()


def _remarks():
    """Return 2,000 generated remarks of 30 words of 5 topics, with two candidates in a third of the rows, and 1,000."""
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.full(5_000, 0.1), size=5)
    topics = rng.integers(5, size=2_000 + N_BATCH)
    remarks = [" ".join(f"word{w}" for w in rng.choice(5_000, 30, p=share[t])) for t in topics]
    other = (topics + rng.integers(1, 5, size=len(topics))) % 5
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["remark", "topic"])
    for i in range(2_000):
        candidates = sorted({topics[i], other[i] if i % 3 == 0 else topics[i]})
        writer.writerow([remarks[i], "|".join(f"topic{t}" for t in candidates)])
    rows = {"JSON": [{"remark": remark} for remark in remarks[2_000:]]}
    return "remarks", text.getvalue().encode(), rows, "topic", ("--text", "remark")


def _records(text, delimiter):
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    return [{name.strip(): cell for name, cell in row.items()} for row in rows]


def _report(name, predict, rows):
    """Print the times of one row and of all rows."""
    singles = [timed(lambda row=row: predict([row]), time.perf_counter)[1] for row in rows[:N_SINGLE]]
    batches = [timed(lambda: predict(rows), time.perf_counter)[1] for _ in range(N_BATCHES)]
    single = 1e3 * np.percentile(singles[1:], [50, 95])
    print(
        f"  {name}: one row {single[0]:.1f} ms (95 %: {single[1]:.1f} ms), first {1e3 * singles[0]:.1f} ms; "
        f"{N_BATCH:,} rows {np.median(batches):.2f} s",
        flush=True,
    )


def _post(connection, content):
    connection.request("POST", "/predict", json.dumps(content), {"content-type": "application/json"})
    reply = connection.getresponse()
    return reply.status, json.loads(reply.read())
