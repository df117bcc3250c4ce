"""Check the files of a built wheel: `python wheel.py dist/*.whl` lists the faults."""

import sys
import zipfile
from pathlib import Path

DATA = (".pyi", ".html", ".css", ".js", ".json", ".svg")
"""Data files; at least one of each kind except the last is required."""
MAX_BYTES = 3_000_000
"""A larger wheel contains something other than code."""


def faults(names: list[str], source: set[str] | None = None) -> list[str]:
    """Return the faults of a wheel, one sentence each.

    `source` has the files of the package that it was built from, if they are available.
    """
    result = []
    info = [name for name in names if name.split("/")[0].endswith(".dist-info")]
    package = [name for name in names if name not in info]
    result += [f"{name} is not part of the package." for name in package if not name.startswith("oneof/")]
    suffixes = (".py", ".typed", *DATA)
    result += [f"{name} is an unexpected kind of file." for name in package if not name.endswith(suffixes)]
    result += [f"{name} is a test." for name in package if "/tests/" in name or "/test_" in name]
    result += [f"a {suffix} file is missing." for suffix in DATA[:-1] if not any(n.endswith(suffix) for n in package)]
    for name in ("oneof/__init__.py", "oneof/py.typed"):
        result += [f"{name} is missing."] * (name not in package)
    for name in ("METADATA", "licenses/LICENSE", "entry_points.txt"):
        result += [f"{name} is missing."] * (not any(n.endswith(f".dist-info/{name}") for n in info))
    if source is not None:
        result += [f"{name} is not in the wheel." for name in sorted(source - set(package))]
    return result


def sources(root: Path) -> set[str] | None:
    """Return the files of the package in a checkout with their names in a wheel; None without a checkout."""
    package = root / "src" / "oneof"
    if not package.is_dir():
        return None
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root / "src").as_posix() for path in files}


def main(path: Path) -> None:
    """Exit with the faults of a wheel, if there are any."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
    result = faults(names, sources(Path(__file__).resolve().parents[2]))
    if path.stat().st_size > MAX_BYTES:
        result.append(f"it has {path.stat().st_size} bytes, more than {MAX_BYTES}.")
    if result:
        sys.exit("\n".join([f"{path.name}:", *result]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
