"""Fuzzing of the readers with files that atheris makes, guided by the lines of oneof that they reach.

``python -m tests.fuzz_files.guided SECONDS [TARGET ...]``. Each target has its own process, which libFuzzer ends
at a failure; the file is then in ``build/fuzz``. The number of files of each target is written to
``docs/reliability/readers.csv``.
"""

import csv
import importlib
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "reliability" / "readers.csv"
FAILURES = ROOT / "build" / "fuzz"
LIMITS = ("-timeout=30", "-rss_limit_mb=3072", "-malloc_limit_mb=3072", "-max_len=65536", "-print_final_stats=1")


def main() -> int:
    """Fuzz all targets, or the named ones, and return the number of failures."""
    seconds, *names = sys.argv[1:]
    from tests.fuzz_files.targets import TARGETS

    names = names or list(TARGETS)
    rows, n_failed = [], 0
    FAILURES.mkdir(parents=True, exist_ok=True)
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz_files.guided", "--one", name, seconds]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
        elapsed = round(min(time.monotonic() - start, float(seconds)))  # the start is not counted
        output = done.stderr.decode(errors="replace")
        n_read, coverage = _last(r"number_of_executed_units:\s*(\d+)", output), _last(r"cov: (\d+)", output)
        failure = _last(r"(?m)^\s*(\w*Error: .*|==\d+== ?ERROR.*)$", output) if done.returncode else ""
        n_failed += done.returncode != 0
        rows.append([name, n_read, coverage, elapsed, failure])
        sys.stdout.write(f"{rows[-1]}\n" + (output[-3000:] if done.returncode else ""))
        sys.stdout.flush()
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    lines = list(csv.reader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.exists() else [[]]
    stored = {row[0]: row for row in lines[1:]} | {row[0]: row for row in rows}
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["reader", "files read", "branches of oneof reached", "seconds", "failure"])
        writer.writerows(stored[name] for name in TARGETS if name in stored)
    return n_failed


def _last(pattern: str, text: str) -> str:
    matches = re.findall(pattern, text)
    return matches[-1] if matches else ""


def fuzz_target(name: str, seconds: str) -> None:
    """Fuzz one target in this process, which ends afterwards."""
    import atheris

    import oneof

    source = Path(oneof.__file__).parents[1]
    files = (path for room in ("graphs", "kernels", "solvers") for path in (source / "oneof" / room).rglob("*.py"))
    for path in files:  # numba cannot compile branch counters
        if re.search(r"import numba|from numba|oneof\.jit", path.read_text(encoding="utf-8")):
            importlib.import_module(".".join(path.relative_to(source).with_suffix("").parts))
    with atheris.instrument_imports(include=["oneof"]):
        from tests.fuzz_files.targets import TARGETS

        target = TARGETS[name]
        folder = Path(tempfile.mkdtemp(prefix="oneof-fuzz-"))
        seeds = target.seeds(folder)
        path = folder / target.name_of_file
        for valid in seeds:  # triggers imports on first use
            path.write_bytes(valid)
            target.read(path)
    from oneof.errors import OneofError

    warnings.simplefilter("ignore")
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, valid in enumerate(seeds):
        (corpus / str(number)).write_bytes(valid)

    def read(data: bytes) -> None:
        for former in folder.glob(f"{target.name_of_file}*"):
            former.unlink()
        path.write_bytes(data)
        with suppress(OneofError):
            target.read(path)

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        """Mutate a part within its container, so that checksums do not reject every file."""
        generator = random.Random(seed)
        if generator.random() < 0.2:
            return atheris.Mutate(data, max_size)
        try:
            parts = target.container.take_apart(data)
            index = generator.randrange(len(parts))
            parts[index] = atheris.Mutate(parts[index], max(max_size - len(data) + len(parts[index]), 64))
            changed = target.container.put_together(data, parts)
            return changed if len(changed) <= max_size else atheris.Mutate(data, max_size)
        except Exception:  # a file that cannot be split is mutated in full
            return atheris.Mutate(data, max_size)

    options: dict[str, Any] = {"custom_mutator": change}
    prefix = f"-artifact_prefix={FAILURES}/{name.replace(' ', '-')}-"
    atheris.Setup([sys.argv[0], str(corpus), prefix, f"-max_total_time={seconds}", *LIMITS], read, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        fuzz_target(*sys.argv[2:])
    else:
        sys.exit(main())
