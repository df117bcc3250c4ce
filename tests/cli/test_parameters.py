"""Parameters of a method on the command line."""

import json
from pathlib import Path

import pytest

from oneof.cli.tables.methods import split_method
from oneof.errors import InputError
from oneof.persistence import load
from tests.cli.conftest import Run, check_error, make_birds


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


def test_a_fit_has_the_parameters(run: Run) -> None:
    """The model, the summary and the command in the report have them; the noise is audited with them as well."""
    make_birds().write_csv("birds.csv")
    method = "looridge:distractors=cooccurring,tol=0.01"
    fit = ("fit", "birds.csv", "--labels", "species", "--drop", "truth", "--folds", "2")
    result = run(*fit, "--method", method, "--noise-rate", "0.1")
    assert result.code == 0, result.err
    model = load("birds-oneof/model.skops").pipeline[-1]
    assert (model.distractors, model.tol) == ("cooccurring", 0.01)
    summary = json.loads(Path("birds-oneof/summary.json").read_text(encoding="utf-8"))
    assert summary["parameters"] == {"distractors": "cooccurring", "tol": 0.01}
    assert f"--method {method}" in Path("birds-oneof/report.html").read_text(encoding="utf-8")


def test_an_online_fit_has_the_parameters(run: Run) -> None:
    """The loss depends on the parameters of the online method."""
    make_birds().write_csv("birds.csv")
    losses = []
    for method in ("MaxPegasos:lam=0.001", "MaxPegasos:lam=10"):
        result = run("fit", "birds.csv", "--labels", "species", "--online", "--method", method, "--json")
        assert result.code == 0, result.err
        losses.append(json.loads(result.out)["progressive_validation"])
    assert losses[0] != losses[1]


@pytest.mark.parametrize(
    ("command", "method", "message"),
    [
        ("fit", "LOORidge:distractor=uniform", "LOORidge has no parameter 'distractor': did you mean distractors?"),
        ("compare", "best:tol=1", "--method best has no parameters. Name a method, such as LOORidge:tol=1."),
        ("audit", "auto:tol=1", "--method auto has no parameters."),
        ("fit", "LOORidge:distractors=none", '`distractors` must be "'),
    ],
)
def test_a_wrong_parameter_is_named(run: Run, command: str, method: str, message: str) -> None:
    """An unknown parameter has a suggestion; a wrong value has the sentence of the method."""
    make_birds().write_csv("birds.csv")
    if command == "fit" and "none" in method:
        result = run(command, "birds.csv", "--labels", "species", "--method", method)
        assert (result.code, message in result.err) == (2, True)
        return
    check_error(run, command, "birds.csv", "--labels", "species", "--method", method, message=message)
