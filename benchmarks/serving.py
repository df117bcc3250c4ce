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
    """Print the times of one row and of 1,000 rows of a survey of 124 columns, and the throughput of 8 clients."""
    forms = _survey()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.csv").write_bytes(make_survey().messy)
        run_oneof(folder, "fit", "train.csv", "--labels", "city", "--method", "LOORidge", "--folds", "2")
        path = Path(folder, "train-oneof/model.skops")
        predictor = RowPredictor(load(path))
        for form, rows in forms.items():
            print(f"cells as {form}", flush=True)
            expected = [row["label"] for row in predictor.predict(rows)]
            _report("Python", predictor.predict, rows)
            _, seconds = timed(lambda some=rows[:N_SINGLE]: [predictor.predict([row]) for row in some])
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
    """Return new rows of the survey, as they were exported and with cells of JSON."""
    test = make_survey(N_BATCH, seed=1)
    cells = {
        "text as exported": _records(test.messy.decode("latin-1"), ";"),
        "JSON": _records(test.clean.decode(), ","),
    }
    for row in cells["JSON"]:
        for name in row.keys() - {"region", "day", "consent"}:
            row[name] = float(row[name]) if name.startswith("q") and row[name] else row[name] or None
    return cells


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
