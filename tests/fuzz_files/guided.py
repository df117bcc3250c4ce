"""Files that atheris makes, led by which lines of ours they reach.

``python -m tests.fuzz_files.guided SECONDS [TARGET ...]``. Each target is a process of its own, which libFuzzer ends
where it finds something: then the file lies in ``build/fuzz``. How many files each target read is written to
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
FOUND = ROOT / "build" / "fuzz"
LIMITS = ("-timeout=30", "-rss_limit_mb=3072", "-malloc_limit_mb=3072", "-max_len=65536", "-print_final_stats=1")


def main() -> int:
    """Fuzz all targets, or those named, and return how many failed."""
    seconds, *names = sys.argv[1:]
    from tests.fuzz_files.targets import TARGETS

    names = names or list(TARGETS)
    rows, failed = [], 0
    FOUND.mkdir(parents=True, exist_ok=True)
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz_files.guided", "--one", name, seconds]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
        took = round(min(time.monotonic() - begun, float(seconds)))  # some more goes to the start
        told = done.stderr.decode(errors="replace")
        read, reached = _last(r"number_of_executed_units:\s*(\d+)", told), _last(r"cov: (\d+)", told)
        fault = _last(r"(?m)^\s*(\w*Error: .*|==\d+== ?ERROR.*)$", told) if done.returncode else ""
        failed += done.returncode != 0
        rows.append([name, read, reached, took, fault])
        sys.stdout.write(f"{rows[-1]}\n" + (told[-3000:] if done.returncode else ""))
        sys.stdout.flush()
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    lines = list(csv.reader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.exists() else [[]]
    known = {row[0]: row for row in lines[1:]} | {row[0]: row for row in rows}
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["reader", "files read", "places of our code reached", "seconds", "fault"])
        written.writerows(known[name] for name in TARGETS if name in known)
    return failed


def _last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1] if found else ""


def one(name: str, seconds: str) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    import oneof

    house = Path(oneof.__file__).parents[1]
    for path in (house / "oneof" / "solvers").rglob("*.py"):  # numba cannot compile what counts its own branches
        if re.search(r"numba|solvers\.compiled", path.read_text(encoding="utf-8")):
            importlib.import_module(".".join(path.relative_to(house).with_suffix("").parts))
    with atheris.instrument_imports(include=["oneof"]):
        from tests.fuzz_files.targets import TARGETS

        target = TARGETS[name]
        folder = Path(tempfile.mkdtemp(prefix="oneof-fuzz-"))
        seeds = target.seeds(folder)
        path = folder / target.name_of_file
        for good in seeds:  # what is imported on first use is imported here
            path.write_bytes(good)
            target.read(path)
    from oneof.errors import OneofError

    warnings.simplefilter("ignore")
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, good in enumerate(seeds):
        (corpus / str(number)).write_bytes(good)

    def read(data: bytes) -> None:
        for old in folder.glob(f"{target.name_of_file}*"):
            old.unlink()
        path.write_bytes(data)
        with suppress(OneofError):
            target.read(path)

    def change(data: bytes, most: int, seed: int) -> bytes:
        """Change a part within its container, so that checksums do not end every attempt."""
        generator = random.Random(seed)
        if generator.random() < 0.2:
            return atheris.Mutate(data, most)
        try:
            parts = target.container.take_apart(data)
            place = generator.randrange(len(parts))
            parts[place] = atheris.Mutate(parts[place], max(most - len(data) + len(parts[place]), 64))
            made = target.container.put_together(data, parts)
            return made if len(made) <= most else atheris.Mutate(data, most)
        except Exception:  # what cannot be taken apart is changed as a whole
            return atheris.Mutate(data, most)

    options: dict[str, Any] = {"custom_mutator": change}
    prefix = f"-artifact_prefix={FOUND}/{name.replace(' ', '-')}-"
    atheris.Setup([sys.argv[0], str(corpus), prefix, f"-max_total_time={seconds}", *LIMITS], read, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(*sys.argv[2:])
    else:
        sys.exit(main())
