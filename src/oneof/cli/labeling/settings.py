"""Settings of `oneof label` that are stored in the file of answers, so that a resumed session has them again.

An option is stored if it is given on the command line. A later run without the option has the stored value; a run with
the option replaces it. Options that name files of a single run, such as --export, and the labels are not stored.
"""

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

KINDS: dict[str, type] = {
    **dict.fromkeys(
        ("annotations_per_item", "combination", "gold", "groups", "images", "method", "row", "strategy"), str
    ),
    **dict.fromkeys(("decimal", "delimiter", "encoding", "format", "quote", "sheet"), str),
    **dict.fromkeys(("kind", "rest", "separator", "stem", "stop_words", "unreadable_labels"), str),
    **dict.fromkeys(("audit", "fold_case", "strict", "weighted"), bool),
    **dict.fromkeys(("categorical", "date_format", "drop", "hide", "missing", "numeric", "pin", "show", "text"), list),
}
"""Stored options, and the types of their values in JSON; lists are lists of text."""
_FILES = ("gold", "images", "stop_words")
"""Options whose value may be a file or a folder, which is stored with its whole path."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Attributes
    ----------
    given : dict of str to JSON value
        Options of the command line, by parameter.
    stored : dict of str to JSON value
        Options of earlier runs.
    """

    given: dict[str, Any]
    stored: dict[str, Any]

    @property
    def resumed(self) -> dict[str, Any]:
        """Stored options that are not given on the command line."""
        return {name: value for name, value in self.stored.items() if name not in self.given}

    def notes(self, path: Path) -> list[str]:
        """Return sentences about the stored options that are used, and those that are replaced."""
        sentences = []
        if self.resumed:
            words = shlex.join([word for name, value in self.resumed.items() for word in as_words(name, value)])
            sentences.append(
                f"{path} has settings of an earlier run, which are used: {words}. A value on the command line "
                "replaces a setting."
            )
        for name, value in self.given.items():
            if name in self.stored and self.stored[name] != value:
                new, old = (shlex.join(as_words(name, one)) for one in (value, self.stored[name]))
                sentences.append(f"{new} replaces the setting {old} of {path}.")
        return sentences

    def store(self, path: Path) -> None:
        """Store the settings in an existing file of answers, if they have changed."""
        from oneof.labeling.answers.database import store_settings

        merged = self.stored | self.given
        if merged != self.stored:
            store_settings(path, merged)


def as_words(name: str, value: Any) -> list[str]:
    """Return an option as words of a command line."""
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [option if value else option.replace("--", "--no-", 1)]
    if name == "show":
        return [option, *value]
    if name == "date_format":
        return [word for one in value for word in (option, one)]
    return [option, ",".join(value) if isinstance(value, list) else str(value)]


def with_stored_settings(command: Callable[..., None], answers_of: Callable[..., Path]) -> Callable[..., None]:
    """Return the command with the settings of its file of answers in place of options that are not given.

    Parameters
    ----------
    command : callable
        It has a parameter `settings`, which is not an option: the result passes a `Settings`.
    answers_of : callable
        ``(table, session_file)`` -> the file of answers.

    Returns
    -------
    callable
    """
    signature = inspect.signature(command)

    @functools.wraps(command)
    def run(context: typer.Context, table: Path, **options: Any) -> None:
        given = {name: _to_json(name, options[name]) for name in KINDS if _is_given(context, name)}
        settings = Settings(given, read_settings(answers_of(table, options["session_file"])))
        command(table, **options | _to_options(settings.resumed), settings=settings)

    added = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [added, *(one for one in signature.parameters.values() if one.name != "settings")]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def read_settings(path: Path) -> dict[str, Any]:
    """Return the valid settings of a file of answers; those of a later version, and invalid ones, are not used."""
    from oneof.labeling.answers.database import stored_settings

    stored = stored_settings(path)
    return {name: stored[name] for name in KINDS if name in stored and _is_valid(name, stored[name])}


def _is_valid(name: str, value: Any) -> bool:
    """Return whether a stored value has the type of its option."""
    kind = KINDS[name]
    if kind is not list:
        return isinstance(value, kind)
    is_text = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return is_text and (name != "show" or len(value) == 2)


def _is_given(context: typer.Context, name: str) -> bool:
    return getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"


def _to_json(name: str, value: Any) -> Any:
    """Return the value of an option in the types of JSON."""
    if name in _FILES and Path(value).exists():
        return str(Path(value).absolute())
    return list(value) if isinstance(value, list | tuple) else str(value) if isinstance(value, Path) else value


def _to_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored values as values of the options."""
    values = dict(settings)
    if "show" in values:
        values["show"] = tuple(values["show"])
    if "images" in values:
        values["images"] = Path(values["images"])
    return values
