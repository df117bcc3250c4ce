"""The content of streams: forms of labels, columns that change, and errors that name the row."""

import numpy as np
import polars as pl
import pytest

import oneof
from oneof import AvgPerceptron
from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.io import Column, Overrides, TableOptions
from oneof.stream import StreamOptions, fit_stream, open_source
from tests.stream.bits import assert_same_bits
from tests.stream.conftest import make_numbers, write_svmlight

SPECIES = StreamOptions(labels=("species",), batch_rows=100, hash_bits=8)
STRICT = {"table": TableOptions(strict=True)}
LABEL = StreamOptions(labels=("label",), batch_rows=100, hash_bits=8)


def _write(folder, text, name="t.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (["3", "10", "3.0|10", "", "-1"], None, ["3", "10"]),
        (["b", "a", "a|b", "", "b"], None, ["a", "b"]),
        (["b", "a", "a|b", "", "b"], ("b", "c", "a"), ["b", "c", "a"]),
        (["-1", "1", "1", "", "-1"], ("-1", "1"), ["-1", "1"]),
    ],
)
def test_classes(tmp_path, labels, classes, expected):
    """Classes are those listed, or those in the data, sorted by number or text; -1 is a class only if it is listed."""
    path = _write(tmp_path, "x,label\n" + "".join(f"{i}.5,{label}\n" for i, label in enumerate(labels)))
    fit = fit_stream(path, AvgPerceptron(), StreamOptions(("label",), classes=classes, batch_rows=2))
    assert fit.classes == expected
    assert fit.model.classes_.tolist() == expected
    assert fit.validation.total.labeled == sum(bool(label) and (label != "-1" or bool(classes)) for label in labels) - (
        "a|b" in labels and len(expected) == 2
    ) - ("3.0|10" in labels)


def test_suspicious_classes_have_a_note(tmp_path):
    """The notes are those of a table; classes that the user lists have no note."""
    path = _write(tmp_path, "x,label\n" + "".join(f"{i}.5,{('owl', 'OWL', '?')[i % 3]}\n" for i in range(9)))
    notes = fit_stream(path, AvgPerceptron(), LABEL).notes
    assert [note.split(": ")[0][-40:] for note in notes] == [
        f"in {path}, '?' is read as a class"[-40:],
        "spaces, underscores or hyphens, and are read as different classes"[-40:],
    ]
    named = StreamOptions(("label",), classes=("owl", "OWL", "?"))
    assert fit_stream(path, AvgPerceptron(), named).notes == []


def test_forms_of_labels(tmp_path):
    """Lists, whole numbers, floats with gaps and 0/1 columns are read as text of the same labels."""
    x = [0.5, 2.5, 1.0, 3.0]
    sets = [["3"], ["10"], ["3", "10"], ["10"]]
    forms = {
        "lists": pl.Series([[3], [10], [3, 10], [10]]),
        "text": pl.Series(["3", "10", "3|10", "10"]),
        "numbers": pl.Series([3.0, 10.0, None, 10.0]),
    }
    reference = fit_stream(
        _write(tmp_path, "x,label\n" + "".join(f"{a},{'|'.join(b)}\n" for a, b in zip(x, sets))), AvgPerceptron(), LABEL
    )
    for column in forms.values():
        pl.DataFrame({"x": x, "label": column}).write_parquet(tmp_path / "t.parquet")
        assert_same_bits(fit_stream(tmp_path / "t.parquet", AvgPerceptron(), LABEL), reference)
    pl.DataFrame({"x": x, "c3": [1, 0, 1, 0], "c10": [0, 1, 1, 1]}).write_csv(tmp_path / "u.csv")
    fit = fit_stream(tmp_path / "u.csv", AvgPerceptron(), StreamOptions(("c3", "c10"), batch_rows=100))
    assert fit.classes == ["c3", "c10"]
    assert np.array_equal(fit.model[-1].coef_.ravel(), reference.model[-1].coef_.ravel())


ERRORS = {
    "new class": (
        "x,label\n1,a\n2,b\n3,c\n",
        {"classes": ("a", "b")},
        r"t.csv, row 2: label 'c' is not one of the clas",
    ),
    "one class": ("x,label\n1,a\n2,a\n", {}, "only one class occurs"),
    "one class named": ("x,label\n1,a\n2,a\n", {"classes": ("a",)}, "must be two or more"),
    "signs": ("x,label\n1,1\n2,-1\n", {}, "only -1 and 1"),
    "no label": ("x,label\n1,\n2,\n", {}, "every row is unlabeled"),
    "no label, classes named": ("x,label\n1,\n2,\n", {"classes": ("a", "b")}, "every row is unlabeled"),
    "empty set": ("x,label\n1,a\n2,b\n3,[]\n", {}, r"row 2: the candidate set is empty \('\[\]'\)"),
    "empty label": ("x,label\n1,a\n2,b\n3,a||b\n", {}, "row 2: 'a||b' contains an empty label"),
    "no rows": ("x,label\n", {}, "t.csv has no rows"),
    "no features": ("z,label\n1,a\n1,b\n", {}, r"no feature column remains: .* first 2 rows"),
    "infinite": (
        "x,label\n1,a\n2,b\n3,a\ninf,b\n",
        STRICT,
        "row 3: column 'x' must contain finite numbers; got inf",
    ),
    "no number": (
        "x,label\n1,a\n2,b\n3,a\n4,b\nfive,b\n",
        STRICT,
        "row 4: column 'x' must contain numbers; got 'five'",
    ),
    "overflow": ("x,label\n1,a\n2,b\n3,a\n2e300,b\n", {}, r"t.csv, row 3: column 'x' contains 2e\+300, whose square"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_invalid_streams_are_errors(tmp_path, name):
    text, options, message = ERRORS[name]
    path = _write(tmp_path, text)
    with pytest.raises((DataError, LabelError, InputError), match=message):
        fit_stream(path, AvgPerceptron(), StreamOptions(("label",), batch_rows=2, **options))


def test_invalid_arguments_are_errors(tmp_path, files):
    write_svmlight(make_numbers(9), tmp_path / "t.svm")
    with pytest.raises(InputTypeError, match="CLPL is not an online classifier"):
        fit_stream(files["t.csv"], oneof.CLPL(), SPECIES)
    with pytest.raises(InputError, match="Omit --labels"):
        fit_stream(tmp_path / "t.svm", AvgPerceptron(), LABEL)
    with pytest.raises(InputError, match="must name the label column"):
        fit_stream(files["t.csv"], AvgPerceptron())
    with pytest.raises(InputError, match="can be read only once"):
        fit_stream(open_source("-", "csv"), AvgPerceptron(), StreamOptions(("label",), n_epochs=2))
    for name in ("batch_rows", "hash_bits", "n_epochs"):
        with pytest.raises(InputError, match=f"`{name}` must be .*; got 0"):
            StreamOptions(**{name: 0})
    for name in ("labels", "classes"):
        with pytest.raises(InputTypeError, match=f"`{name}` must be a tuple of names; got 'topic'"):
            StreamOptions(**{name: "topic"})


def test_columns_that_change(tmp_path):
    """A later file may have additional columns and another order, but must have all columns of the first."""
    for number, text in enumerate(("x,z,label\n1,5,a\n2,4,b\n", "w,label,z,x\n9,a,3,3\n", "x,label\n1,a\n")):
        _write(tmp_path, text, f"{number}.csv")
    with pytest.raises(DataError, match=r"2.csv: missing 'z', which earlier rows have"):
        fit_stream(tmp_path, AvgPerceptron(), LABEL)
    (tmp_path / "2.csv").unlink()
    fit = fit_stream(tmp_path, AvgPerceptron(), LABEL)
    assert [column.name for column in fit.columns] == ["x", "z"]
    np.testing.assert_allclose(fit.model[0].moments_.mean, [2, 4])


def test_columns_excluded_by_the_first_batch_have_a_note(tmp_path):
    path = _write(tmp_path, "x,flat,none,label\n1,7,,a\n2,7,,b\n3,8,9,a\n")
    fit = fit_stream(path, AvgPerceptron(), StreamOptions(("label",), batch_rows=2))
    assert [column.name for column in fit.columns] == ["x"]
    [note] = fit.notes
    assert "column 'flat' is excluded: one value (add " in note
    assert "column 'none' is excluded: no values, according to the first 2 rows (--batch-rows)." in note


def test_a_column_named_as_text_may_begin_with_empty_cells(tmp_path):
    """A column declared as text may be empty in the first batch; otherwise a word is needed to infer its type."""
    path = _write(tmp_path, "note,label\n,a\n,b\nred fox,a\nblue whale,b\n" + "red,a\nblue,b\n" * 4)
    options = StreamOptions(("label",), overrides=Overrides(texts=("note",)), batch_rows=2, hash_bits=8)
    fit = fit_stream(path, AvgPerceptron(), options)
    assert fit.columns == [Column("note", "text")]
    assert fit.model.predict(pl.DataFrame({"note": ["red", "blue"]})).tolist() == ["a", "b"]
