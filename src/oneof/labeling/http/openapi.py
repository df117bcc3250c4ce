"""OpenAPI description of the application of the labeling page.

The paths are relative to the link of the page, which contains the secret; the requests that write need the headers
that `oneof.labeling.http.server.AccessMiddleware` checks.
"""

from importlib.metadata import version
from typing import Any

from oneof.labeling.answers.log import DEGREES
from oneof.labeling.scheduler import PURPOSES

MAX_TEXT = 200
"""Maximum number of characters of a text in a request, such as the name of an annotator."""


def describe(media_types: dict[str, str], n_rows: int, n_classes: int) -> dict[str, Any]:
    """Return the OpenAPI description, in the types of JSON.

    Parameters
    ----------
    media_types : dict of str to str
        Media types of the files of the page by their paths.
    n_rows, n_classes : int
        Numbers of rows and classes of the session.
    """
    row = {"type": "integer", "minimum": 0, "maximum": n_rows - 1}
    files = {f"/{path}": {"get": _file(media_type)} for path, media_type in media_types.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Labeling page of oneof", "version": version("oneof")},
        "servers": [{"url": ".", "description": "The link of the page."}],
        "paths": files | _posted(row, n_classes) | _read(row),
        "components": {"schemas": _schemas(row)},
    }


def _posted(row: dict[str, Any], n_classes: int) -> dict[str, Any]:
    """Return the paths of requests with a JSON body."""
    identity = {"annotator": _NAME, "window": _TEXT}
    labels = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": n_classes - 1}}
    answer = {"question": _TEXT, "kind": {"enum": ["one of", "none of", "unknown", "skip"]}, "key": _TEXT}
    number = {"number": {"type": ["integer", "null"], "description": "Number of the entry; the last one by default."}}
    opened = {"purpose": {"enum": list(PURPOSES), "description": "By default free."}}
    following = {"question": {"anyOf": [_reference("Question"), {"type": "null"}]}, "state": _reference("State")}
    return {
        "/api/ask": {"post": _post("Return the next question.", _object(identity), _object(following))},
        "/api/open": {
            "post": _post("Return a question for a row.", _object(identity | {"row": row}, opened), _object(following))
        },
        "/api/answer": {
            "post": _post(
                "Answer a question, and return the next one.",
                _object(answer, {"labels": labels, "degree": _DEGREE}),
                _object({"written": {"type": "integer"}} | following),
            )
        },
        "/api/undo": {
            "post": _post(
                "Undo an entry of an annotator, and return its question.",
                _object(identity | {"key": _TEXT}, number),
                _object(
                    {"undone": {"anyOf": [_object({"number": {"type": "integer"}}), {"type": "null"}]}} | following
                ),
            )
        },
        "/api/agreement": {
            "post": _post(
                "Return the agreement of the annotators.", _object({"annotator": _NAME}), _reference("Agreement")
            )
        },
    }


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """Return the paths of requests without a body, apart from those of files."""
    session = _object(_SESSION)
    combination = {"name": "combination", "in": "query", "schema": {"enum": ["votes", "model"]}}
    suffix = {"name": "suffix", "in": "path", "required": True, "schema": {"enum": ["csv", "parquet"]}}
    exported: dict[str, Any] = {"text/csv": {"schema": _STRING}, "application/vnd.apache.parquet": {}}
    image = {"name": "row", "in": "path", "required": True, "schema": row}
    return {
        "/openapi.json": {"get": _operation("Return this description.", _json({"type": "object"}))},
        "/api/session": {"get": _operation("Return the title, the classes and the strategy.", _json(session))},
        "/api/export.{suffix}": {
            "get": _operation("Return the table with the labels.", exported) | {"parameters": [suffix, combination]}
        },
        "/image/{row}": {
            "get": _operation("Return the image of a row.", {"image/*": {}}) | {"parameters": [image]},
        },
        "/audio/{row}": {
            "get": _operation("Return the audio file of a row.", {"audio/*": {}}) | {"parameters": [image]},
        },
    }


def _schemas(row: dict[str, Any]) -> dict[str, Any]:
    count = {"type": "integer", "minimum": 0}
    entry = _object(
        {"number": {"type": "integer"}, "row": row, "kind": _STRING, "labels": _array(count), "degree": _DEGREE}
    )
    probability = {"type": "number", "minimum": 0, "maximum": 1}
    question = {
        "id": _STRING,
        "row": row,
        "purpose": {"enum": ["query", "check", *PURPOSES]},
        "score": {"type": ["number", "null"]},
        "proba": {"anyOf": [_array(probability), {"type": "null"}]},
        "item": {"type": "object"},
        "others": _array(_object({"annotator": _STRING, "kind": _STRING, "labels": _array(count)})),
    }
    progress = {"n_rows": count, "n_remaining": count, "history": _array(entry), "estimate": {"type": "object"}}
    alpha = {"type": ["number", "null"]}
    interval = {"anyOf": [_array({"type": "number"}), {"type": "null"}]}
    confused = _object({"first": count, "second": count, "n_pairs": {"type": "number"}})
    matrix = _array(_array(count))
    pairs = {"names": _array(_STRING), "n_shared": matrix, "n_equal": matrix, "n_compatible": matrix}
    worker = {"name": _STRING, "n_answers": count, "n_sets": count, "n_unknown": count, "n_skipped": count}
    agreement = {
        "alpha": alpha,
        "alpha_interval": interval,
        "annotators": _array({"type": "object"}),
        "pairs": _object(pairs),
        "confused": _array(confused),
        "n_conflicts": count,
        "conflicts": _array(_object({"row": row, "n_answers": count})),
        "progress": _array(_object(worker | {"rate": alpha, "gold": {"type": ["object", "null"]}})),
    }
    return {
        "Question": _object(question),
        "State": _object(progress),
        "Agreement": _object(agreement),
        "Error": _object({"error": _STRING}),
    }


_STRING = {"type": "string"}
_SESSION = {
    "title": _STRING,
    "annotator": _STRING,
    "classes": {"type": "array", "items": _STRING},
    "strategy": _STRING,
    "is_lead": {"type": "boolean"},
}
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
_DEGREE = {"enum": [*DEGREES, None], "description": "How certain the annotator is."}
_NAME = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": r"\S"}


def _post(summary: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return _operation(summary, _json(answer)) | {"requestBody": {"required": True, "content": _json(body)}}


def _file(media_type: str) -> dict[str, Any]:
    schema = {"type": "object"} if media_type == "application/json" else _STRING
    return _operation("Return a file of the page.", {media_type: {"schema": schema}})


def _operation(summary: str, content: dict[str, Any]) -> dict[str, Any]:
    error = _json(_reference("Error")) | {"text/plain": {"schema": _STRING}}
    return {
        "summary": summary,
        "responses": {
            "200": {"description": "OK", "content": content},
            "4XX": {"description": "The request is not allowed or is invalid.", "content": error},
        },
    }


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
