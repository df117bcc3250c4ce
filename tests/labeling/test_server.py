"""Questions, answers and other requests over HTTP."""

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneof.errors import InputError, InputTypeError
from oneof.labeling.http.server import MAX_BODY_BYTES, LabelingServer
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.serving import Client, serving


def test_a_question_is_answered_over_http(client: Client, session: LabelingSession) -> None:
    """An acknowledged answer is in the log; the response has the next question; undo opens the row again."""
    question = client.ask(window="x")
    reply = client.answer(question, "none of", [1])
    response = reply.json()
    assert reply.status == 200
    entry = session.answers.log()[-1]
    assert (entry.number, entry.row, entry.kind, entry.labels) == (
        response["written"],
        question["row"],
        "none of",
        (1,),
    )
    assert response["question"]["row"] != question["row"]
    assert response["state"]["history"][0]["number"] == entry.number
    undone = client.post("api/undo", {"annotator": "Ann", "window": "x", "key": "undo", "number": entry.number}).json()
    assert undone["question"]["row"] == question["row"]
    assert undone["undone"]["labels"] == [1]
    assert session.answers.current_answer(question["row"], "Ann") is None


def test_an_answer_sent_twice_is_written_once(client: Client, session: LabelingSession) -> None:
    """A repeated request after a lost response writes one entry."""
    question, before = client.ask(window="y"), len(session.answers.log())
    replies = [client.answer(question, "one of", [0, 2], key="same") for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].json()["written"] == replies[1].json()["written"]
    assert len(session.answers.log()) == before + 1


def test_two_windows_of_one_annotator(client: Client, session: LabelingSession) -> None:
    """If one row is open in both, the second answer is a conflict, and the first one is current."""
    opened = [client.post("api/open", {"annotator": "Eve", "window": w, "row": 40}).json()["question"] for w in "12"]
    assert client.answer(opened[0], "one of", [0]).status == 200
    rejected = client.answer(opened[1], "one of", [1])
    assert rejected.status == 409
    assert "another window" in rejected.json()["error"]
    assert session.answers.current_answer(40, "Eve").labels == (0,)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("api/answer", {"question": "x", "kind": "one of", "labels": [0]}),
        ("api/answer", b"{"),
        ("api/answer", b"[]"),
        ("api/answer", b"\xff"),
        ("api/answer", b"[" * 50_000),
        ("api/ask", {"annotator": "", "window": "w"}),
        ("api/ask", {"annotator": "x" * 101, "window": "w"}),
        ("api/ask", {"annotator": ["Ann"], "window": "w"}),
        ("api/open", {"annotator": "Ann", "window": "w", "row": "1"}),
        ("api/open", {"annotator": "Ann", "window": "w", "row": True}),
        ("api/open", {"annotator": "Ann", "window": "w", "row": 60}),
        ("api/open", {"annotator": "Ann", "window": "w", "row": -1}),
    ],
)
def test_bad_requests_are_errors(client: Client, path: str, body: Any) -> None:
    reply = client.post(path, body)
    assert reply.status == 400
    assert reply.json()["error"]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("one of", []),
        ("one of", [3]),
        ("one of", [-1]),
        ("one of", ["0"]),
        ("one of", [True]),
        ("none of", [0, 1, 2]),
        ("one of", None),
        ("undo", []),
    ],
)
def test_bad_answers_are_not_written(client: Client, session: LabelingSession, kind: str, labels: Any) -> None:
    question, before = client.ask(window="bad"), session.answers.log()
    assert client.answer(question, kind, labels).status == 400
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
    original = socket.socket

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(socket, "socket", lambda *kind: sockets.append(original(*kind)) or sockets[-1])
    monkeypatch.setattr("oneof.labeling.http.app.PageApp.make", stopped)
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


@pytest.mark.parametrize(
    "body", [b"9" * 5000, b'{"row": ' + b"9" * 5000 + b"}", b"[" * 60_000, b'"\\ud800"', b'{"annotator": "\\ud800"}']
)
@pytest.mark.parametrize("path", POSTS)
def test_hostile_json(fuzzed: Client, path: str, body: bytes) -> None:
    """Integers of thousands of digits, deep nesting and half characters are rejected with a sentence."""
    reply = fuzzed.post(f"api/{path}", body)
    assert reply.status == 400
    check(reply)


@pytest.mark.parametrize(
    "path",
    [
        "image/" + "9" * 5000,
        "image/-1",
        "image/%F0%9F%98%80",
        "image/",
        "api/export.csv?combination=x",
        "api/export.csv?combination=%00",
        "api/export.xlsx",
        "api/export.",
        "api/none",
        "openapi.json",
        "api/ask",
        "content/../../app.py",
        "%00",
        "%ff",
    ],
)
def test_any_path_gets_an_answer(fuzzed: Client, path: str) -> None:
    reply = fuzzed.get(path)
    assert 400 <= reply.status < 500
    check(reply)


def check(reply: Any) -> None:
    """Check that a response is a result, or an error with one sentence."""
    assert reply.status < 500, reply.body
    if reply.status >= 400:
        sentence = reply.body.decode()
        with contextlib.suppress(ValueError):
            sentence = json.loads(sentence)["error"]
        assert re.fullmatch(r"\S.*\.", sentence), sentence
