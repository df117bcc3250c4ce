"""Stored models: those of the present format load and predict the same, those of older formats are errors."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import oneof
from oneof.errors import ModelFileError
from oneof.persistence import FORMAT_VERSION, load
from tests.fixtures.write_models import FOLDER, PRESENT, predictions

STORED = sorted(PRESENT.glob("*.skops"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_has_the_same_predictions(path: Path) -> None:
    """Labels are equal, and scores are equal up to rounding; another version of scikit-learn causes only a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", re.escape(str(path)), UserWarning)
        model = load(path)
    expected, current = json.loads((path.parent / "predictions.json").read_text())[path.stem], predictions(model)
    assert current["labels"] == expected["labels"]
    np.testing.assert_allclose(current["scores"], expected["scores"], rtol=1e-6, atol=1e-7)


def test_every_estimator_is_stored() -> None:
    """The folder of the present format has every estimator; `python -m tests.fixtures.write_models` writes it."""
    known = {path.stem for path in STORED}
    public = [getattr(oneof, name) for name in oneof._LAZY_NAMES]
    assert {value.__name__ for value in public if hasattr(value, "fit")} <= known
    assert sum(path.stat().st_size for path in STORED) < 40_000 * len(STORED)


def test_models_of_older_formats_are_errors() -> None:
    """One sentence names the file, the number of its format and the remedy, for any types in the file."""
    older = sorted(path for path in FOLDER.glob("*/*.skops") if path.parent != PRESENT)
    assert older
    for path in older:
        number = path.parent.name.removeprefix("format-")
        message = (
            f"^{re.escape(str(path))} has format {number}, .* reads the format {FORMAT_VERSION}[.] Fit the model again"
        )
        with pytest.raises(ModelFileError, match=message):
            load(path)
