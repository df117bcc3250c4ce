"""Tests of lists of names in options, and of groups of options."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import oneof
from oneof.cli import training
from oneof.cli.app import app
from oneof.cli.options import NAMES, expand, option, read_names
from oneof.cli.tables.methods import split_method
from oneof.errors import InputError
from oneof.messages import write_names
from oneof.persistence import load
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8)


@given(st.lists(NAME.map(str.strip).filter(bool), max_size=5))
def test_written_names_are_read(names: list[str]) -> None:
    """Names with commas, quotation marks, spaces and line breaks are written as they are read."""
    assert read_names("--drop", [write_names(names)]) == tuple(names)
    assert read_names("--drop", [write_names([name]) for name in names]) == tuple(names)


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        (["a,b", "c"], ("a", "b", "c")),
        (['"size, m",id'], ("size, m", "id")),
        (['id, "size, m"'], ("id", "size, m")),
        ([" a , b "], ("a", "b")),
        (['5" pipe,a'], ('5" pipe', "a")),
        (['"say ""x"", y"'], ('say "x", y',)),
        (["", ",a,,"], ("a",)),
        (["-1,1"], ("-1", "1")),
        (None, ()),
    ],
)
def test_names_are_those_of_a_line_of_csv(entries: list[str] | None, names: tuple[str, ...]) -> None:
    assert read_names("--drop", entries) == names


@pytest.mark.parametrize("entry", ['"size', '"size" m', "a\nb"])
def test_defective_quotation_marks(entry: str) -> None:
    """A quotation mark without an end is an error with an example, not another name."""
    with pytest.raises(InputError, match=r"--drop must be names separated by commas.* in double quotes"):
        read_names("--drop", [entry])


def test_names_with_commas_in_every_option(run: Run) -> None:
    """Columns, classes and tokens with commas are those of the table, also in the report."""
    names = {name: f"{name}, all" for name in ("species", "truth", "span", "mass", "id", "color", "remark")}
    commas = make_birds().with_columns(pl.col("span").cast(pl.String).fill_null("x,1")).rename(names)
    commas = commas.with_columns(pl.col("species, all", "truth, all").str.replace_all("owl", "owl, barn"))
    commas.write_csv("commas.csv")
    summary = read_json(
        run, "fit", "commas.csv", "--labels", '"species, all"', "--truth", "truth, all", "--drop", '"id, all"',
        "--numeric", '"span, all","mass, all"', "--text", '"remark, all"', "--categorical", '"color, all"',
        "--classes", 'finch,"owl, barn",wren', "--missing", '"x,1"', *QUICK,
    )  # fmt: skip
    assert summary["classes"] == ["finch", "owl, barn", "wren"]
    assert not [one for one in summary["findings"] if one["kind"] == "unreadable"]
    assert {one["column"].removesuffix(", all"): one["kind"] for one in summary["features"]} == {
        "span": "number", "mass": "number", "migrates": "yes/no", "color": "category", "remark": "text",
    }  # fmt: skip
    report = Path("commas-oneof/report.html").read_text()
    assert "&#39;&#34;species, all&#34;&#39;" in report.replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    message = """did you mean 'species, all'? Quote a name with a comma twice: '"species, all"'."""
    check_error(run, "fit", "commas.csv", "--labels", "species, all", *QUICK, message=message)


@pytest.mark.parametrize("online", [False, True])
def test_tokens_of_a_new_table_are_joined_to_the_saved_ones(run: Run, online: bool) -> None:
    """Tokens of missing values of `predict` and of the model are missing, without a note on unreadable cells."""
    rows = make_birds().with_columns(pl.col("span").cast(pl.String).fill_null("gone"))
    rows.write_csv("birds.csv")
    how = ("--online", "--hash-bits", "8") if online else QUICK
    run.done("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", "--missing", "gone", *how)
    for cell in (None, "lost"):
        cells = pl.when(pl.arange(0, len(rows)) % 7 == 3).then(pl.lit(cell)).otherwise("span")
        rows.with_columns(span=cells).write_csv(f"{cell}.csv")
        facts = read_json(run, "predict", "birds-oneof/model.skops", f"{cell}.csv", "--missing", "lost")
        assert facts["unreadable_cells"] == {}
    assert Path("lost-predictions.csv").read_text() == Path("None-predictions.csv").read_text()
    facts = read_json(run, "predict", "birds-oneof/model.skops", "lost.csv")
    assert facts["unreadable_cells"]["span"]["count"] == len(range(3, 60, 7))
    assert Path("lost-predictions.csv").read_text() == Path("None-predictions.csv").read_text()


@dataclass(frozen=True)
class Base:
    """A record of options."""

    size: int = option("N", "The size.", 3)


@dataclass(frozen=True)
class Group(Base):
    """A record with the options of another one."""

    name: str | None = option("NAME", "The name.")
    drop: NAMES = option("COLUMN", "Names.", ())
    facts: str = "not an option"


def test_a_record_is_expanded_to_its_options() -> None:
    """A command with a record has the options, defaults and values of a command that lists them."""
    calls: list[tuple[str, Group, bool]] = []

    def command(table: str, *, group: Group, strict: bool = False) -> None:
        calls.append((table, group, strict))

    app = typer.Typer(add_completion=False)
    app.command()(expand(command))
    for arguments in (["a"], ["b", "--size", "5", "--name", "x", "--strict", "--drop", "c,d", "--drop", "e"]):
        app(arguments, standalone_mode=False)
    assert calls == [("a", Group(), False), ("b", Group(5, "x", ("c", "d", "e")), True)]


@pytest.mark.parametrize("online", [(), ("--online",)])
def test_the_summary_and_the_model_have_the_options(run: Run, birds: Path, online: tuple[str, ...]) -> None:
    """They have the options that differ from their defaults, as in the records of the command."""
    words = ("--labels", "species", "--drop", "truth,id", "--method", "AvgPerceptron", *online)
    assert run("fit", birds, *words).code == 0
    options = json.loads(Path("birds-oneof/summary.json").read_text())["options"]
    expected = {"labels": ["species"], "drop": ["truth", "id"], "method": "AvgPerceptron"}
    assert options == expected | ({"online": True} if online else {})
    assert load("birds-oneof/model.skops").summary["options"] == options


def test_options_of_several_commands_have_one_form() -> None:
    """An option has the same metavar in each command, and every option with a value has a metavar."""
    forms: dict[str, set[str | None]] = {}
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        for parameter in command.params:
            if parameter.param_type_name == "option" and not (parameter.is_flag or parameter.hidden):
                forms.setdefault(parameter.opts[0], set()).add(parameter.metavar)
    assert len(forms) > 50
    assert [option for option, metavars in forms.items() if None in metavars] == []
    different = {option for option, metavars in forms.items() if len(metavars) > 1}
    assert different == {"--out", "--gold"}  # a folder or a file; a column, or for `label` also a file


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_the_help_of_a_command_has_two_screens(command: str) -> None:
    """It has at most 100 lines at 100 columns, and each option is in one group."""
    result = CliRunner().invoke(app, [command, "--help"], terminal_width=100, env={"COLUMNS": "100"})
    lines = result.output.splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100
    options = [line.split()[0] for line in lines if line.startswith("  --")]
    assert len(options) == len(set(options)) > 0


# -- Parameters of a method on the command line ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLEM", ("PLEM", {})),
        ("PLSVM:lam=0.1", ("PLSVM", {"lam": 0.1})),
        ("PLSVM:lam=.5,max_iter=+7", ("PLSVM", {"lam": 0.5, "max_iter": 7})),
        ("PLSVM:lam=1.", ("PLSVM", {"lam": 1.0})),
        ("LOORidge:distractors=cooccurring, max_iter=7", ("LOORidge", {"distractors": "cooccurring", "max_iter": 7})),
        ("PLGP:optimizer=None,random_state=3", ("PLGP", {"optimizer": None, "random_state": 3})),
        ("MaxPegasos:average=True,shuffle=false", ("MaxPegasos", {"average": True, "shuffle": False})),
    ],
)
def test_values_are_numbers_constants_or_text(text: str, expected: tuple[str, object]) -> None:
    """true, false and none are read in any case, numbers as JSON, and everything else as text."""
    assert split_method(text) == expected


@pytest.mark.parametrize("text", ["LOORidge:", "LOORidge:distractors", "LOORidge:=uniform", "LOORidge:tol=1,tol=2"])
def test_other_forms_are_refused(text: str) -> None:
    """A parameter needs a name and a value, once."""
    with pytest.raises(InputError, match="--method must"):
        split_method(text)


def test_a_fit_has_the_parameters(run: Run, birds: Path) -> None:
    """The model, the summary and the command in the report have them; the noise is audited with them as well."""
    method = "looridge:distractors=cooccurring,tol=0.01"
    fit = ("fit", "birds.csv", "--labels", "species", "--drop", "truth", "--folds", "2")
    run.done(*fit, "--method", method, "--noise-rate", "0.1")
    model = load("birds-oneof/model.skops").pipeline[-1]
    assert (model.distractors, model.tol) == ("cooccurring", 0.01)
    summary = json.loads(Path("birds-oneof/summary.json").read_text(encoding="utf-8"))
    assert summary["parameters"] == {"distractors": "cooccurring", "tol": 0.01}
    assert f"--method {method}" in Path("birds-oneof/report.html").read_text(encoding="utf-8")


def test_an_online_fit_has_the_parameters(run: Run, birds: Path) -> None:
    """The loss depends on the parameters of the online method."""
    losses = []
    for method in ("MaxPegasos:lam=0.001", "MaxPegasos:lam=10"):
        facts = read_json(run, "fit", "birds.csv", "--labels", "species", "--online", "--method", method)
        losses.append(facts["progressive_validation"])
    assert losses[0] != losses[1]


# -- Exit codes after internal errors and interrupts, and light imports of --help ------------------------------------


HEAVY = ("numpy", "scipy", "sklearn", "polars", "numba", "skops", "jinja2", "rich", "pydantic", "oneof.candidates")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RuntimeError("the\nroof fell"), 1, "internal error: RuntimeError: the. --debug, or ONEOF_DEBUG=1, shows"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "model.skops"), 2, "model.skops: No space left on device."),
        (MemoryError(), 1, "not enough memory"),
    ],
)
def test_endings(
    run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    """Each error has its exit code and one sentence; partial files and a new folder are removed."""
    monkeypatch.setattr(training, "write_labels", Mock(side_effect=error))
    args = ["fit", birds, "--labels", "species", "--drop", "truth", *QUICK]
    result = run(*args)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert "Traceback" not in result.err
    assert list(Path.cwd().iterdir()) == [birds.absolute()]
    Path("out").mkdir()
    Path("out/summary.json").write_text("old")
    assert run(*args, "--out", "out").code == code
    assert [(file.name, file.read_text()) for file in Path("out").iterdir()] == [("summary.json", "old")]


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--debug or ONEOF_DEBUG prints the traceback."""
    args = ["fit", "none.csv", "--labels", "x"]
    assert "Traceback" not in run(*args).err
    assert "Traceback" in run(*args, "--debug").err
    monkeypatch.setenv("ONEOF_DEBUG", "1")
    assert "Traceback" in run(*args).err


def test_an_option_with_one_value_that_is_given_twice_has_a_note(run: Run) -> None:
    """The first value is not replaced in silence; options whose values are lists may be repeated."""
    words = ("fit", "none.csv", "--labels", "a", "--labels", "b")
    assert "Note" not in run(*words, "--json", "--json").err
    result = run(*words, "--method", "PLKNN", "--method=PLEM")
    assert result.err.startswith("Note: --method is given 2 times: only its last value is used.\n")
    assert run(*words, "--method", "PLKNN", "--method", "PLEM", "--help").code == 0


def test_version(run: Run) -> None:
    assert run("--version").out == f"oneof {oneof.__version__}\n"


@pytest.mark.parametrize("command", [[], ["fit"], ["predict"], ["compare"], ["demo"], ["datasets"], ["label"]])
def test_help_is_light_and_has_examples(command: list[str]) -> None:
    """--help shows examples and imports no slow package."""
    code = (
        "import sys\n"
        "from oneof.cli import main\n"
        f"sys.argv = ['oneof', *{command}, '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print('HEAVY', [name for name in {HEAVY} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "  Examples:\n    oneof " in result.stdout
    assert result.stdout.endswith("HEAVY []\n")


def test_missing_typer() -> None:
    """Without typer the command line prints the extra to install."""
    code = "import sys\nsys.modules['typer'] = None\nfrom oneof.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "Error: This needs typer, which is not installed: run `pip install 'oneof[cli]'`.\n"


@pytest.mark.long
def test_the_console_script(birds: Path) -> None:
    """As a process: only JSON on standard output, errors on standard error."""
    command = [sys.executable, "-m", "oneof.cli", "compare", str(birds), "--labels"]
    result = subprocess.run([*command, "species", "--drop", "truth", *QUICK, "--json"], capture_output=True, check=True)
    assert result.stdout.startswith(b"{")
    assert result.stdout.endswith(b"}\n")
    result = subprocess.run([*command, "x"], capture_output=True, check=False)
    assert (result.returncode, result.stdout) == (2, b"")
