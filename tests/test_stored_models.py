"""Models that earlier versions wrote: this one reads them, and they predict what they predicted."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import oneof
from oneof.persistence import load
from tests.fixtures.write_models import FOLDER, predictions

STORED = sorted(FOLDER.glob("*/*.skops"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_predicts_what_it_predicted(path: Path) -> None:
    """Its labels are the same, its scores up to rounding; another scikit-learn is told, and is no error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", re.escape(str(path)), UserWarning)
        model = load(path)
    then, now = json.loads((path.parent / "predictions.json").read_text())[path.stem], predictions(model)
    assert now["labels"] == then["labels"]
    np.testing.assert_allclose(now["scores"], then["scores"], rtol=1e-6, atol=1e-7)


def test_every_estimator_is_stored() -> None:
    """The first version's folder holds each estimator that there is; a new one is added to its own version's folder."""
    known = {path.stem for path in STORED}
    assert {name for name in oneof._LAZY_NAMES if hasattr(getattr(oneof, name), "fit")} <= known
    assert sum(path.stat().st_size for path in STORED) < 40_000 * len(STORED)
