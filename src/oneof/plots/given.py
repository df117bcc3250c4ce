"""What is asked of what pictures are drawn from."""

from typing import Any

from oneof.candidates import CandidateSets
from oneof.errors import InputError, InputTypeError
from oneof.validation import as_float_array


def check_sets(candidates: Any) -> None:
    """Raise unless there are candidate sets: of labels in other forms it would not be clear which classes there are."""
    if not isinstance(candidates, CandidateSets):
        raise InputTypeError(f"candidates is a {type(candidates).__name__}: give CandidateSets.from_sets(y).")


def check_curve(curve: Any) -> None:
    """Raise unless there are arrays of one length."""
    names = ["train_sizes", "covering_rate", "covering_rate_std", "accuracy", "accuracy_std"]
    if lacking := [name for name in names if not hasattr(curve, name)]:
        raise InputTypeError(
            f"`curve` must be a LearningCurve; it has no attribute `{lacking[0]}`. Pass the result of `learning_curve`."
        )
    known = {name: getattr(curve, name) for name in names if getattr(curve, name) is not None}
    shapes = {name: as_float_array(value, name).shape for name, value in known.items()}
    if "covering_rate" not in shapes or len(set(shapes.values())) > 1 or len(shapes["train_sizes"]) != 1:
        raise InputError(f"the learning curve has arrays of shapes {shapes}: give vectors of one length.")
