"""`oneof label`: label the most informative rows of a table on a local page."""

from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.expand import expand
from oneof.cli.labeling.annotators import AnnotatorGroup, note_chance, print_annotators
from oneof.cli.labeling.imports import check_excluded_annotators, import_answers, read_import, row_column
from oneof.cli.labeling.session import LabelOptions, open_session
from oneof.cli.labeling.settings import Settings, print_settings, with_stored_settings
from oneof.cli.option_groups import AnswerGroup, FeatureGroup, FileGroup, LabelGroup, ReadGroup
from oneof.cli.output import terminal

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


def _answers_file(table: Path, session_file: Path | None) -> Path:
    """Return the file of the answers to the rows of a table."""
    from oneof.io import stem_of

    return session_file or Path(f"{stem_of(table)}-answers.sqlite")


def _label(
    table: options.TableFile,
    *,
    labels: Annotated[
        list[str],
        typer.Option(
            "--labels", metavar="COLUMN", help="Column for the labels; it may be empty, or missing in the table."
        ),
    ],
    show: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--show",
            metavar="text|image|audio COLUMN",
            help="Show one column, as text, image or audio; by default all columns.",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images", metavar="DIR", help="Folder of the images or audio files; by default the folder of the table."
        ),
    ] = None,
    session_file: Annotated[
        Path | None,
        typer.Option(
            "--session",
            metavar="FILE",
            help="File that stores the answers of the session; by default TABLE-answers.sqlite.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the annotator; the page can change it.")
    ] = "me",
    annotations_per_item: Annotated[
        int, typer.Option("--annotations-per-item", metavar="N", min=1, help="Number of annotators who label each row.")
    ] = 1,
    combination: Annotated[
        str,
        typer.Option(
            "--combination",
            metavar="votes|model",
            help="Combination of several annotators: votes, or model: weights by their estimated accuracies.",
        ),
    ] = "votes",
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Name of a method, or auto: GraphLogisticRegression.")
    ] = "auto",
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy", metavar="NAME", help="Query strategy: mutual_information, entropy, margin, random, or auto."
        ),
    ] = "auto",
    audit: Annotated[
        bool,
        typer.Option("--audit/--no-audit", help="Review the rows whose labels are probably wrong; see oneof audit."),
    ] = False,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN",
            help="--audit: column of groups, such as patients or recordings. A row is predicted without the rows of "
            "its group, as by oneof audit. The column is shown, and is not a feature.",
        ),
    ] = None,
    imports: Annotated[
        list[Path] | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Import answers, as oneof fit --answers reads them: a table with a line for each, or a column for "
            "each annotator; .json of Label Studio, or .zip of doccano.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the table with its labels (.csv or .parquet), and exit."),
    ] = None,
    export_answers: Annotated[
        Path | None,
        typer.Option(
            "--export-answers",
            metavar="FILE",
            help="Write the answers of all annotators, one per line (.csv, .jsonl or .parquet), and exit; fit, compare "
            "and audit read them as --answers.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port of the page; 0 selects a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide",
            metavar="COLUMN",
            help="Exclude a column from the page and from the features, such as true labels.",
        ),
    ] = None,
    annotator_group: AnnotatorGroup,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin", metavar="COLUMN", help="Show a column first, and keep it visible while the others are scrolled."
        ),
    ] = None,
    label_group: LabelGroup,
    feature_group: FeatureGroup,
    file_group: FileGroup,
    seed: options.Seed = 0,
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
        import webbrowser

        from oneof.errors import InputError
        from oneof.files import check_not_input
        from oneof.labeling.http.server import LabelingServer
        from oneof.sockets import check_server_installed

        exits = export is not None or export_answers is not None or annotator_group.progress
        if not audit and "groups" in settings.given:
            raise InputError("--groups needs --audit: add it.")
        if annotator_group.answers_row is not None and not imports:
            raise InputError("--answers-row needs --import: add it.")
        read_options = ReadGroup(
            labels=labels,
            groups=groups if audit else None,
            label=label_group,
            answer=AnswerGroup(),
            feature=feature_group,
            file=file_group,
        ).read_options()
        answers_file = _answers_file(table, session_file)
        label_options = LabelOptions(
            show,
            images,
            options.read_names("--hide", hide),
            method,
            strategy,
            annotations_per_item,
            combination,
            answers_file,
            seed,
            audit and not exits,
            options.read_names("--pin", pin),
            annotator_group,
        )
        for option, path in (
            ("--export", export),
            ("--export-answers", export_answers),
            ("--session", answers_file),
        ):
            check_not_input([path] if path else [], [table, *(imports or ())], option)
        if export is not None and export == export_answers:
            raise InputError(f"--export and --export-answers both name {export}. Name two files.")
        if not exits:
            check_server_installed("labeling")  # before the file of the answers is created
        print_settings(settings, answers_file)
        is_stored = not exits or not answers_file.exists()  # an export from an existing file changes no setting
        opened = open_session(table, read_options, label_options, background=not exits)
        with opened.session as session:
            for sentence in opened.notes:
                terminal.print_note(sentence)
            if is_stored:
                settings.store(answers_file)
            files = [
                read_import(annotator_group.answer_options(file), opened.table, session, label_group.separator)
                for file in imports or ()
            ]
            check_excluded_annotators(annotator_group.excluded(), session, files, answers_file)
            n_imported = 0
            for file in files:
                n_imported += import_answers(file, session)
                for sentence in file.notes:
                    terminal.print_note(sentence)
            for sentence in note_chance(session) if exits else ():
                terminal.print_note(sentence)
            summary = {
                "table": str(table),
                "answers": str(answers_file),
                "rows": session.n_rows,
                "n_remaining": session.n_remaining(),  # after the imports
                "classes": session.classes.tolist(),
                "n_imported": n_imported,
            }
            if imports and not json:
                terminal.print_line(f"New answers imported: {n_imported:,}.")
            if export is not None:
                if audit:
                    session.export_changes(export)
                else:
                    session.export(export)
            if export_answers is not None:
                session.export_answers(export_answers, match=row_column(opened.table, annotator_group.row))
            if exits:
                names = {"export": export, "export_answers": export_answers}
                written = {name: str(path) for name, path in names.items() if path is not None}
                if annotator_group.progress:
                    print_annotators(session.progress(), summary | written if json else None)
                elif json:
                    terminal.print_json(summary | written)
                if not json:
                    for output in written.values():
                        terminal.print_line(f"File: {output} ({_remaining(summary['n_remaining'])}).")
                return
            server = LabelingServer(session, title=table.name, annotator=name, images=opened.images, port=port)
            if json:
                terminal.print_json(summary | {"link": server.link, "lead_link": server.lead_link})
            else:
                n_remaining, n_shown = session.n_remaining(), session.n_remaining_for(name)
                gold_rows = f" (the page counts {n_shown}, with gold rows)" if n_shown != n_remaining else ""
                terminal.print_line(
                    f"{table}: {n_remaining} of {session.n_rows} rows remain to be labeled{gold_rows}. The page:"
                )
                terminal.print_line(f"  {server.link}")
                terminal.print_line(
                    "The same for the lead only, with the accuracies and the answers of all annotators:\n"
                    f"  {server.lead_link}"
                )
                terminal.print_line(f"Every answer is stored in {answers_file} at once. Stop with Ctrl-C.")
            if browser:
                webbrowser.open(server.link)
            try:
                server.run()
            except KeyboardInterrupt:  # the documented way to stop
                if not json:
                    terminal.print_line(f"{_remaining(session.n_remaining())}.")


def _remaining(number: int) -> str:
    return "1 row remains to be labeled" if number == 1 else f"{number} rows remain to be labeled"


run = with_stored_settings(expand(_label), _answers_file)
