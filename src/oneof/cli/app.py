"""Typer application with all commands: each is a module with the examples of its help and a function `run`."""

import shlex
from inspect import cleandoc
from textwrap import indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import oneof
from oneof.cli import options, terminal
from oneof.cli.commands import audit, compare, datasets, demo, fit, inspect, label, predict, serve


class Command(TyperCommand):
    """Command that keeps the line that was typed, and groups its options in `--help`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, with a note if an option with one value is given twice."""
        ctx.meta[options.TYPED] = shlex.join(["oneof", str(ctx.info_name), *args])
        rest = super().parse_args(ctx, [*args])
        given: list[Any] = self.make_parser(ctx).parse_args([*args])[2]
        for one in dict.fromkeys(given):
            if given.count(one) > 1 and not one.multiple and not one.is_flag:
                terminal.print_note(f"{one.opts[0]} is given {given.count(one)} times: only its last value is used.")
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options of each group under its title."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_option = parameter.param_type_name == "option"
                title = getattr(parameter, "rich_help_panel", None) or ("Options" if is_option else "Arguments")
                panels.setdefault(title, []).append(record)
        for title in sorted(panels, key=lambda title: title == "Options"):  # those without a group come last
            with formatter.section(title):
                formatter.write_dl(panels[title], col_max=29)


app = typer.Typer(
    name="oneof",
    help="Learn classifiers from partial, weighted and missing labels.",
    epilog="\b\nExamples:\n"
    "  oneof demo\n"
    "  oneof fit birds.csv --labels species\n"
    "  oneof predict birds-oneof/model.skops new.csv\n"
    "  oneof label birds.csv --labels species",
    no_args_is_help=True,
    add_help_option=False,  # see `start`
    add_completion=False,
    rich_markup_mode=None,  # rich would double the time of --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for module in (fit, predict, compare, inspect, audit, serve, label, demo, datasets):
    name, examples = module.__name__.rpartition(".")[2], cleandoc(str(module.__doc__)).partition("\n\n")[2]
    epilog = f"\b\nExamples:\n{indent(examples, '  ')}"
    app.command(name, cls=Command, epilog=epilog)(options.expand(module.run))


def _print_help(context: typer.Context, requested: bool) -> None:
    if requested:
        typer.echo(context.get_help())
        raise typer.Exit


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"oneof {oneof.__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
    # typer's own option has no default here, and typer would import pydantic to convert that: half the time of --help.
    help_: Annotated[
        bool, typer.Option("--help", "-h", help="Show this message and exit.", is_eager=True, callback=_print_help)
    ] = False,
) -> None:
    """Learn classifiers from partial, weighted and missing labels."""
