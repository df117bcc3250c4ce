"""The application predicts rows, describes itself, and answers every other request with one sentence and 4xx."""

import contextlib
import http.client
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oneof import serving
from oneof.errors import InputError, InputTypeError, MissingExtraError
from oneof.serving import RowPredictor, make_app
from oneof.serving.app import MAX_BODY_BYTES, MAX_ROWS
from oneof.serving.server import PredictionServer
from tests.serving.models import Reply, call, fit_birds, fit_vectors, new_rows

PREDICTOR = RowPredictor(fit_birds("AvgPerceptron"))
APP = make_app(PREDICTOR, max_rows=5, max_body_bytes=5_000)
ROW = new_rows()[0]


def predict(body: Any, **options: Any) -> Reply:
    return call(APP, "/predict", body, **options)


def test_one_row_and_several_rows() -> None:
    """The predictions are those of the predictor."""
    rows = new_rows()[:3]
    expected = PREDICTOR.predict(rows)
    assert predict({"rows": rows}).json() == {"predictions": expected}
    assert predict({"row": rows[1]}).json() == {"prediction": PREDICTOR.predict(rows[1:2])[0]}
    assert predict({"rows": []}).json() == {"predictions": []}
    assert predict({"row": ROW}, content_type="Application/JSON; charset=utf-8").status == 200


def test_the_model_and_its_limits() -> None:
    assert call(APP, "/health").json() == {"status": "ok"}
    facts = call(APP, "/model").json()
    assert [tuple(column.values()) for column in facts.pop("columns")] == PREDICTOR.columns
    expected = {"method": "AvgPerceptron", "classes": ["finch", "owl", "wren"], "values": "scores", "strict": False}
    assert facts.items() >= expected.items()
    assert facts["limits"] == {"max_rows": 5, "max_body_bytes": 5_000}


def test_the_description_matches_the_application() -> None:
    """The paths of the description are those that respond; its references exist; its example row is accepted."""
    reply = call(APP, "/openapi.json")
    content, schemas = reply.json(), reply.json()["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/(\w+)"', reply.body.decode()))
    assert references == {"Row", "Prediction"} == schemas.keys()
    for path, operations in content["paths"].items():
        [method] = operations
        assert call(APP, path, {"row": ROW} if method == "post" else None).status == 200
    assert list(schemas["Row"]["properties"]) == [name for name, _ in PREDICTOR.columns]
    prediction = predict({"row": ROW}).json()["prediction"]
    assert schemas["Prediction"]["required"] == list(prediction)
    assert prediction["label"] in schemas["Prediction"]["properties"]["label"]["enum"]
    body = content["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["rows"]["maxItems"] == 5
    assert [[*one.values()] for one in body["oneOf"]] == [[["row"]], [["rows"]]]


@pytest.mark.parametrize("strict", [False, True])
def test_a_vector_or_its_numbers(strict: bool) -> None:
    """A vector is a list or null, or it is numbers of their own; with `strict`, one of them is required."""
    app = make_app(RowPredictor(fit_vectors(), strict=strict))
    facts = call(app, "/model").json()
    assert (facts["strict"], facts["vectors"]) == (strict, [{"name": "a", "length": 10}])
    assert call(app, "/openapi.json").json()["components"]["schemas"]["Row"]["properties"]["a"]["maxItems"] == 10
    vector, numbers, part = [1.0] * 10, {f"a[{j}]": 1.0 for j in range(10)}, {"a[3]": 1.0}
    valid: list[dict[str, Any]] = [{"a": vector}, numbers, {"a": None}]
    valid += [numbers | {"a": other} for other in (None, "remark")]
    invalid: list[dict[str, Any]] = [{}, *({"a": cell} for cell in (vector[1:], "[1]", {"x": 1}, 3))]
    invalid += [{"a": vector} | more for more in (numbers, part)]
    (invalid if strict else valid).append(part)
    replies = {
        status: [call(app, "/predict", {"row": row}) for row in rows] for status, rows in ((200, valid), (400, invalid))
    }
    assert all(reply.status == status for status in replies for reply in replies[status])
    assert replies[200][0].json() == replies[200][1].json()
    message = "row 0: column 'a' must have vectors of 10 numbers, as in training; got a vector of 9."
    assert replies[400][1].json()["error"].startswith(message)
    assert (
        "column 'a' must have vectors of 10 numbers, as in training; got a value of type"
        in replies[400][2].json()["error"]
    )
    for rows, row in (([{"a": vector}, numbers], 0), ([{"a": None}, {"a": vector} | part], 1)):
        both = call(app, "/predict", {"rows": rows}).json()["error"]
        assert both == f"row {row}: column 'a' has a vector, whose number 'a[{3 * row}]' is also a column. Remove one."
    assert call(app, "/predict", {"row": {"a": [None] * 9 + ["x"]}}).status == (400 if strict else 200)


FAULTS: list[tuple[Any, int, str]] = [
    (b"", 400, "must be JSON"),
    (b'{"row":', 400, "must be JSON"),
    (b"\xff\xfe", 400, "UTF-8"),
    (b'{"row": {"span": NaN}}', 400, "has no NaN. Use null"),
    (b'{"row": {"span": -Infinity}}', 400, "must be JSON in UTF-8: it has no -Infinity"),
    (b'{"row": {"span": ' + b"9" * 4_500 + b"}}", 400, "must be JSON"),
    (b'{"row": {"Span": ' + b"9" * 600 + b"}}", 400, "missing columns"),
    ({}, 400, "either"),
    ({"row": ROW, "model": "x"}, 400, "either"),
    ({"row": None}, 400, "row 0 must be an object"),
    ({"rows": ROW}, 400, "must be a list"),
    ({"rows": [ROW, [1]]}, 400, "row 1 must be an object"),
    ({"row": ROW | {"span": ["wide"]}}, 400, "row 0: column 'span' must contain numbers"),
    ({"row": ROW | {"span": 1e308, "mass": -1e308}}, 400, ""),
    ({"row": ROW | {"span": {"\ud800": "\udfff"}}}, 400, "column 'span'"),
    ({"rows": [ROW] * 6}, 413, "at most 5 rows; got 6"),
    ({"row": ROW | {"remark": "a" * 5_000}}, 413, "at most 5,000 bytes"),
]


@pytest.mark.parametrize(("body", "status", "message"), FAULTS, ids=range(len(FAULTS)))
def test_invalid_bodies(body: Any, status: int, message: str) -> None:
    """An invalid body is an error of one sentence, however its bytes arrive."""
    for chunk in (7, 2**16):
        reply = predict(body, method="POST", chunk=chunk)
        if not message:  # large numbers may be predicted, or overflow
            assert reply.status in (200, status)
            continue
        assert reply.status == status, reply.body
        sentence = reply.json()["error"]
        assert message in sentence
        assert "\n" not in sentence


def test_invalid_requests() -> None:
    """Other paths, methods, content types and host names are errors."""
    assert call(APP, "/").status == call(APP, "/predict/x").status == 404
    assert "/predict" in call(APP, "/nothing").json()["error"]
    assert call(APP, "/predict").status == call(APP, "/model", {"row": ROW}).status == 405
    assert call(APP, "/model", method="DELETE").status == 405
    for kind in (None, "text/plain", "application/x-www-form-urlencoded"):
        assert predict({"row": ROW}, content_type=kind).status == 415
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", None):
        assert "not a name of this server" in predict({"row": ROW}, host=host).json()["error"]
        assert call(APP, "/model", host=host).status == 421
    for host in ("localhost:8000", "LOCALHOST", "10.0.0.5", "10.0.0.5:80", "[::1]:8000"):
        assert predict({"row": ROW}, host=host).status == 200
    assert call(make_app(PREDICTOR, hosts=("*",)), "/health", host="evil.example").status == 200


REPORTED: list[tuple[str, dict[str, Any], dict[str, Any], Any, str]] = [
    ("unreadable", {"span": "wide", "migrates": 7}, {"span": None, "migrates": None}, dict,
     "2 cells cannot be read and are missing"),
    ("unreadable", {"mass": 10**400}, {"mass": None}, dict, "1 cell cannot be read and is missing"),
    ("absent", {"span": ..., "color": ...}, {"span": None, "color": None}, list,
     "absent columns are missing values: 'span', 'color'."),
]  # fmt: skip


@pytest.mark.parametrize(("key", "cells", "missing", "kind", "message"), REPORTED)
def test_unreadable_and_absent_cells_are_missing_and_named(
    key: str, cells: dict[str, Any], missing: dict[str, Any], kind: Any, message: str
) -> None:
    """The prediction is that of the row with null; the response names the cells of each row, and a note counts them."""
    rows = [ROW, {name: cell for name, cell in (ROW | cells).items() if cell is not ...}]
    reply, plain = predict({"rows": rows}).json(), predict({"rows": [ROW, ROW | missing]}).json()
    named = [prediction.pop(key, kind()) for prediction in reply["predictions"]]
    assert reply["predictions"] == plain["predictions"]
    assert [list(names) for names in named] == [[], list(missing)]
    assert key == "absent" or all(str(cells[name])[:9] in text for name, text in named[1].items())
    [note] = reply["notes"]
    assert note.startswith(message)
    assert "notes" not in plain


def test_a_row_without_values_has_a_note() -> None:
    """The prediction is that of missing values, and says so; a single value is enough."""
    empty = dict.fromkeys(ROW)
    reply = predict({"rows": [ROW, empty, empty | {"span": 1.0}, empty | {"span": "?"}]}).json()
    assert [prediction.get("empty", False) for prediction in reply["predictions"]] == [False, True, False, True]
    assert reply["notes"][0].startswith("no cell can be read in row 1 and row 3: the prediction is that of missing")


def test_a_model_that_fails_is_an_error_of_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The response has status 500 and no traceback; the exception goes to the log of the web server."""
    predictor = RowPredictor(fit_birds("AvgPerceptron"))
    monkeypatch.setattr(predictor, "_predict", lambda _: 1 / 0)
    replies: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        call(make_app(predictor), "/predict", {"row": ROW}, replies=replies)
    assert replies[0]["status"] == 500
    assert json.loads(replies[1]["body"]) == {
        "error": "the model failed to predict these rows: the log of the server has the cause."
    }


def test_too_many_requests_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions beyond the limit have status 503 and say when to try again; /health still responds."""
    monkeypatch.setattr("oneof.serving.app.MAX_REQUESTS", 0)
    app = make_app(PREDICTOR)
    reply = call(app, "/predict", {"row": ROW})
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "try again later" in reply.json()["error"]
    assert call(app, "/health").status == 200


def test_other_sites_cannot_read() -> None:
    """No header permits a page of another site to read a response, or to send JSON."""
    for reply in (predict({"row": ROW}, origin="http://evil.example"), call(APP, "/predict", method="OPTIONS")):
        assert not any(name.startswith("access-control") for name in reply.headers)
    assert predict({"row": ROW}).headers["x-content-type-options"] == "nosniff"


LIMITS = [("max_rows", 0), ("max_rows", True), ("max_body_bytes", 1.5)]


def test_the_application_needs_a_predictor() -> None:
    """Another model is an error; the limit of the size of a body leaves a KiB for each row."""
    with pytest.raises(InputTypeError, match="RowPredictor"):
        make_app(fit_birds("PLEM"))  # type: ignore[arg-type]
    assert MAX_ROWS * 1_000 < MAX_BODY_BYTES


CELL = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.lists(st.integers(), max_size=2) | st.dictionaries(st.text(), st.none(), max_size=2)
)  # fmt: skip
ROWS = st.fixed_dictionaries({name: CELL for name, _ in PREDICTOR.columns}) | st.dictionaries(st.text(), CELL) | CELL
JSON = st.recursive(CELL, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
BODIES = (
    st.fixed_dictionaries({"row": ROWS})
    | st.fixed_dictionaries({"rows": st.lists(ROWS, max_size=4)})
    | st.fixed_dictionaries({}, optional={"row": JSON, "rows": JSON, "more": JSON})
    | JSON
)


@settings(max_examples=300, deadline=None)
@example(body=b'{"row": "\\n"}', flip=-1)
@given(body=BODIES.map(lambda content: json.dumps(content).encode()) | st.binary(), flip=st.integers(-1, 200))
def test_any_body_is_predicted_or_an_error(body: bytes, flip: int) -> None:
    """A random body, valid JSON or damaged in one byte, has a response of JSON with status 200 or 4xx."""
    if 0 <= flip < len(body):
        body = body[:flip] + bytes([body[flip] ^ 0x15]) + body[flip + 1 :]
    reply = predict(body, method="POST")
    content = reply.json()
    if reply.status == 200:
        assert content.keys() <= {"prediction", "predictions", "notes"}
    else:
        assert 400 <= reply.status < 500
        assert "\n" not in content["error"]


@settings(max_examples=100, deadline=None)
@given(
    path=st.sampled_from(["/predict", "/model", "/health", "/openapi.json"]) | st.text(max_size=20).map("/".__add__),
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "TRACE", "X"]),
    header=st.text(st.characters(max_codepoint=255), max_size=20),
)
def test_any_request_is_answered(path: str, method: str, header: str) -> None:
    """A random path, method or content type never causes an internal error."""
    assert call(APP, path, b"{}", method=method, content_type=header).status in (200, 400, 404, 405, 413, 415)


# -- The server on a socket --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[PredictionServer]:
    """Serve a model while the tests of the module run."""
    server = PredictionServer(fit_birds("PLEM"), port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()


def connect(server: PredictionServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)


def test_requests_of_one_connection(server: PredictionServer) -> None:
    """A connection of this machine, and no other, stays open for several requests, also after an error."""
    assert server.is_local
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(InputError, match=f"cannot use port {urlsplit(server.url).port}"):
        PredictionServer(fit_birds("PLEM"), port=urlsplit(server.url).port)
    rows, connection = new_rows()[:3], connect(server)
    expected = RowPredictor(fit_birds("PLEM")).predict(rows)
    for _ in range(2):
        connection.request("POST", "/predict", json.dumps({"rows": rows}), {"content-type": "application/json"})
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())) == (200, {"predictions": expected})
        assert "server" not in {name.lower() for name, _ in reply.getheaders()}
        connection.request("POST", "/predict", "{", {"content-type": "application/json"})
        reply = connection.getresponse()
        assert reply.status == 400
        assert json.loads(reply.read())["error"].startswith("the body must be JSON")
    connection.close()


@pytest.mark.long
def test_open_requests_end_before_the_server() -> None:
    """After SIGTERM no connection is accepted, an open request is predicted, and the process ends without an error."""
    code = (
        "from oneof.serving.server import PredictionServer\n"
        "from tests.serving.models import fit_birds\n"
        "server = PredictionServer(fit_birds('PLEM'), port=0)\n"
        "print(server.url, flush=True)\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "server.run()\n"
    )
    command = [sys.executable, "-c", "import signal\n" + code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().strip())
    body = json.dumps({"row": new_rows()[0]}).encode()
    head = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        reply = b""
        while not reply.endswith(b"}"):  # the server runs
            reply += connection.recv(1000)
        connection.sendall(f"POST /predict HTTP/1.1\r\n{head}\r\n\r\n".encode() + body[:20])
        process.terminate()
        with contextlib.suppress(ConnectionError):
            while process.poll() is None:
                socket.create_connection((address.hostname, address.port), timeout=20).close()
        connection.sendall(body[20:])
        assert connection.recv(20).startswith(b"HTTP/1.1 200")
    assert process.wait(20) == 0
    process.stdout.close()


def test_the_log_has_one_line_for_each_request(capfd: pytest.CaptureFixture[str]) -> None:
    """Each line has the time, the path and the status; nothing is written to standard output."""
    server = PredictionServer(fit_birds("PLEM"), port=0, log=True)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        for path in ("/health", "/nothing"):
            connection = connect(server)
            connection.request("GET", path)
            connection.getresponse().read()
            connection.close()
    finally:
        server.stop()
        thread.join()
        logging.getLogger("uvicorn.access").handlers.clear()
        logging.getLogger("uvicorn").handlers.clear()
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 2
    assert '"GET /health HTTP/1.1" 200' in lines[0]
    assert '"GET /nothing HTTP/1.1" 404' in lines[1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"port": 65_536}, InputError, "`port` must be an integer from 0 to 65535"),
        ({"port": True}, InputError, "`port` must be an integer"),
        ({"host": "no such host"}, InputError, "`host` must be an IPv4 address or a name of this machine"),
        ({"host": "192.0.2.1"}, InputError, "cannot use port 0 of 192.0.2.1"),
        ({"host": 3}, InputTypeError, "`host` must be a string"),
        *(({name: limit}, InputError, f"`{name}` must be an integer above 0") for name, limit in LIMITS),
    ],
)
def test_invalid_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """An invalid option is an error, and no socket stays open."""
    with pytest.raises(error, match=message):
        PredictionServer(fit_birds("PLEM"), **{"port": 0} | options)


def test_serve_prints_the_address(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(PredictionServer, "run", lambda self: self.socket.close())
    serving.serve(fit_birds("PLEM"), port=0)
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_without_a_web_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the error names it."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match="serving"):
        PredictionServer(fit_birds("PLEM"), port=0)


@pytest.mark.long
def test_generated_requests_conform(server: PredictionServer) -> None:
    """Requests that schemathesis makes from the public description get described responses, and no server error."""
    pytest.importorskip("schemathesis")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    options = ["--checks", checks, "--phases", "coverage,fuzzing", "--max-examples", "10", "--seed", "0", "--no-color"]
    command = "from schemathesis.cli import schemathesis; schemathesis()"
    result = subprocess.run(
        [sys.executable, "-c", command, "run", f"{server.url}/openapi.json", "--url", server.url, *options],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert re.search(r"Test cases:\s+\d{2}", result.stdout)
