"""Settings of `oneof label` that are stored in the file of answers, so that a resumed session has them again.

An option is stored if it is given on the command line. A later run without the option has the stored value; a run with
the option replaces it. Options of a single run, such as --export, and the labels are not stored.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from oneof.cli.options import NAMES, is_given, option_fields, option_name
from oneof.cli.output import terminal
from oneof.messages import write_names

_OF_ONE_RUN = frozenset({"labels", "classes", "name", "port", "browser", "session_file", "exclude_annotator"})
_OF_IMPORTS = frozenset({"imports", "answers_row", "negation", "annotator", "answer"})
"""Options that are not stored; the file of answers has the classes."""
_FILES = ("gold", "images")
"""Options whose value may be a file or a folder, which is stored with its whole path."""


def stored_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record that are stored, by name."""
    return {one.name: one for one in option_fields(record) if one.name not in _OF_ONE_RUN | _OF_IMPORTS}


@dataclass(frozen=True)
class StoredSettings:
    """Settings of a run.

    Attributes
    ----------
    fields : dict of str to Field
        The options that are stored.
    given : dict of str to JSON value
        Options of the command line, by parameter.
    stored : dict of str to JSON value
        Options of earlier runs.
    """

    fields: dict[str, Any]
    given: dict[str, Any]
    stored: dict[str, Any]

    @classmethod
    def read(cls, context: typer.Context, records: Sequence[Any], path: Path) -> "StoredSettings":
        """Return the options of a command line, and the valid ones in a file of answers."""
        from oneof.labeling.answers.database import stored_settings

        known = {name: one for record in records for name, one in stored_fields(record).items()}
        values = {name: getattr(record, name) for record in records for name in stored_fields(record)}
        given = {name: to_json(name, value) for name, value in values.items() if is_given(context, name)}
        found = stored_settings(path)  # a later version may have stored others
        return cls(known, given, {name: found[name] for name in known if _is_valid(known[name], found.get(name))})

    def apply(self, record: Any) -> Any:
        """Return a record of options with the stored values in place of those that are not given."""
        used = self.resumed.keys() & stored_fields(record)
        return replace(record, **{name: _from_json(self.fields[name], self.stored[name]) for name in used})

    @property
    def resumed(self) -> dict[str, Any]:
        """Stored options that are not given on the command line."""
        return {name: value for name, value in self.stored.items() if name not in self.given}

    def notes(self, path: Path) -> list[str]:
        """Return sentences about the stored options that are used, and those that are replaced."""
        sentences = []
        if self.resumed:
            words = " ".join(self._words(name, value) for name, value in self.resumed.items())
            sentences.append(
                f"{path} has settings of an earlier run, which are used: {words}. A value on the command line "
                "replaces a setting."
            )
        for name, value in self.given.items():
            if name in self.stored and self.stored[name] != value:
                new, old = self._words(name, value), self._words(name, self.stored[name])
                sentences.append(f"{new} replaces the setting {old} of {path}.")
        return sentences

    def store(self, path: Path) -> None:
        """Store the settings in an existing file of answers, if they have changed."""
        from oneof.labeling.answers.database import store_settings

        merged = self.stored | self.given
        if merged != self.stored:
            store_settings(path, merged)

    def _words(self, name: str, value: Any) -> str:
        return shlex.join(as_words(self.fields[name], value))


def as_words(one: Any, value: Any) -> list[str]:
    """Return a stored option, by its field, as words of a command line."""
    name, _, off = option_name(one).partition("/")
    if isinstance(value, bool):
        return [name if value else off or name.replace("--", "--no-", 1)]
    if one.type in (NAMES, NAMES | None):
        return [name, write_names(value)]
    if isinstance(value, list):
        return [name, *value] if one.name == "show" else [word for entry in value for word in (name, entry)]
    return [name, str(value)]


def to_json(name: str, value: Any) -> Any:
    """Return the value of an option in the types of JSON."""
    if name in _FILES and Path(value).exists():
        return str(Path(value).absolute())
    return terminal.to_builtin(value)


def _from_json(one: Any, value: Any) -> Any:
    """Return the value of an option from the types of JSON."""
    if isinstance(value, list) and one.type != list[str] | None:
        return tuple(value)
    return Path(value) if one.name == "images" else value


def _is_valid(one: Any, value: Any) -> bool:
    """Return whether a stored value has the type of its option."""
    if one.type in (NAMES, NAMES | None, list[str] | None) or one.name == "show":
        is_text = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        return is_text and (one.name != "show" or len(value) == 2)
    return isinstance(value, bool if one.type is bool else str)
