"""`oneof label`: a page on which people label the rows that help most."""

from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "label"
EXAMPLES = """\b
Examples:
  oneof label birds.csv --labels species --classes finch,owl,wren
  oneof label letters.csv --labels topic --classes bill,order --show text body
  oneof label photos.csv --labels animal --classes cat,dog --show image file
  oneof label birds.csv --labels species --classes finch,owl,wren --export labeled.csv
"""


def run(
    table: options.TableFile,
    *,
    labels: Annotated[
        list[str],
        typer.Option("--labels", metavar="COLUMN", help="The column that answers are for; it may be empty, or new."),
    ],
    classes: options.Classes = None,
    show: Annotated[
        tuple[str, str] | None,
        typer.Option("--show", metavar="text|image COLUMN", help="Show a text, or an image; by default all columns."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", metavar="DIR", help="Folder of the images; by default the table's.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="Where answers are; by default TABLE-answers.sqlite."),
    ] = None,
    annotator: Annotated[
        str, typer.Option("--annotator", metavar="NAME", help="Who labels; the page can change it.")
    ] = "me",
    overlap: Annotated[int, typer.Option("--overlap", min=1, help="How many people should label each row.")] = 1,
    method: Annotated[
        str, typer.Option("--method", help="Name of a method, or auto: GraphLogisticRegression.")
    ] = "auto",
    strategy: Annotated[
        str, typer.Option("--strategy", help="What to ask by: mutual_information, entropy, margin, random, or auto.")
    ] = "auto",
    take: Annotated[
        list[Path] | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Answers from elsewhere: a table of item, worker and label, or .json of Label Studio.",
        ),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option("--match", metavar="COLUMN", help="What --import names items by; by default row numbers."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the table with its labels (.csv, .parquet), and end."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
    hide: Annotated[
        list[str] | None,
        typer.Option("--hide", metavar="COLUMN", help="Neither show nor learn from a column, as the truth."),
    ] = None,
    separator: options.Separator = "|",
    drop: options.Drop = None,
    text: options.Text = None,
    stop_words: options.StopWords = "none",
    stem: options.Stem = "none",
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Label the rows of a table on a web page of this machine, the most useful ones first.

    An answer may be one label, several, none of several, or that one cannot tell. Answers are kept in a file, from
    which labeling goes on the next time; the page and --export give the table with its labels, as fit reads it.
    """
    with guarded(debug=debug):
        import webbrowser

        from oneof.cli import terminal
        from oneof.cli.labeling import Wanted, begin
        from oneof.cli.outputs import reject_inputs
        from oneof.cli.prepared import Reading
        from oneof.io import Overrides
        from oneof.labeling.server import LabelingServer

        named = None if classes is None else options.split([classes])
        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        reading = Reading(options.split(labels), None, separator, named, overrides, stop_words, stem)
        kept = answers or Path(f"{table.stem}-answers.sqlite")
        wanted = Wanted(show, images, options.split(hide), method, strategy, overlap, kept, seed)
        reject_inputs([path for path in (export, kept) if path], [table, *(take or ())])
        begun = begin(table, reading, wanted, background=export is None)
        with begun.session as session:
            for sentence in begun.notes:
                terminal.note(sentence)
            imported = sum(session.import_annotations(file, match=match) for file in take or ())
            facts = {
                "table": str(table),
                "answers": str(kept),
                "rows": session.n_rows,
                "left": session.n_left(),  # after the imports
                "classes": session.classes.tolist(),
                "imported": imported,
            }
            if export is not None:
                session.export(export)
                terminal.show_json(facts | {"export": str(export)}) if json else terminal.say(
                    f"Written: {export} ({facts['left']} rows are left to label)."
                )
                return
            server = LabelingServer(session, title=table.name, annotator=annotator, images=begun.images, port=port)
            if json:
                terminal.show_json(facts | {"link": server.link})
            else:
                terminal.say(f"{table}: {facts['left']} of {session.n_rows} rows are left to label. The page:")
                terminal.say(f"  {server.link}")
                terminal.say(f"Answers are kept in {kept} as they are given. Ctrl-C ends.")
            if browser:
                webbrowser.open(server.link)
            try:
                server.run()
            except KeyboardInterrupt:  # the way to end
                if not json:
                    terminal.say(f"{session.n_left()} rows are left to label.")
