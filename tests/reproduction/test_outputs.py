"""What an experiment leaves: the same files for the same records, sound, and true to them."""

import csv
import dataclasses
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from reproduction.claims import Difference, verdict_of
from reproduction.experiment import Table
from reproduction.outputs import count_verdicts, say_minutes, say_versions, write_outputs

from oneof.errors import DataError, InputError
from reproduction import Claim, Record, Records, Trial, find

CLAIMS = [
    Claim("<b>A</b> is below B.", "it is", "lower by a point", held=True),
    Claim("C rises.", "it does", "it falls", held=False),
    Claim("D is best.", "it is", "not measured", held=None),
]


def draw(records):
    from reproduction.drawing import LOOKS, curve, finish, new_figure, shared_legend

    figure, axes = new_figure(1, 2)
    curve(axes[0], [1, 2, 3], np.arange(6.0).reshape(2, 3), LOOKS[0], "one")
    finish(axes[0], "panel", "x", "y")
    shared_legend(figure, axes)
    return {"figure": figure}


TOY = dataclasses.replace(
    find("online-ecoli"),
    name="toy",
    title="A toy & its page",
    tabulate=lambda _: Table(("method", "error"), [["a<b", 12.3456], ["c", float("nan")], ["d", 0.01234567]]),
    claims=lambda _: CLAIMS,
    draw=draw,
    remarks=("It was the claim.",),
)
RECORDS = Records(
    [Record(Trial.of("toy", draw=0), {"x": 1}), Record(Trial.of("toy", draw=1), None, "ValueError: <no>")]
)


def test_files(tmp_path):
    """Table, claims, figures and page are there, and are equal where the records are."""
    for name in "ab":
        (tmp_path / name).mkdir()
        write_outputs(tmp_path / name, TOY, RECORDS, quick=True, command="oneof reproduce toy --quick")
    a, b = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "ab")
    assert sorted(a) == ["claims.csv", "figure.png", "figure.svg", "index.html", "table.csv"]
    assert a == b
    assert list(csv.reader((tmp_path / "a/table.csv").read_text().splitlines())) == [
        ["method", "error"], ["a<b", "12.35"], ["c", ""], ["d", "0.01235"],
    ]  # fmt: skip
    assert [row[0] for row in csv.reader((tmp_path / "a/claims.csv").read_text().splitlines())] == [
        "verdict", "held", "not held", "not judged",
    ]  # fmt: skip


def test_the_page_tells_all_and_escapes_it(tmp_path):
    """Every verdict, failure and remark stands on the page, as text; it fetches nothing."""
    write_outputs(tmp_path, TOY, RECORDS, quick=True, command="oneof reproduce toy --quick")
    page = (tmp_path / "index.html").read_text()
    assert "1 of 3 claims held, 1 could not be judged" in page
    assert re.findall(r'class="verdict ([\w-]+)">', page) == ["held", "not-held", "not-judged"]
    for text in (
        "&lt;b&gt;A&lt;/b&gt; is below B.",
        "ValueError: &lt;no&gt;",
        "It was the claim.",
        "a&lt;b",
        "quick run",
    ):
        assert text in page
    assert "1 of 2 trials ended with an error" in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_older_records_are_told(tmp_path):
    """Where another version measured, the page says so; where this one alone did, it does not."""
    now = version("oneof")
    made = [Record(Trial.of("toy", draw=draw), {"x": 1}, version=v) for draw, v in enumerate((now, "0.0.1", None))]
    write_outputs(tmp_path, TOY, Records(made), quick=False, command="oneof reproduce toy")
    page = (tmp_path / "index.html").read_text()
    assert f"1 by 0.0.1, 1 by {now}, 1 by a version that was not written down" in page
    assert say_versions(Records(made[:1]), now) == ""


def test_nothing_succeeded(tmp_path):
    """Where every trial failed there is still a page that says so."""
    write_outputs(tmp_path, TOY, RECORDS.failed, quick=False, command="oneof reproduce toy")
    page = (tmp_path / "index.html").read_text()
    assert "No claim could be judged" in page
    assert "1 of 1 trials ended with an error" in page


def test_a_difference_is_clear_beyond_two_standard_errors():
    """Of paired draws; unequal numbers of draws, as where one failed, decide nothing."""
    base = np.array([1.0, 2.0, 3.0, 4.0])
    shifted = base + np.array([0.4, 0.6, 0.5, 0.5])
    assert Difference.of(base, shifted).is_below
    assert Difference.of(shifted, base).is_above
    noisy = Difference.of(base, base + np.array([3.0, -3.0, 2.0, -1.0]))
    assert not noisy.is_below
    assert not noisy.is_above
    assert not Difference.of(base, base[:3]).known
    assert Difference.of(base, base[:3]).points() == "not measured"
    assert (verdict_of(True, True), verdict_of(True, False), verdict_of(False, None)) == (True, False, None)


def test_words():
    """Counts are those of the verdicts, also where a comparison of NumPy numbers gave the verdict."""
    compared = [Claim("A.", "it is", "so", held=np.float64(2.0) > one) for one in (1.0, 3.0)]
    assert [claim.verdict for claim in compared] == ["held", "not held"]
    assert count_verdicts(compared) == "1 of 2 claims held"
    assert count_verdicts(CLAIMS[:2]) == "1 of 2 claims held"
    assert [say_minutes(m) for m in (0.1, 1.0, 14.2, 150.0)] == ["6 s", "1 min", "14 min", "2.5 h"]


def test_missing_sets_are_named_together(tmp_path, monkeypatch):
    """One error names all of them, and where to put them."""
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"put lost.npz, ssl_text.npz into a folder and name it by \$ONEOF_DATA"):
        dataclasses.replace(TOY, datasets=("iris", "ssl_text", "lost")).check_data()


def test_an_unknown_name():
    with pytest.raises(InputError, match="did you mean online-ecoli"):
        find("online-ecol")


def test_no_file_is_left_open(tmp_path):
    """Figures are no pyplot figures, which would pile up in the caller's session."""
    import matplotlib.pyplot as plt

    write_outputs(Path(tmp_path), TOY, RECORDS, quick=True, command="")
    assert plt.get_fignums() == []
