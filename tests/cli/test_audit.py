"""Wrong labels on the command line: `oneof audit`, `oneof fit --noise-rate` and `oneof label --audit`."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.cli.auditing import format_probability
from oneof.labeling.http.app import question_to_dict
from tests.cli.conftest import Run, read_json
from tests.cli.labeling.conftest import READ_OPTIONS, open_birds
from tests.cli.test_archives import make_sparse, write_sparse

NAMES = np.array(["finch", "owl", "wren"])
N_ROWS = 150
AUDIT = ("audit", "noisy.csv", "--labels", "species", "--drop", "truth")


def make_noisy(rate: float = 0.1) -> pl.DataFrame:
    """Return rows of which a fraction has a wrong label; every fifth label is a set of two."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N_ROWS)
    wrong = np.arange(N_ROWS) < round(rate * N_ROWS)
    given = np.where(wrong, (truth + 1) % 3, truth)
    labels = [NAMES[k] if wrong[i] or i % 5 else f"{NAMES[k]}|{NAMES[(k + 1) % 3]}" for i, k in enumerate(given)]
    labels[-1] = ""
    span, mass = np.round(8.0 * truth + rng.normal(size=N_ROWS), 3), np.round(rng.normal(size=N_ROWS), 3)
    return pl.DataFrame({"span": span, "mass": mass, "species": labels, "truth": NAMES[truth]})


@pytest.fixture
def noisy(run: Run) -> Path:
    """Write the table with 15 wrong rows, the first ones, to the working folder."""
    make_noisy().write_csv("noisy.csv")
    return Path("noisy.csv")


def test_audit_names_the_rows_and_the_proposals(run: Run, noisy: Path) -> None:
    """The output has the expected number and most wrong rows with the true label, and nothing is written."""
    result = run.done(*AUDIT)
    assert "of 149 labeled rows" in result.out
    assert "noise rate" in result.out
    assert {path.name for path in Path().iterdir()} == {"noisy.csv"}
    summary = read_json(run, *AUDIT)
    rows = [issue["row"] for issue in summary["issues"]]
    assert len(set(range(15)) & set(rows)) >= 10
    truth = make_noisy()["truth"]
    assert all(issue["proposed"] == truth[issue["row"]] for issue in summary["issues"] if issue["row"] < 15)
    low, high = summary["n_wrong_interval"]
    assert low <= 15 <= high
    assert summary["truth"] is None


def test_an_audit_is_compared_with_the_true_labels(run: Run, noisy: Path) -> None:
    """With --truth, one line has the numbers of the wrong and of the suspected rows among those with a true label."""
    make_noisy().with_columns(truth=pl.when(pl.int_range(N_ROWS) < 100).then("truth")).write_csv("noisy.csv")
    words = ("audit", "noisy.csv", "--labels", "species", "--truth", "truth")
    summary = read_json(run, *words)
    suspected = {issue["row"] for issue in summary["issues"]} & {*range(100)}
    n, found = len(suspected), len(suspected & {*range(15)})
    assert summary["truth"] == {"rows": 100, "wrong": 15, "suspected": n, "found": found}
    line = f"By the true labels of 100 rows, {found} of {n} suspected rows are wrong, and 15 rows in all."
    assert line in run(*words).out.splitlines()


def test_the_list_has_the_identifier_and_the_first_words(run: Run, noisy: Path) -> None:
    """A printed row has its identifier and the beginning of its text, and the written table the whole text."""
    texts = [f"note of row {i} about {'feathers and ' * 9}song" for i in range(N_ROWS)]
    frame = make_noisy().with_columns(id=pl.format("n{}", pl.int_range(N_ROWS)), remark=pl.Series(texts))
    frame.write_csv("noisy.csv")
    result = run.done(*AUDIT, "--text", "remark", "--out", "issues.csv")
    table = pl.read_csv("issues.csv")
    assert table["remark"].to_list() == [texts[row] for row in table["row"]]
    row = table["row"][0]
    [line] = [line for line in result.out.splitlines() if f" n{row} " in line]
    assert f"note of row {row} about feathers" in line
    assert texts[row] not in result.out
    assert "the true label is not among the labels of the row" in result.out


def test_errors_of_first_labels_include_those_of_sets(run: Run) -> None:
    """A first label is wrong at least as often as its set, and exactly as often if the set has one label.

    Labels of equal weight have no first label.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    names = np.array(["finch", "owl", "wren"])
    X = 1.5 * np.eye(3)[truth] + rng.normal(size=(200, 3))
    cells = [
        names[k] if i % 2 else f"{names[k]}:.8|{names[(k + 1) % 3]}:.2" if i % 4 else f"{names[k]}:.5|{names[k - 1]}:.5"
        for i, k in enumerate(truth)
    ]
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": cells}).write_csv("weights.csv")
    run.done("audit", "weights.csv", "--labels", "y", "--weighted", "--method", "PLEM", "--out", "issues.csv")
    table = pl.read_csv("issues.csv")
    row = table["row"].to_numpy()
    assert table["first"].to_list() == [None if i % 4 == 0 else names[truth[i]] for i in row]
    assert table["first_wrong"].is_null().to_list() == [i % 4 == 0 for i in row]
    wrong, of_sets = table["first_wrong"].to_numpy(), table["probability"].to_numpy()
    np.testing.assert_allclose(wrong[row % 2 == 1], of_sets[row % 2 == 1], atol=1e-9)
    assert (wrong[row % 4 == 2] >= of_sets[row % 4 == 2] - 1e-12).all()
    assert wrong[row % 4 == 2].mean() > of_sets[row % 4 == 2].mean() + 0.01


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_known_labels_contradict_too_large_weights(run: Run, share: float) -> None:
    """Without informative features, the rate of wrong first labels is that of the weights, here .05."""
    rng = np.random.default_rng(0)
    names, truth = np.array(["finch", "owl", "wren"]), rng.integers(0, 3, 300)
    first = np.where(rng.random(300) < share, truth, (truth + 1) % 3)
    cells = [f"{names[k]}:.95|{names[k - 1]}:.025|{names[k - 2]}:.025" for k in first]
    known = pl.Series(names[truth]).set(pl.int_range(300, eager=True) % 3 > 0, None)
    pl.DataFrame({"x": rng.normal(size=300), "y": cells, "known": known}).write_csv("weights.csv")
    words = ("weights.csv", "--labels", "y", "--weighted", "--kind", "posterior", "--gold", "known", "--method", "PLEM")
    assert ("Known labels contradict this" in run.done("audit", *words).out) == (share == 0.5)


def test_output_has_all_labeled_rows_in_order(run: Run, noisy: Path) -> None:
    """--out lists every labeled row by decreasing probability, and --report is a page with the suspected ones."""
    make_noisy().with_columns(id=pl.format("n{}", pl.int_range(N_ROWS))).write_csv("noisy.csv")
    run.done(*AUDIT, "--out", "sub/issues.csv", "--report", "issues.html")
    table = pl.read_csv("sub/issues.csv")
    assert table.columns == ["row", "id", "labels", "proposed", "probability", "runner_up", "suspected"]
    assert sorted(table["row"]) == list(range(N_ROWS - 1))
    assert table["id"].to_list() == [f"n{row}" for row in table["row"]]
    assert (table["probability"].diff().drop_nulls() <= 0).all()
    assert table["suspected"].sum() >= 10
    page = Path("issues.html").read_text("utf-8")
    assert "Suspected rows" in page
    assert "<bdi>id</bdi>" in page
    assert "http" not in page.replace("http-equiv", "")


def test_clean_labels_have_no_suspects(run: Run) -> None:
    """Without errors the command says that no row is suspected, and `fit` is the same as without a noise rate."""
    make_noisy(rate=0.0).write_csv("noisy.csv")
    assert "No row has labels that are more probably wrong than right" in run(*AUDIT).out
    fit = ("fit", "noisy.csv", "--labels", "species", "--drop", "truth", "--folds", "2")
    assert run(*fit, "--out", "plain").code == 0
    robust = run(*fit, "--out", "robust", "--noise-rate", "0")
    assert "the fit is the same as without --noise-rate" in robust.err
    plain, same = (pl.read_csv(f"{folder}/training_labels.csv") for folder in ("plain", "robust"))
    assert plain.equals(same)


def test_no_probability_is_printed_as_certain() -> None:
    """Probabilities that would be rounded to 1 are printed as a bound."""
    assert [format_probability(p) for p in (0.5, 0.994, 0.996, 1.0)] == ["0.50", "0.99", ">0.99", ">0.99"]


@pytest.mark.parametrize("rate", ["auto", "0.1"])
def test_fit_with_a_noise_rate_proposes_true_labels(run: Run, noisy: Path, rate: str) -> None:
    """The training labels of the wrong rows are the true ones, and the summary has the audit."""
    fit = ("fit", "noisy.csv", "--labels", "species", "--truth", "truth", "--folds", "2", "--noise-rate", rate)
    result = run.done(*fit)
    assert "rows are fitted to corrected weights" in result.err
    labels = pl.read_csv("noisy-oneof/training_labels.csv")[:15]
    assert (labels["label"] == labels["truth"]).mean() > 0.6  # none in a plain fit
    summary = json.loads(Path("noisy-oneof/summary.json").read_text("utf-8"))
    assert len(summary["audit"]["issues"]) >= 5
    page = Path("noisy-oneof/report.html").read_text("utf-8")
    assert f"--noise-rate {rate}" in page
    section = page.split('id="suspects"')[1].split("</section>")[0]
    assert "fitted to corrected weights" in " ".join(section.split())
    assert "assigns every row a label of its set" not in section
    assert ("with the given noise rate of 10.0 %," in result.err) == (rate == "0.1")


@pytest.mark.parametrize("kind", ["exact", "partial", "grouped"])
def test_all_commands_have_one_rate_and_one_list(run: Run, kind: str) -> None:
    """`audit`, `fit` and its report, `fit --noise-rate auto` and `label --audit` have the same rate and rows."""
    frame = make_noisy().with_columns(recorder=pl.int_range(N_ROWS) // 5).drop("truth")
    if kind == "exact":
        frame = frame.with_columns(pl.col("species").str.split("|").list.first())
    frame.write_csv("noisy.csv")
    options = ("--labels", "species", *(("--groups", "recorder") if kind == "grouped" else ("--drop", "recorder")))
    expected = read_json(run, "audit", "noisy.csv", *options)
    rows, rate = [issue["row"] for issue in expected["issues"]], expected["noise_rate"]
    assert 5 <= len(rows) <= 20
    assert run("fit", "noisy.csv", *options, "--folds", "2", "--out", "plain").code == 0
    section = Path("plain/report.html").read_text("utf-8").split('id="suspects"')[1].split("</section>")[0]
    assert [int(row) for row in re.findall(r'<th scope="row" class="n">(\d+)<', section)] == rows
    assert f"{100 * rate:.1f}" in section
    assert "%" not in json.loads(Path("plain/summary.json").read_text("utf-8"))["headline"]["meaning"]
    run.done("fit", "noisy.csv", *options, "--folds", "2", "--out", "corrected", "--noise-rate", "auto")
    assert json.loads(Path("corrected/summary.json").read_text("utf-8"))["audit"]["issues"] == expected["issues"]
    is_grouped = kind == "grouped"
    drop = () if is_grouped else ("recorder",)
    read_options = replace(READ_OPTIONS, groups="recorder" if is_grouped else None, drop=drop)
    opened = open_birds("noisy.csv", read_options, hide=(), serves=True, audit=True)
    with opened.session as session:
        assert [row for row in range(N_ROWS) if session.is_queued(row)] == sorted(rows)
        given = question_to_dict(session, session.ask("Ann"))
        assert (given["row"], given["is_suspected"], given["candidates"] is None) == (rows[0], True, False)
    assert f"a noise rate of {100 * rate:.1f} %" in opened.notes[-1]
    assert "suspected rows are asked first" in opened.notes[-1]


def test_a_sparse_matrix_has_a_page(run: Run) -> None:
    """Rows of a sparse matrix have no columns: the page shows the number of their features."""
    X, y, _ = make_sparse()
    y[:6] = (y[:6] + 1) % 3
    write_sparse("words.npz", X, y=y, classes=NAMES)
    run.done("audit", "words.npz", "--labels", "y", "--report", "issues.html")
    assert "features that are not 0" in Path("issues.html").read_text("utf-8")


def test_first_labels_are_those_of_the_table(run: Run) -> None:
    """Posteriors are divided by their mean; the first label is the one of the largest probability in the cell."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 300, p=[0.8, 0.17, 0.03])
    first = np.where(rng.random(300) < 0.8, truth, rng.integers(0, 3, 300))
    names = ["finch", "owl", "wren"]
    cells = [f"{names[k]}:0.5|{names[(k + 1) % 3]}:0.3" for k in first]
    X = np.eye(3)[truth] + 0.2 * rng.normal(size=(300, 3))
    pl.DataFrame({**{f"x{j}": X[:, j] for j in range(3)}, "y": cells}).write_csv("weights.csv")
    words = ("audit", "weights.csv", "--labels", "y", "--weighted", "--kind", "posterior", "--rest", "auto")
    result = run.done(*words, "--method", "PLEM", "--out", "issues.csv", "--json")
    table = pl.read_csv("issues.csv")
    assert table["first"].to_list() == [names[first[row]] for row in table["row"]]
    assert table["labels"].to_list() == [cells[row] for row in table["row"]]
    facts = json.loads(result.out)
    assert facts["n_wrong_first_labels"] == pytest.approx(table["first_wrong"].sum())
    rows = [one["row"] for one in facts["first_labels"]]
    assert set(rows) == set(table.filter(pl.col("first_wrong") > 0.5)["row"])
    wrong = first[rows] != truth[rows]
    assert len(wrong) > 20
    assert wrong.mean() > 0.8
    lines = run(*words, "--method", "PLEM", "--top", "5").out.splitlines()
    title = f"Rows whose first label is probably wrong, counted from 0 (5 of {len(rows)})"
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    listed = [line.split() for line in lines[start + 4 : start + 9]]
    assert [int(row) for row, *_ in listed] == rows[:5]
    for row, given, wrong_label, probable, _ in listed:
        assert (given, wrong_label) == (cells[int(row)], names[first[int(row)]])
        assert probable != wrong_label
