"""What a built wheel holds: the package and nothing beside it. `python wheel.py dist/*.whl` says what is wrong."""

import sys
import zipfile
from pathlib import Path

DATA = (".html", ".css", ".js", ".svg")
"""Files of pages, of which there must be some of each kind but the last."""
LARGEST = 3_000_000
"""Bytes: more than that, and something came in that is no code."""


def faults(names: list[str], source: set[str] | None = None) -> list[str]:
    """Return what is wrong with the files of a wheel, a sentence each.

    `source` are the files of the package where it was built from, if they are at hand.
    """
    found = []
    info = [name for name in names if name.split("/")[0].endswith(".dist-info")]
    package = [name for name in names if name not in info]
    found += [f"{name} is no part of the package." for name in package if not name.startswith("oneof/")]
    known = (".py", ".typed", *DATA)
    found += [f"{name} is of a kind that no wheel needs." for name in package if not name.endswith(known)]
    found += [f"{name} is a test." for name in package if "/tests/" in name or "/test_" in name]
    found += [f"there is no {suffix} file." for suffix in DATA[:3] if not any(n.endswith(suffix) for n in package)]
    for name in ("oneof/__init__.py", "oneof/py.typed"):
        found += [f"{name} is missing."] * (name not in package)
    for name in ("METADATA", "licenses/LICENSE", "entry_points.txt"):
        found += [f"{name} is missing."] * (not any(n.endswith(f".dist-info/{name}") for n in info))
    if source is not None:
        found += [f"{name} is not in the wheel." for name in sorted(source - set(package))]
    return found


def sources(root: Path) -> set[str] | None:
    """Return the files of the package beside which this script lies, as a wheel names them; None without them."""
    package = root / "src" / "oneof"
    if not package.is_dir():
        return None
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root / "src").as_posix() for path in files}


def main(path: Path) -> None:
    """End with the faults of a wheel, if it has any."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
    found = faults(names, sources(Path(__file__).resolve().parents[2]))
    if path.stat().st_size > LARGEST:
        found.append(f"it has {path.stat().st_size} bytes, more than {LARGEST}.")
    if found:
        sys.exit("\n".join([f"{path.name}:", *found]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
