"""Predictions of a saved model for tables, in Python."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from oneof.errors import DataError, InputError, InputTypeError
from oneof.persistence import SavedModel, load, save
from tests.cli.conftest import Run, make_birds, run

__all__ = ["run"]  # a fixture
FIT = ("--labels", "species", "--drop", "id,truth", "--folds", "2")


def fit(run: Run, *words: str) -> SavedModel:
    make_birds().write_csv("birds.csv")
    run.done("fit", "birds.csv", *FIT, *words, "--out", "out")
    model = load("out/model.skops")
    assert isinstance(model, SavedModel)
    return model


def forms(path: str) -> dict[str, Any]:
    """Return the same table as a path, DataFrames and a list of dicts."""
    frame = pl.read_csv(path)
    return {
        "text": path,
        "path": Path(path),
        "polars": frame,
        "pandas": pd.read_csv(path),
        "nullable": pd.read_csv(path).convert_dtypes(),
        "dicts": frame.to_dicts(),
        "shuffled": frame.select(frame.columns[::-1]).with_columns(more=pl.lit("x")),
    }


@pytest.mark.parametrize("method", ["PLEM", "CLPL"])
def test_every_form_of_a_table_has_the_predictions_of_the_command(run: Run, method: str) -> None:
    """A path, DataFrames of pandas and polars, and a list of dicts have the labels that `oneof predict` writes."""
    model = fit(run, "--method", method)
    assert run("predict", "out/model.skops", "birds.csv").code == 0
    expected = pl.read_csv("birds-predictions.csv")
    assert model.classes_.tolist() == model.classes == ["finch", "owl", "wren"]
    for name, table in forms("birds.csv").items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.predict(table).tolist() == expected["label"].to_list(), name
            if method == "CLPL":
                continue
            proba = model.predict_proba(table)
        columns = [expected[f"probability:{label}"] for label in model.classes]
        np.testing.assert_allclose(proba, np.column_stack(columns), rtol=1e-12, err_msg=name)
    assert hasattr(model, "predict_proba") == (method == "PLEM")


def test_too_few_calibration_rows_are_a_warning(run: Run) -> None:
    """The warning names the line of the caller."""
    with pytest.warns(UserWarning, match="3 of 3 classes are in every prediction set") as caught:
        assert fit(run, "--method", "PLEM").predict_set("birds.csv", 0.999).mask.all()
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"coverage": 1}, "`coverage` must be a number above 0 and below 1"),
        ({"coverage": "0.9"}, "`coverage` must be a number above 0 and below 1"),
        ({"method": "best"}, '`method` must be "lac" or "aps"'),
        ({"calibration": "none"}, "`calibration` must be"),
        ({"class_conditional": 1}, "`class_conditional` must be True or False"),
    ],
)
def test_options_of_prediction_sets(options: dict[str, Any], sentence: str) -> None:
    model = SavedModel(None, ["a", "b"], [], [], "PLEM")
    with pytest.raises(InputError, match=sentence):
        model.predict_set("birds.csv", **options)


def test_a_model_without_calibration_rows(run: Run) -> None:
    """A method without probabilities has no prediction sets, and says so."""
    with pytest.raises(InputError, match="prediction sets need probabilities; CLPL has scores only"):
        fit(run, "--method", "CLPL").predict_set("birds.csv")


def test_cells_that_cannot_be_read_are_missing_values(run: Run) -> None:
    """A word among numbers, an absent key and a new category are named in warnings; `strict` makes them errors."""
    model = fit(run, "--method", "PLEM")
    rows = make_birds().drop("species", "truth").to_dicts()
    changed = [{**row, "mass": "heavy" if i == 3 else row["mass"]} for i, row in enumerate(rows)]
    missing = [{**row, "mass": None if i == 3 else row["mass"]} for i, row in enumerate(rows)]
    with pytest.warns(UserWarning, match="heavy") as caught:
        proba = model.predict_proba(changed)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(proba, model.predict_proba(missing))
    with pytest.raises(DataError, match=r"column 'mass' must contain .*numbers; got 'heavy'") as error:
        model.predict(changed, strict=True)
    assert error.value.row == 3
    without = [{name: cell for name, cell in row.items() if name != "mass"} for row in rows]
    with pytest.warns(UserWarning, match="column 'mass' is absent from all rows of the table"):
        model.predict(without)
    for table, strict in ((without, True), (make_birds().drop("mass"), False)):
        with pytest.raises(DataError, match="missing column 'mass', which the model was trained on"):
            model.predict(table, strict=strict)
    with pytest.warns(UserWarning, match="ultraviolet"):
        model.predict([{**row, "color": "ultraviolet"} for row in rows])


@pytest.mark.parametrize(
    ("table", "error", "sentence"),
    [
        (3, InputTypeError, "`table` must be a path, a DataFrame of pandas or polars, or a list of dicts; got int"),
        ([1], InputTypeError, "row 0 must be a mapping of columns to cells; got int"),
        ([], DataError, "the table has no rows"),
        ([{3: 1}], InputTypeError, "column names must be text; got 3"),
        (pl.DataFrame({"mass": []}), DataError, "the table has no rows"),
        ("absent.csv", DataError, "absent.csv does not exist"),
        (pd.DataFrame([[1, 2]], columns=["mass", "mass"]), DataError, "two columns of the name 'mass'"),
    ],
)
def test_tables_that_cannot_be_read(table: Any, error: type[Exception], sentence: str) -> None:
    model = SavedModel(None, ["a", "b"], [("mass", "number")], [], "PLEM")
    with pytest.raises(error, match=sentence):
        model.predict(table)


def test_models_of_other_files(run: Run) -> None:
    """A model of `fit --online`, and one of a sparse matrix, predict as the command does."""
    make_birds().write_csv("birds.csv")
    assert run("fit", "birds.csv", *FIT[:4], "--online", "--out", "stream").code == 0
    assert run("predict", "stream/model.skops", "birds.csv").code == 0
    expected = pl.read_csv("birds-predictions.csv")["label"].to_list()
    model = load("stream/model.skops")
    assert model.predict("birds.csv").tolist() == expected
    assert model.predict(pl.read_csv("birds.csv")).tolist() == expected
    rng = np.random.default_rng(0)
    matrix = sp.csr_matrix(rng.normal(size=(30, 3)))
    np.savez("rows.npz", X_data=matrix.data, X_indices=matrix.indices, X_indptr=matrix.indptr, X_shape=matrix.shape,
             y=np.arange(30) % 3)  # fmt: skip
    run.done("fit", "rows.npz", "--labels", "y", "--method", "PLEM", "--folds", "2", "--out", "rows")
    written = json.loads(run("predict", "rows/model.skops", "rows.npz", "--out", "-", "--json").out)["predictions"]
    assert load("rows/model.skops").predict("rows.npz").tolist() == [row["label"] for row in written]


def test_a_wrapped_pipeline_is_refused(run: Run, tmp_path: Path) -> None:
    """Only the last step of a pipeline can be wrapped, such as by a calibration: the first steps encode the table."""
    model = fit(run, "--method", "PLEM")
    calibrated = CalibratedClassifierCV(FrozenEstimator(model.pipeline[-1]))
    calibrated.fit(np.zeros((60, model.pipeline[-1].n_features_in_)), ["finch", "owl", "wren"] * 20)
    with pytest.raises(InputTypeError, match=r"must be a Pipeline .* got CalibratedClassifierCV. Wrap the last step"):
        save(tmp_path / "wrapped.skops", replace(model, pipeline=calibrated))
    assert not (tmp_path / "wrapped.skops").exists()
