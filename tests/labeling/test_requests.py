"""Requests of any content are answered, or rejected with a sentence, and never end in an error of the server."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.serving import Client, serving

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
