"""Files that a command writes: checks before the work, tables of results, and JSON."""

import contextlib
import datetime
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import InputError
from oneof.files import atomic_write, check_not_input, check_writable, create_directories

if TYPE_CHECKING:
    import polars as pl


def check_outputs(outputs: Mapping[str, Iterable[Path | None]], inputs: Collection[Path]) -> None:
    """Raise unless the files of each option can be written, are not inputs, and are those of no other option."""
    options: dict[Path, str] = {}
    for option, files in outputs.items():
        for file in filter(None, files):
            check_not_input([file], inputs, option)
            if file.is_dir():
                raise InputError(f"{option}: {file} is a folder. Name a file.")
            check_writable(file.parent)
            if (other := options.setdefault(file.resolve(), option)) != option:
                raise InputError(f"{other} and {option} must be different files; got {file} for both.")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` at the end; missing folders are created."""
    with create_directories(path.absolute().parent), atomic_write(path) as temporary:
        yield temporary


def write_frames(frames: "Iterable[pl.DataFrame]", write: Callable[[str], Any]) -> None:
    """Write the parts of a table as one CSV text."""
    for number, frame in enumerate(frames):
        write(frame.write_csv(include_header=number == 0))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object of JSON for people too."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def today() -> str:
    """Return the date of a page."""
    return datetime.datetime.now().astimezone().date().isoformat()
