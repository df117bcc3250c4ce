"""The OpenAPI description covers every path, and requests of random content end in a sentence, never in an error."""

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneof.audit import LabelIssue
from oneof.labeling.content.table import LabelTable
from oneof.labeling.http.app import PageOptions, make_app
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


def test_every_path_is_described(fuzzed: Client, session: LabelingSession) -> None:
    """The description has the paths and methods of the application, and no other."""
    described = fuzzed.get("openapi.json").json()["paths"]
    routes = {
        (re.sub(r"{(\w+):\w+}", r"{\1}", route.path), method.lower())
        for route in make_app(session, PageOptions("Birds")).routes
        for method in route.methods - {"HEAD"}
    }
    assert {(path, method) for path, methods in described.items() for method in methods} == routes


def test_requests_that_write_need_the_origin(fuzzed: Client) -> None:
    """The header is described where the server requires it, and nowhere else."""
    for methods in fuzzed.get("openapi.json").json()["paths"].values():
        for method, operation in methods.items():
            required = [one["name"] for one in operation.get("parameters", []) if one["in"] == "header"]
            assert required == (["Origin"] if method == "post" else [])


def test_the_description_is_not_public(fuzzed: Client) -> None:
    """It needs the secret of the link, as every other path does."""
    assert fuzzed.send("GET", "/openapi.json", raw=True).status == 404
    assert fuzzed.get("openapi.json", sec_fetch_site="cross-site").status == 403


def test_references_exist(fuzzed: Client) -> None:
    content = fuzzed.get("openapi.json").json()
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(content)))
    assert named == set(content["components"]["schemas"])


def test_every_property_is_described() -> None:
    """The responses have the described properties and no other, in a review of texts and in a session of a table."""
    rows, truth = make_rows(20)
    texts = pl.DataFrame({"text": [f"a {CLASSES[code]} sings" for code in truth]})
    issues = [LabelIssue(row, ["finch"], "owl", 0.9, "owl") for row in range(12)]
    reviewed = {"y": [["finch"]] * 20, "queue": issues, "table": LabelTable(texts, "kind", "text", "text")}
    for options in (reviewed, {"gold": {0: "owl"}}):
        with LabelingSession(rows, classes=CLASSES, random_state=0, **options) as session, serving(session) as server:
            client = Client(server.lead_link)
            content = client.get("openapi.json").json()
            schemas = content["components"]["schemas"]
            parts: set[str] = set()
            for number in range(24):
                annotator = ("Ann", "Bob")[number % 2]
                row = {"annotator": annotator, "window": "w", "row": number // 2, "purpose": "informed review"}
                opened = client.post("api/open", row).json()
                reply = client.answer(opened["question"], "one of", [number % 3]).json()
                check_described(reply["question"], schemas["Question"])
                check_described(reply["state"], schemas["State"])
                check_described(opened["question"], schemas["Question"])
                parts |= {name for part in (opened["question"], reply["state"]) for name in part if part[name]}
            assert parts >= {"proposal", "highlight", "review"} or session.review is None
            agreement = client.post("api/agreement", {"annotator": "Ann"}).json()
            assert agreement["conflicts"]
            check_described(agreement, schemas["Agreement"])
            undone = client.post("api/undo", {"annotator": "Ann", "window": "w", "key": "u"}).json()["undone"]
            undo = content["paths"]["/api/undo"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
            check_described(undone, undo["properties"]["undone"])


def check_described(value: Any, schema: dict[str, Any]) -> None:
    """Check that all objects of a value have the properties of their schema, as far as it lists properties."""
    schema = schema.get("anyOf", [schema])[0]  # the other one is null
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])
        for name, part in value.items():
            check_described(part, schema["properties"][name])
    if isinstance(value, list):
        for part in value:
            check_described(part, schema["items"])


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_generated_requests_conform(fuzzed: Client) -> None:
    """Requests that schemathesis makes from the description get described responses, and no error of the server."""
    checks = [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
    run = "from schemathesis.cli import schemathesis; schemathesis()"
    link = f"http://{fuzzed.address}/{fuzzed.token}"
    options = ["--url", link, "--checks", ",".join(checks), "--phases", "coverage,fuzzing", "--max-examples", "10"]
    options += [
        "--header",
        f"Origin: http://{fuzzed.address}",
        "--seed",
        "0",
        "--no-color",
        "--generation-database",
        "none",
    ]
    result = subprocess.run(
        [sys.executable, "-c", run, "run", f"{link}/openapi.json", *options],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert re.search(r"Test cases:\s+\d{3}", result.stdout)


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
        "api/ask",
        "strings/../../app.py",
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
