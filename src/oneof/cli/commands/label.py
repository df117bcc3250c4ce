"""`oneof label`: label the most informative rows of a table on a local page."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.expand import expand
from oneof.cli.labeling.answers import import_files, note_chance, print_annotators, row_column
from oneof.cli.labeling.options import AnnotatorGroup, ExportGroup, LabelOptions, PageGroup, SessionGroup
from oneof.cli.labeling.session import OpenedSession, open_session
from oneof.cli.labeling.settings import Settings, with_stored_settings
from oneof.cli.option_groups import AnswerGroup, FeatureGroup, FileGroup, LabelGroup, ReadGroup
from oneof.cli.output import terminal

if TYPE_CHECKING:
    from oneof.cli.tables.read_options import ReadOptions

NAME = "label"
EXAMPLES = """\b
Examples:
  oneof label birds.csv --labels species --classes finch,owl,wren
  oneof label letters.csv --labels topic --classes bill,order --show text body
  oneof label photos.csv --labels animal --classes cat,dog --show image file
  oneof label calls.csv --labels species --classes finch,owl --show audio file
  oneof label birds.csv --labels species --audit
  oneof label birds.csv --labels species --audit --groups recorder
  oneof label birds.csv --labels species --classes finch,owl,wren --export labeled.csv
"""


def _label(
    table: options.TableFile,
    *,
    labels: Annotated[
        list[str],
        typer.Option(
            "--labels", metavar="COLUMN", help="Column for the labels; it may be empty, or missing in the table."
        ),
    ],
    page: PageGroup,
    session: SessionGroup,
    annotators: AnnotatorGroup,
    output: ExportGroup,
    label: LabelGroup,
    feature: FeatureGroup,
    file: FileGroup,
    json: options.Json = False,
    debug: options.Debug = False,
    settings: "Settings",
) -> None:
    """Label the rows of a table on a local web page, the most informative rows first.

    An answer is one label, several labels, excluded labels, or "don't know". Answers are stored in a file, and labeling
    resumes from it with the same options, which are stored in the file. The page and --export write the table with its
    labels in a form that fit reads.
    """
    with terminal.handle_errors(debug=debug):
        label_options = LabelOptions(page, session, annotators)
        groups = session.groups if session.audit else None
        read = ReadGroup(labels=labels, groups=groups, label=label, answer=AnswerGroup(), feature=feature, file=file)
        read_options = read.read_options()
        answers_file = session.answers_file(table)
        _check(table, label_options, output, settings)
        _print_notes(settings.notes(answers_file))
        # An export from an existing file changes no setting.
        is_stored = not output.exits or not answers_file.exists()
        opened = open_session(table, read_options, label_options, answers_file, serves=not output.exits)
        with opened.session:
            _print_notes(opened.notes)
            if is_stored:
                settings.store(answers_file)
            summary = _import(opened, table, label_options, read_options)
            if annotators.imports and not json:
                terminal.print_line(f"New answers imported: {summary['n_imported']:,}.")
            if output.exits:
                _export(opened, output, label_options, summary, json=json)
            else:
                _serve(opened, page, summary, json=json)


def _check(table: Path, label_options: LabelOptions, output: ExportGroup, settings: Settings) -> None:
    """Raise if options are missing, or a file would be overwritten."""
    from oneof.errors import InputError
    from oneof.files import check_not_input
    from oneof.sockets import check_server_installed

    annotators, session = label_options.annotators, label_options.session
    if not session.audit and "groups" in settings.given:
        raise InputError("--groups needs --audit: add it.")
    if annotators.answers_row is not None and not annotators.imports:
        raise InputError("--answers-row needs --import: add it.")
    written = {"--export": output.export, "--export-answers": output.export_answers}
    for option, path in (written | {"--session": session.answers_file(table)}).items():
        check_not_input([path] if path else [], [table, *(annotators.imports or ())], option)
    if output.export is not None and output.export == output.export_answers:
        raise InputError(f"--export and --export-answers both name {output.export}. Name two files.")
    if not output.exits:
        check_server_installed("labeling")  # before the file of the answers is created


def _import(
    opened: OpenedSession, table: Path, label_options: LabelOptions, read_options: "ReadOptions"
) -> dict[str, Any]:
    """Import the answers of --import, and return a summary of the session."""
    session, answers_file = opened.session, label_options.session.answers_file(table)
    n_imported, notes = import_files(
        label_options.annotators, opened.table, session, read_options.separator, answers_file
    )
    _print_notes(notes)
    return {
        "table": str(table),
        "answers": str(answers_file),
        "rows": session.n_rows,
        "n_remaining": session.n_remaining(),
        "classes": session.classes.tolist(),
        "n_imported": n_imported,
    }


def _export(
    opened: OpenedSession, output: ExportGroup, label_options: LabelOptions, summary: dict[str, Any], *, json: bool
) -> None:
    """Write the files of the options, and print the progress or a summary."""
    session = opened.session
    _print_notes(note_chance(session))
    if output.export is not None:
        write = session.export_changes if label_options.session.audit else session.export
        write(output.export)
    if output.export_answers is not None:
        match = row_column(opened.table, label_options.annotators.row)
        session.export_answers(output.export_answers, match=match)
    files = output.files()
    if json:
        progress = {"progress": [one.to_dict() for one in session.progress()]} if output.progress else {}
        terminal.print_json(summary | {name: str(path) for name, path in files.items()} | progress)
        return
    if output.progress:
        print_annotators(session.progress())
    for path in files.values():
        terminal.print_line(f"File: {path} ({_remaining(summary['n_remaining'])}).")


def _serve(opened: OpenedSession, page: PageGroup, summary: dict[str, Any], *, json: bool) -> None:
    """Serve the page until the process is interrupted."""
    import webbrowser

    from oneof.labeling.http.server import LabelingServer

    session, title = opened.session, Path(summary["table"]).name
    server = LabelingServer(session, title=title, annotator=page.name, images=opened.images, port=page.port)
    if json:
        terminal.print_json(summary | {"link": server.link, "lead_link": server.lead_link})
    else:
        n_remaining, n_shown = session.n_remaining(), session.n_remaining_for(page.name)
        gold_rows = f" (the page counts {n_shown}, with gold rows)" if n_shown != n_remaining else ""
        rows = f"{n_remaining} of {session.n_rows} rows remain to be labeled{gold_rows}"
        terminal.print_line(f"{summary['table']}: {rows}. The page:\n  {server.link}")
        terminal.print_line(
            f"The same for the lead only, with the accuracies and the answers of all annotators:\n  {server.lead_link}"
        )
        terminal.print_line(f"Every answer is stored in {summary['answers']} at once. Stop with Ctrl-C.")
    if page.browser:
        webbrowser.open(server.link)
    try:
        server.run()
    except KeyboardInterrupt:  # the documented way to stop
        if not json:
            terminal.print_line(f"{_remaining(session.n_remaining())}.")


def _print_notes(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        terminal.print_note(sentence)


def _remaining(number: int) -> str:
    return "1 row remains to be labeled" if number == 1 else f"{number} rows remain to be labeled"


run = with_stored_settings(expand(_label), lambda table, path: SessionGroup(path).answers_file(table))
