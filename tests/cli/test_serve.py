"""Tests of `oneof serve`."""

import http.client
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from oneof.errors import InputError
from oneof.persistence import load
from oneof.serving import RowPredictor, make_app
from oneof.serving.server import PredictionServer
from tests.cli.conftest import Run, check_error, make_birds, read_json
from tests.serving.models import call, fit_birds


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Predict the rows of a table as soon as the server runs, and then raise KeyboardInterrupt."""
    replies: list[Any] = []
    serve = PredictionServer.run

    def run(server: PredictionServer) -> None:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=120)
        body = json.dumps({"rows": make_birds(1).to_dicts()})
        connection.request("POST", "/predict", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        replies.append((reply.status, json.loads(reply.read())))
        connection.close()
        server.stop()
        thread.join()
        raise KeyboardInterrupt

    monkeypatch.setattr(PredictionServer, "run", run)
    return replies


def test_the_predictions_are_those_of_predict(run: Run, model: Path, replies: list[Any]) -> None:
    """The server predicts the labels and confidences that `oneof predict` writes; Ctrl-C ends it without an error."""
    result = run("serve", model, "--port", "0")
    assert (result.code, result.err) == (0, "")
    assert "predicts at http://127.0.0.1:" in result.out
    make_birds(1).write_csv("new.csv")
    assert run("predict", model, "new.csv").code == 0
    expected = pl.read_csv("new-predictions.csv")
    [(status, content)] = replies
    assert status == 200
    assert [row["label"] for row in content["predictions"]] == expected["label"].to_list()
    confidences = [row["confidence"] for row in content["predictions"]]
    assert confidences == pytest.approx(expected["confidence"].to_list(), rel=1e-12)


def test_the_server_has_the_options_of_prediction_sets(run: Run, replies: list[Any]) -> None:
    """With --coverage each prediction has a set; the guarantee and the note on too few rows are printed."""
    make_birds().select("mass", "species").write_csv("birds.csv")
    assert run("fit", "birds.csv", "--labels", "species", "--method", "PLKNN", "--folds", "2").code == 0
    options = ("--coverage", "0.99", "--set-method", "aps", "--class-conditional")
    result = run.done("serve", "birds-oneof/model.skops", "--port", "0", *options)
    assert "in every prediction set" in result.err
    assert "Prediction sets: About 99 % of new rows like the calibration rows of each class have" in result.out
    [(status, content)] = replies
    assert status == 200
    assert all(row["set"] for row in content["predictions"])


def test_prediction_sets_need_a_calibration(run: Run, model: Path) -> None:
    """A model without calibration rows is an error at the start, and not at the first request."""
    check_error(run, "serve", model, "--coverage", "0.9", message="--coverage needs probabilities; AvgPerceptron has")
    check_error(run, "serve", model, "--set-method", "aps", message="need --coverage: add it")
    with pytest.raises(InputError, match="prediction sets need a model with calibration rows"):
        RowPredictor(fit_birds("PLEM"), coverage=0.9)


def test_the_description_has_the_prediction_sets(run: Run) -> None:
    """With prediction sets, /openapi.json requires `set`, and /model has the options; without them, both lack them."""
    make_birds().select("mass", "species").write_csv("birds.csv")
    assert run("fit", "birds.csv", "--labels", "species", "--method", "PLKNN", "--folds", "2").code == 0
    saved = load("birds-oneof/model.skops")
    app = make_app(RowPredictor(saved, coverage=0.7))
    schema = call(app, "/openapi.json").json()["components"]["schemas"]["Prediction"]
    prediction = call(app, "/predict", {"row": {"mass": 0.5}}).json()["prediction"]
    assert schema["required"] == list(prediction)
    assert schema["properties"]["set"]["items"] == schema["properties"]["label"]
    assert set(prediction["set"]) <= set(saved.classes)
    assert call(app, "/model").json()["prediction_sets"]["coverage"] == 0.7
    plain = make_app(RowPredictor(saved))
    assert call(plain, "/model").json()["prediction_sets"] is None
    assert "set" not in call(plain, "/openapi.json").json()["components"]["schemas"]["Prediction"]["properties"]


def test_limits_and_json(run: Run, model: Path, replies: list[Any]) -> None:
    """--json prints the address; a request above --max-rows is an error."""
    facts = read_json(run, "serve", model, "--port", "0", "--max-rows", "3")
    assert facts["url"].startswith("http://127.0.0.1:")
    assert facts["method"] == "AvgPerceptron"
    [(status, content)] = replies
    assert (status, content) == (413, {"error": "a request may have at most 3 rows; got 60."})


def test_other_machines(run: Run, model: Path, replies: list[Any]) -> None:
    """A note says that other machines can connect."""
    result = run.done("serve", model, "--port", "0", "--host", "0.0.0.0")
    assert "no password and no encryption" in result.err


def test_strict(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--strict and --allowed-host reach the server."""
    given: dict[str, Any] = {}
    monkeypatch.setattr("oneof.serving.server.PredictionServer", lambda _, **options: given.update(options))
    run("serve", model, "--strict", "--log", "--allowed-host", "a.example", "--allowed-host", "b.example")
    assert (given["strict"], given["log"], given["allowed_hosts"]) == (True, True, ["a.example", "b.example"])
    run("serve", model)
    assert (given["strict"], given["log"], given["allowed_hosts"]) == (False, False, None)
    assert (given["max_rows"], given["max_body_bytes"], given["port"]) == (1_000, 4 * 2**20, 8_000)
