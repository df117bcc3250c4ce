"""The server on a socket."""

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

from oneof import serving
from oneof.errors import InputError, InputTypeError, MissingExtraError
from oneof.serving import RowPredictor
from oneof.serving.server import PredictionServer
from tests.serving.models import fit_birds, new_rows


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
        ({"max_rows": 0}, InputError, "`max_rows` must be an integer above 0"),
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
