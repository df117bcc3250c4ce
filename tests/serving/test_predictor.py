"""Predictions of rows given as mappings are those of the pipeline for a table."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline

from oneof.errors import InputError, InputTypeError
from oneof.model_selection import get_proba
from oneof.serving import RowPredictor
from tests.serving.models import METHODS, fit_birds, new_rows, to_table


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [{}, {"numbers": True}, {"binary": True}], ids=["sparse", "dense", "binary"])
def test_predictions_are_those_of_the_pipeline(method: str, form: dict[str, bool]) -> None:
    """Labels, confidences and probabilities or scores are those of the pipeline, row by row and in a batch."""
    model = fit_birds(method, **form)
    rows, pipeline = new_rows()[:20], model.pipeline
    table = to_table(model, rows)
    predictions = RowPredictor(model).predict(rows)
    assert [row["label"] for row in predictions] == pipeline.predict(table).tolist()
    result = get_proba(pipeline, table)
    np.testing.assert_allclose([row["confidence"] for row in predictions], result.proba.max(axis=1), rtol=1e-12)
    name = "probabilities" if result.calibrated else "scores"
    assert all(list(row[name]) == [str(label) for label in model.classes] for row in predictions)
    values = np.array([list(row[name].values()) for row in predictions])
    if result.calibrated:
        np.testing.assert_allclose(values, result.proba, rtol=1e-12)
    else:
        expected = pipeline.decision_function(table)
        np.testing.assert_allclose(
            values, expected if expected.ndim == 2 else np.column_stack([-expected, expected]), rtol=1e-12
        )
    for row, prediction in zip(rows[:5], predictions, strict=False):
        [alone] = RowPredictor(model).predict([row])
        assert alone["label"] == prediction["label"]
        np.testing.assert_allclose(list(alone[name].values()), list(prediction[name].values()), rtol=1e-6, atol=1e-9)


class Contrary(ClassifierMixin, BaseEstimator):
    """Classifier whose prediction is not the most probable class, as that of scikit-learn's SVC may be."""

    classes_ = np.array(["finch", "owl", "wren"])

    def predict_proba(self, X: Any) -> Any:
        return np.tile([0.7, 0.2, 0.1], (X.shape[0], 1))

    def predict(self, X: Any) -> Any:
        return np.array(["wren"] * X.shape[0])


def test_other_classifiers_predict_by_their_own_rule() -> None:
    """The label is the one that `predict` of the classifier returns."""
    model = fit_birds("PLEM")
    pipeline = Pipeline([model.pipeline.steps[0], ("contrary", Contrary())])
    [prediction] = RowPredictor(replace(model, pipeline=pipeline)).predict(new_rows()[:1])
    assert (prediction["label"], prediction["confidence"]) == ("wren", 0.7)


def test_several_threads_get_the_same_predictions() -> None:
    model = fit_birds("LOORidge")
    predictor, rows = RowPredictor(model), new_rows()
    expected = predictor.predict(rows)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(predictor.predict(rows))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
    assert predictor.predict([]) == []
    assert predictor.predict([row | {"color of the eyes": 3} for row in rows]) == expected


@pytest.mark.parametrize("method", ["PLKNN", "HarmonicField"])
@pytest.mark.parametrize("number", [1e300, "-1e300"])
def test_a_number_that_is_too_large_is_named(method: str, number: Any) -> None:
    """The error has the row, the column of the table, and the number; a table in Python has the same one."""
    model, rows = fit_birds(method), new_rows()
    rows[3] |= {"mass": number}
    message = rf"row 3: column 'mass' contains {float(number):g}, which is too large for the model".replace("+", r"\+")
    with pytest.raises(InputError, match=f"^{message}"):
        RowPredictor(model).predict(rows)
    for predict in (model.predict, model.predict_proba):
        with pytest.raises(InputError, match=f"^the table, {message}"):
            predict(rows)


def test_models_that_cannot_predict_rows() -> None:
    model = fit_birds("PLEM")
    with pytest.raises(InputTypeError, match=r"`model` must be a oneof\.persistence\.SavedModel; got Pipeline"):
        RowPredictor(model.pipeline)
    with pytest.raises(InputError, match="the model has no columns"):
        RowPredictor(replace(model, columns=[]))
    with pytest.raises(InputError, match="unknown kind of column, 'sound'"):
        RowPredictor(replace(model, columns=[("song", "sound")]))
