"""`oneof label`: label the most informative rows of a table on a local page.

oneof label birds.csv --labels species --classes finch,owl,wren
oneof label letters.csv --labels topic --classes bill,order --show text body
oneof label photos.csv --labels animal --classes cat,dog --show image file
oneof label birds.csv --labels species --audit --groups recorder
oneof label birds.csv --labels species --classes finch,owl,wren --export labeled.csv
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from oneof.cli import options, terminal
from oneof.cli.options import (
    AnnotatorGroup,
    ExportGroup,
    LabelOptions,
    PageGroup,
    SessionGroup,
    StoredSettings,
    TableReadOptions,
)

if TYPE_CHECKING:
    from oneof.cli.labeling import OpenedSession


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    table_options: TableReadOptions,
    page: PageGroup,
    session: SessionGroup,
    annotators: AnnotatorGroup,
    output: ExportGroup,
    json: options.Json = False,
) -> None:
    """Label the rows of a table on a local web page, the most informative rows first.

    The column of labels may be empty, or missing in the table. An answer is one label, several labels, excluded labels,
    or "don't know". Answers are stored in a file, and labeling resumes from it with the same options, which are stored
    in the file. The page and --export write the table with its labels in a form that fit reads.
    """
    from oneof.cli.labeling import import_files, open_session

    answers_file = session.answers_file(table)
    settings = StoredSettings.read(context, (table_options, page, session, annotators), answers_file)
    table_options = settings.apply(table_options)
    label_options = LabelOptions(settings.apply(page), settings.apply(session), settings.apply(annotators))
    audits = label_options.session.audit
    if not audits:
        options.check_unused(context, ("groups",), "needs --audit: add it")
    groups = table_options.groups if audits else None
    read_options = options.ReadOptions(**vars(table_options) | {"groups": groups})
    read_options.check_weights()
    _check(table, label_options, output)
    terminal.print_note(*settings.notes(answers_file))
    # An export from an existing file changes no setting.
    is_stored = not output.exits or not answers_file.exists()
    opened = open_session(table, read_options, label_options, answers_file, serves=not output.exits)
    with opened.session:
        terminal.print_note(*opened.notes)
        if is_stored:
            settings.store(answers_file)
        n_imported, notes = import_files(
            label_options.annotators, opened.table, opened.session, read_options.separator, answers_file
        )
        terminal.print_note(*notes)
        if annotators.imports and not json:
            terminal.print_line(f"New answers imported: {n_imported:,}.")
        summary = {
            "table": str(table),
            "answers": str(answers_file),
            "rows": opened.session.n_rows,
            "n_remaining": opened.session.n_remaining(),
            "classes": opened.session.classes.tolist(),
            "n_imported": n_imported,
        }
        if output.exits:
            _export(opened, output, label_options, summary, json=json)
        else:
            _serve(opened, label_options.page, summary, json=json)


def _check(table: Path, label_options: LabelOptions, output: ExportGroup) -> None:
    """Raise if options are missing, or a file would be overwritten."""
    from oneof.cli.terminal import check_outputs
    from oneof.errors import InputError
    from oneof.sockets import check_server_installed

    annotators, session = label_options.annotators, label_options.session
    if annotators.answers_row is not None and not annotators.imports:
        raise InputError("--answers-row needs --import: add it.")
    written = {"--export": [output.export], "--export-answers": [output.export_answers]}
    check_outputs(written | {"--session": [session.answers_file(table)]}, [table, *(annotators.imports or ())])
    if not output.exits:
        check_server_installed("labeling")  # before the file of the answers is created


def _export(
    opened: "OpenedSession", output: ExportGroup, label_options: LabelOptions, summary: dict[str, Any], *, json: bool
) -> None:
    """Write the files of the options, and print the progress or a summary."""
    from oneof.cli.labeling import note_chance, print_annotators, row_column

    session, files = opened.session, {}
    terminal.print_note(*note_chance(session))
    if output.export is not None:
        write = session.export_changes if label_options.session.audit else session.export
        write(output.export)
        files["export"] = str(output.export)
    if output.export_answers is not None:
        match = row_column(opened.table, label_options.annotators.row)
        session.export_answers(output.export_answers, match=match)
        files["export_answers"] = str(output.export_answers)
    if json:
        progress = {"progress": [one.to_dict() for one in session.progress()]} if output.progress else {}
        terminal.print_json(summary | files | progress)
        return
    if output.progress:
        print_annotators(session.progress())
    remaining = _remaining(summary["n_remaining"])
    terminal.print_line(*(f"File: {path} ({remaining})." for path in files.values()))


def _serve(opened: "OpenedSession", page: PageGroup, summary: dict[str, Any], *, json: bool) -> None:
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


def _remaining(number: int) -> str:
    return "1 row remains to be labeled" if number == 1 else f"{number} rows remain to be labeled"
