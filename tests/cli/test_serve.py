"""Tests of `oneof serve`."""

import http.client
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from oneof.errors import DataError
from oneof.persistence import load
from oneof.serving import RowPredictor
from oneof.serving.server import PredictionServer
from tests.cli.conftest import Run, make_birds


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Predict the rows of a table as soon as the server runs, and then raise KeyboardInterrupt."""
    replies: list[Any] = []
    serve = PredictionServer.run

    def run(server: PredictionServer) -> None:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
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


def test_limits_and_json(run: Run, model: Path, replies: list[Any]) -> None:
    """--json prints the address; a request above --max-rows is an error."""
    result = run("serve", model, "--port", "0", "--max-rows", "3", "--json")
    assert result.code == 0
    facts = json.loads(result.out)
    assert facts["url"].startswith("http://127.0.0.1:")
    assert facts["method"] == "AvgPerceptron"
    [(status, content)] = replies
    assert (status, content) == (413, {"error": "a request may have at most 3 rows; got 60."})


def test_other_machines(run: Run, model: Path, replies: list[Any]) -> None:
    """A note says that other machines can connect."""
    result = run("serve", model, "--port", "0", "--host", "0.0.0.0")
    assert result.code == 0
    assert "no password and no encryption" in result.err


def test_invalid_models(run: Run) -> None:
    Path("model.skops").write_bytes(b"PK")
    for name, message in (("none.skops", "does not exist"), ("model.skops", "truncated")):
        result = run("serve", name)
        assert result.code == 2
        assert message in result.err


def test_cells_are_read_as_those_of_a_table(run: Run) -> None:
    """Dates, tokens of missing values, spaces and decimal commas in a row are read as in the cells of a table."""
    birds = make_birds().with_columns(
        span=pl.Series([f"{value:.2f}".replace(".", ",") for value in range(60)]),
        mass=pl.Series(["-" if i % 7 == 0 else str(i) for i in range(60)]),
        color=pl.Series([" red" if i % 2 else "gray" for i in range(60)]),
        day=pl.Series([f"2026-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)]),
    )
    birds.write_csv("birds.csv")
    result = run("fit", "birds.csv", "--labels", "species", "--drop", "truth", "--method", "PLEM", "--folds", "2")
    assert result.code == 0, result.err
    saved = load("birds-oneof/model.skops")
    assert {"date", "number", "category", "text"} <= {kind for _, kind in saved.columns}
    assert run("predict", "birds-oneof/model.skops", "birds.csv").code == 0
    expected = pl.read_csv("birds-predictions.csv")
    predictions = RowPredictor(saved).predict(birds.to_dicts())
    assert [row["label"] for row in predictions] == expected["label"].to_list()
    assert [row["confidence"] for row in predictions] == pytest.approx(expected["confidence"].to_list(), rel=1e-9)
    with pytest.raises(DataError, match="row 0"):
        RowPredictor(saved).predict([birds.to_dicts()[0] | {"day": "tomorrow"}])
