"""Questions, answers and other requests over HTTP."""

import contextlib
import itertools
import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oneof
from oneof.errors import InputError, InputTypeError
from oneof.labeling.http.server import HEADERS, MAX_BODY_BYTES, LabelingServer, hosts_at
from oneof.labeling.session import LabelingSession
from oneof.sockets import listen
from tests.labeling.conftest import CLASSES, SECRET, make_rows
from tests.labeling.serving import Client, serving


def test_a_question_is_answered_over_http(client: Client, session: LabelingSession) -> None:
    """An acknowledged answer is in the log; the response has the next question; undo opens the row again."""
    question = client.ask(window="x")
    reply = client.answer(question, "none of", [1], "key", "guess")
    response = reply.json()
    assert reply.status == 200
    entry = session.answers.log()[-1]
    assert (entry.number, entry.row) == (response["written"], question["row"])
    assert (entry.kind, entry.labels, entry.degree) == ("none of", (1,), "guess")
    assert response["question"]["row"] != question["row"]
    assert [response["state"]["history"][0][name] for name in ("number", "degree")] == [entry.number, "guess"]
    undone = client.post("api/undo", {"annotator": "Ann", "window": "x", "key": "undo", "number": entry.number}).json()
    assert undone["question"]["row"] == question["row"]
    assert (undone["undone"]["labels"], undone["undone"]["degree"]) == ([1], "guess")
    assert session.answers.current_answer(question["row"], "Ann") is None


NESTED = b"[" * 60_000
DIGITS = b"9" * 5000
BAD_BODIES = (
    b"{",
    b"[]",
    b"\xff",
    NESTED,
    DIGITS,
    b'{"row": ' + DIGITS + b"}",
    b'"\\ud800"',
    b'{"annotator": "\\ud800"}',
)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *itertools.product(("ask", "open", "answer", "undo", "agreement"), BAD_BODIES),
        ("answer", {"question": "x", "kind": "one of", "labels": [0]}),
        *(("ask", {"annotator": name, "window": "w"}) for name in ("", "x" * 101, ["Ann"])),
        *(("open", {"annotator": "Ann", "window": "w", "row": row}) for row in ("1", True, 60, -1)),
    ],
)
def test_bad_requests_are_errors(client: Client, path: str, body: Any) -> None:
    """Integers of thousands of digits, deep nesting, half characters and invalid values have an error of a sentence."""
    reply = client.post(f"api/{path}", body)
    assert reply.status == 400
    check(reply)


@pytest.mark.parametrize(
    ("kind", "labels", "degree"),
    [
        *(("one of", labels, None) for labels in ([], [3], [-1], ["0"], [True], None)),
        ("none of", [0, 1, 2], None),
        ("undo", [], None),
        ("one of", [0], "certain"),
        ("one of", [0], 1),
        ("unknown", [], "sure"),
    ],
)
def test_bad_answers_are_not_written(
    client: Client, session: LabelingSession, kind: str, labels: Any, degree: Any
) -> None:
    question, before = client.ask(window="bad"), session.answers.log()
    reply = client.answer(question, kind, labels, "bad", degree)
    assert reply.status == 400
    check(reply)
    assert session.answers.log() == before


def test_an_expired_question_is_a_conflict(client: Client) -> None:
    reply = client.answer({"id": "of-long-ago"}, "one of", [0])
    assert reply.status == 409


def test_long_requests_are_rejected(client: Client) -> None:
    """Requests are rejected by their declared length and by their actual length."""
    assert client.post("api/ask", b" " * (MAX_BODY_BYTES + 1)).status == 413
    assert client.post("api/ask", b"", content_length="99999999").status == 413
    part = b"%x\r\n" % MAX_BODY_BYTES + b" " * MAX_BODY_BYTES + b"\r\n"
    sent = {"content_length": None, "transfer_encoding": "chunked"}
    assert client.post("api/ask", part + part + b"0\r\n\r\n", **sent).status == 413


def test_a_port_that_is_taken(session: LabelingSession, client: Client) -> None:
    with pytest.raises(InputError, match=r"cannot use port"):
        LabelingServer(session, port=int(client.address.split(":")[1]))


def test_a_failed_server_frees_its_port(session: LabelingSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any error, also Ctrl-C, the port is free; no port is opened without a session."""
    sockets: list[socket.socket] = []
    monkeypatch.setattr("oneof.labeling.http.server.listen", lambda port: sockets.append(listen(port)) or sockets[-1])
    monkeypatch.setattr("oneof.labeling.http.app.PageApp.make", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        LabelingServer(session)
    assert [socket_.fileno() for socket_ in sockets] == [-1]
    with pytest.raises(InputTypeError, match=r"`session` must be a .*LabelingSession; got NoneType"):
        LabelingServer(None)
    assert len(sockets) == 1


def test_it_listens_on_localhost_only(client: Client) -> None:
    assert client.address.startswith("127.0.0.1:")


POSTS = ["ask", "open", "answer", "undo", "agreement"]


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Client]:
    """Yield a client of a session of its own."""
    rows, _ = make_rows(20)
    with LabelingSession(rows, classes=CLASSES, random_state=0) as session, serving(session, annotator="Ann") as server:
        yield Client(server.link)


TEXTS = st.text(max_size=250) | st.text(st.characters(codec=None), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just(10**30) | st.just(-1)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3))
NAMES = ["annotator", "window", "row", "question", "kind", "labels", "degree", "key", "number"]
VALID = {"annotator": "Ann", "window": "w", "row": 3, "kind": "one of", "labels": [0], "key": "k", "number": None}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(POSTS),
    changed=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=2),
    is_open=st.booleans(),
)
def test_any_body_gets_an_answer(fuzzed: Client, path: str, changed: dict[str, Any], is_open: bool) -> None:
    """A body with values of any type is answered, or rejected with one sentence."""
    question = fuzzed.ask() if is_open else None
    body = VALID | {"question": question["id"] if question else "none"} | changed
    check(fuzzed.post(f"api/{path}", body))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(POSTS), body=st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_get_an_answer(fuzzed: Client, path: str, body: bytes) -> None:
    check(fuzzed.post(f"api/{path}", body))


PATHS = [
    *("image/" + "9" * 5000, "image/-1", "image/60", "image/%F0%9F%98%80", "image/", "image/red.png"),
    *("image/../../../etc/passwd", "image/..%2f..%2fsecret.png", "image/%2e%2e%2fsecret.png"),
    *("api/export.csv?combination=x", "api/export.csv?combination=%00", "api/export.xlsx", "api/export.", "api/none"),
    *("api/export.db", "api/export.csv/../../../../etc/passwd", "api/export.%2e%2e%2fetc%2fpasswd", "api/ask"),
    *("openapi.json", "content/../../app.py", "%00", "%ff", "../session.py", "..%2fsession.py", "%2e%2e/session.py"),
    *("page/index.html", "label.js/../../session.py", "....//session.py", "label.js%00.css", "/etc/passwd"),
]


@pytest.mark.parametrize("path", PATHS)
def test_other_paths_are_not_found(client: Client, path: str) -> None:
    """A request names a row or a file of the page; no file name of a request reaches the disk."""
    reply = client.get(path)
    assert reply.status in ((400,) if "combination" in path else (405,) if path == "api/ask" else (404,))
    check(reply)
    assert b"root:" not in reply.body
    assert SECRET not in reply.body


def check(reply: Any) -> None:
    """Check that a response is a result, or an error with one sentence."""
    assert reply.status < 500, reply.body
    if reply.status >= 400:
        sentence = reply.body.decode()
        with contextlib.suppress(ValueError):
            sentence = json.loads(sentence)["error"]
        assert re.fullmatch(r"\S.*\.", sentence), sentence


# -- Access control: the server answers its own page only, not another page, host name, method or origin -------------


def writes(client: Client) -> list[tuple[str, Any]]:
    """Return a request of every kind that has a body."""
    question = client.ask()
    return [
        ("api/answer", {"question": question["id"], "kind": "one of", "labels": [0], "key": "k"}),
        ("api/undo", {"annotator": "Ann", "window": "w", "key": "k"}),
        ("api/ask", {"annotator": "Ann", "window": "w"}),
        ("api/open", {"annotator": "Ann", "window": "w", "row": 1}),
        ("api/agreement", {"annotator": "Ann"}),
    ]


KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
PAGE = Path(oneof.__file__).parent / "labeling" / "http" / "page"
FILES = sorted(file.relative_to(PAGE).as_posix() for file in PAGE.rglob("*") if file.is_file())
READS = [*(file.replace("index.html", "") for file in FILES), "api/session", "api/export.csv", "api/export.parquet"]
READS.append("image/0")


def test_the_page_and_its_files(client: Client) -> None:
    """Files are served with their types under the link, and every response has the security headers."""
    assert {Path(file).suffix for file in FILES} <= set(KINDS)
    kinds = {"": "text/html"} | {file: KINDS[Path(file).suffix] for file in FILES}
    for path in READS:
        reply = client.get(path)
        assert reply.status == 200
        assert reply.headers["content-type"].startswith(kinds.get(path, ""))
        assert {name: reply.headers[name] for name in HEADERS} == HEADERS
        assert not any(name.startswith("access-control") for name in reply.headers)
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_page_loads_no_external_resources() -> None:
    """No file of the page loads an external resource, has inline code, or makes HTML from text."""
    for file in FILES:
        text = (PAGE / file).read_text().replace("http://www.w3.org/2000/svg", "")
        for forbidden in (
            "http:",
            "https:",
            "//cdn",
            "innerHTML",
            "outerHTML",
            "eval(",
            "style=",
            "onclick",
            "@import",
        ):
            assert forbidden not in text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "0.0.0.0:{port}",
        "",
        None,
    ],
)
def test_dns_rebinding(client: Client, session: LabelingSession, host: str | None) -> None:
    """A page whose DNS name resolves to this machine sends its own host name: it reads and writes nothing.

    Its origin then equals its host, and it may even have the secret.
    """
    port = client.address.split(":")[1]
    sent = None if host is None else host.format(port=port)
    requests = [("GET", path, None) for path in READS] + [("POST", *write) for write in writes(client)]
    before = session.answers.log()
    for method, path, body in requests:
        reply = client.send(method, path, body, host=sent, origin=f"http://{sent}")
        assert reply.status in (400, 421)  # 400: the HTTP server rejects a request without a host
        assert client.token.encode() not in reply.body
        assert b"finch" not in reply.body
    assert session.answers.log() == before


def test_two_hosts_are_rejected(client: Client) -> None:
    assert client.get("api/session", host=client.address, Host="evil.example").status in (400, 421)


def test_localhost_is_this_machine(client: Client) -> None:
    name = f"localhost:{client.address.split(':')[1]}"
    assert client.get("", host=name).status == 200
    question = client.post("api/ask", {"annotator": "Z", "window": "z"}, host=name, origin=f"http://{name}")
    assert question.status == 200
    assert client.post("api/ask", {"annotator": "Z", "window": "z"}, host=name).status == 403  # another origin


CROSS_SITE = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": None},
    {"origin": "http://localhost:1"},
    {"origin": "https://{address}"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"content_type": "text/plain"},
    {"content_type": "application/x-www-form-urlencoded"},
    {"content_type": "multipart/form-data; boundary=x"},
    {"content_type": None},
]


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_cross_site_posts(client: Client, session: LabelingSession, headers: dict[str, str | None]) -> None:
    """Requests of forms and scripts of other pages are rejected and change nothing, even with the secret."""
    sent = {name: value and value.format(address=client.address) for name, value in headers.items()}
    requests = writes(client)
    before = session.answers.log()
    for path, body in requests:
        reply = client.post(path, body, **sent)
        assert reply.status in (403, 415)
        assert not any(name.startswith("access-control") for name in reply.headers)
    assert session.answers.log() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_cannot_read(client: Client, site: str) -> None:
    """Scripts, styles, images and fetches of other pages are rejected; a followed link opens the page."""
    for path in READS:
        for kind in ("script", "style", "image", "empty", "iframe"):
            assert client.get(path, sec_fetch_site=site, sec_fetch_dest=kind).status == 403
        opened = client.get(path, sec_fetch_site=site, sec_fetch_dest="document", sec_fetch_mode="navigate")
        assert opened.status == (200 if path == "" else 403)
        assert client.get(path, origin="http://evil.example").status == 403


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_http_methods_are_rejected(client: Client, method: str) -> None:
    """A preflight request is rejected."""
    preflight = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    reply = client.send(method, "api/answer", origin=f"http://{client.address}", **preflight)
    assert reply.status == 405
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_paths_without_the_secret_are_not_found(client: Client) -> None:
    for path in (
        "/",
        "/label.js",
        "/api/session",
        f"/{client.token[:-1]}/",
        f"/{client.token}x/",
        f"/{client.token}",
        "//",
    ):
        reply = client.send("GET", path, raw=True)
        assert reply.status == 404
        assert reply.body == b"Not found."
        assert client.send("POST", path, {}, raw=True).status == 404


def test_every_server_has_another_secret(session: LabelingSession, client: Client) -> None:
    """The secrets of the annotators and of the lead have 192 bits and are new for each server."""
    second_server = LabelingServer(session)
    second_server._socket.close()
    tokens = [Client(link).token for link in (second_server.link, second_server.lead_link)]
    assert len({client.token, *tokens}) == 3
    assert min(map(len, tokens)) >= 32


def test_the_default_port_is_optional_in_the_host() -> None:
    """At port 80 a browser sends the host without a port; at any other port this is another server."""
    assert "127.0.0.1" in hosts_at(80)
    assert hosts_at(8080) == ("127.0.0.1:8080", "localhost:8080")


def test_other_protocols_are_rejected(client: Client) -> None:
    """WebSocket upgrades are ignored, and a proxy request is not found."""
    key = {"upgrade": "websocket", "sec_websocket_key": "x" * 22 + "==", "sec_websocket_version": "13"}
    for origin in (None, "http://evil.example"):
        assert client.get("api/session", origin=origin, **key).status in (200, 403)
    assert client.send("GET", f"http://{client.address}{client.base}api/session", raw=True).status == 404


def test_the_secret_does_not_leak(capsys: pytest.CaptureFixture[str], begin: Callable[..., LabelingSession]) -> None:
    """The secret is neither in the referrer of a link nor in the output of the server, even after an error."""
    assert HEADERS["referrer-policy"] == "no-referrer"
    session = begin()
    session.question_for = lambda *_, **__: 1 / 0
    with serving(session) as server:
        client = Client(server.link)
        assert client.post("api/open", {"annotator": "Ann", "window": "w", "row": 1}).status == 500
        assert client.get("api/session", upgrade="websocket").status == 200
        assert client.get("nothing").status == 404
    output = capsys.readouterr()
    assert "ZeroDivisionError" in output.err
    assert client.token not in output.err + output.out
