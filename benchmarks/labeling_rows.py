"""The labeling page of a table of 1,000,000 rows: time until it is ready, response times, and memory."""

import http.client
import json
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import polars as pl

N_FEATURES, PAUSE = 20, 1.0


def write_table(path, n_rows):
    """Write a CSV file of three classes, without labels."""
    rng = np.random.default_rng(0)
    shift = np.eye(3, N_FEATURES)[rng.integers(0, 3, n_rows)]
    X = (rng.normal(size=(n_rows, N_FEATURES)) + 2 * shift).round(3)
    pl.DataFrame({f"x{j}": X[:, j] for j in range(N_FEATURES)}).write_csv(path)


def usage(pid):
    """Return the resident and the largest resident memory of a process in MiB, and its processor seconds."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    memory = [int(status[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM")]
    return (*memory, sum(map(int, times)) / 100)


def table(n_rows=1_000_000, n_answers=100):
    """Print the time until `oneof label` serves a CSV file, the response times, and the memory of the server.

    One annotator pauses for a second before each answer, while the model is fitted in the background. Times are those
    of the clock; the processor time of the server is printed for a machine with other load. Linux only.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_table(path, n_rows)
        words = ("label", str(path), "--labels", "kind", "--classes", "a,b,c", "--no-browser", "--json")
        start = time.perf_counter()
        with subprocess.Popen([sys.executable, "-m", "oneof.cli", *words], stdout=subprocess.PIPE, text=True) as server:
            try:
                link = read_link(server.stdout)
                ready, (_, peak, seconds) = time.perf_counter() - start, usage(server.pid)
                print(f"ready after {ready:.1f} s ({seconds:.1f} s of processor time), at most {peak} MiB", flush=True)
                label(link, server.pid, n_answers)
            finally:
                server.terminate()


def read_link(output):
    """Return the link in the JSON of the server."""
    text = ""
    for line in output:
        text += line
        try:
            return json.loads(text)["link"]
        except json.JSONDecodeError:
            continue
    raise RuntimeError("the server has stopped")


def label(link, pid, n_answers):
    """Answer questions, and print the response times after every 20 answers."""
    address, path = urlsplit(link).netloc, urlsplit(link).path
    connection = http.client.HTTPConnection(address)

    def post(name, content):
        headers = {"origin": f"http://{address}", "content-type": "application/json"}
        connection.request("POST", f"{path}api/{name}", json.dumps(content), headers)
        return json.loads(connection.getresponse().read())

    response, milliseconds = post("ask", {"annotator": "Ann", "window": "w"}), []
    for n in range(1, n_answers + 1):
        time.sleep(PAUSE)
        cells = [float(value) for _, value in response["question"]["item"]["cells"][:3]]
        answer = {"kind": "one of", "labels": [int(np.argmax(cells))], "key": secrets.token_hex(8)}
        start = time.perf_counter()
        response = post("answer", {"question": response["question"]["id"]} | answer)
        milliseconds.append(1000 * (time.perf_counter() - start))
        if n % 20 == 0:
            now, peak, seconds = usage(pid)
            median, high, largest = np.percentile(milliseconds[-20:], [50, 95, 100])
            print(
                f"answers {n - 19} to {n}: median {median:.0f} ms, 95 % within {high:.0f} ms, at most {largest:.0f}; "
                f"fitted on {response['state']['n_labeled']} rows; {now} MiB, at most {peak}; {seconds:.0f} s",
                flush=True,
            )
    connection.close()
