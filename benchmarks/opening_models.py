"""What hiding scikit-learn's helpers for torch and dask saves a process that opens a model: opening_models.csv.

python benchmarks/opening_models.py
"""

import csv
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).parents[1] / "docs" / "reliability" / "opening_models.csv"
WAYS = {
    "import skops.io": "import skops.io",
    "as oneof.persistence imports it": "from oneof.persistence.archive import import_skops; import_skops()",
}
TAIL = "\nimport sys, time\nprint(time.process_time(), 'torch' in sys.modules, 'dask' in sys.modules)"
REPEATS = 2


def main():
    """Measure both ways, in turn, and keep the least processor time of each."""
    rows = []
    for way, code in WAYS.items():
        command = [sys.executable, "-c", code + TAIL]
        runs = [
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(REPEATS)
        ]
        rows.append([way, f"{min(float(run[0]) for run in runs):.1f}", *runs[0][1:]])
        print(*rows[-1], sep="\t", flush=True)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["a process that does", "CPU-s in all", "imports torch", "imports dask"])
        written.writerows(rows)


if __name__ == "__main__":
    main()
