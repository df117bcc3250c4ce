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
        "components": {"schemas": _schemas(row, n_classes)},
    }


def _posted(row: dict[str, Any], n_classes: int) -> dict[str, Any]:
    """Return the paths of requests with a JSON body."""
    identity = {"annotator": _NAME, "window": _TEXT}
    code = {"type": "integer", "minimum": 0, "maximum": n_classes - 1}
    undone = _object({"number": {"type": "integer"}} | _answer(code))
    answer = {"question": _TEXT, "kind": {"enum": ["one of", "none of", "unknown", "skip"]}, "key": _TEXT}
    number = {"number": {"type": ["integer", "null"], "description": "Number of the entry; the last one by default."}}
    opened = {"purpose": {"enum": list(PURPOSES), "description": "By default free."}}
    following = {"question": _or_null(_reference("Question")), "state": _reference("State")}
    return {
        "/api/ask": {"post": _post("Return the next question.", _object(identity), _object(following))},
        "/api/open": {
            "post": _post("Return a question for a row.", _object(identity | {"row": row}, opened), _object(following))
        },
        "/api/answer": {
            "post": _post(
                "Answer a question, and return the next one.",
                _object(answer, {"labels": _array(code), "degree": _DEGREE}),
                _object({"written": {"type": "integer"}} | following),
            )
        },
        "/api/undo": {
            "post": _post(
                "Undo an entry of an annotator, and return its question.",
                _object(identity | {"key": _TEXT}, number),
                _object({"undone": _or_null(undone)} | following),
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


def _schemas(row: dict[str, Any], n_classes: int) -> dict[str, Any]:
    """Return the schemas of the responses."""
    code = {"type": "integer", "minimum": 0, "maximum": n_classes - 1}
    return {
        "Question": _question(row, code),
        "State": _state(row, code),
        "Agreement": _agreement(row, code),
        "Error": _object({"error": _STRING}),
    }


def _question(row: dict[str, Any], code: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a question, as `oneof.labeling.http.app.question_to_dict` writes it."""
    answer = _answer(code)
    proposal = {"label": code, "probability": _or_null(_PROBABILITY)}
    highlight = {"label": code, "runner_up": code, "spans": _array(_array(_COUNT))}
    neighbor = {"row": row, "labels": _array(_STRING), "item": {"type": "object"}}
    return _object(
        {
            "id": _STRING,
            "row": row,
            "purpose": {"enum": ["query", "check", *PURPOSES]},
            "is_suspected": _BOOLEAN | {"description": "Whether the row is reviewed."},
            "score": _or_null(_NUMBER),
            "proba": _or_null(_array(_PROBABILITY))
            | {"description": "Predicted probabilities; null for a check, which they would bias."},
            "n_labeled": _COUNT,
            "proposal": _or_null(_object(proposal))
            | {"description": "Proposed label, and the probability that the labels of the row are wrong."},
            "highlight": _or_null(_object(highlight))
            | {"description": "Begin and end of the marked words, in UTF-16 code units."},
            "item": {"type": "object"},
            "candidates": _or_null(_array(code)),
            "current_answer": _or_null(_object(answer)),
            "others": _array(_object({"annotator": _or_null(_STRING)} | answer)),
            "neighbors": _array(_object(neighbor)),
        }
    )


def _state(row: dict[str, Any], code: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the progress, as `oneof.labeling.http.app.state_to_dict` writes it."""
    interval = {"rate": _or_null(_PROBABILITY), "low": _PROBABILITY, "high": _PROBABILITY}
    review = dict.fromkeys(("n_flagged", "n_kept", "n_changed", "n_unknown", "n_checked"), _COUNT)
    entry = {"number": {"type": "integer"}, "row": row} | _answer(code) | {"summary": _STRING}
    return _object(
        {
            "n_rows": _COUNT,
            "n_remaining": _COUNT,
            "n_labeled": _COUNT,
            "n_annotators": _COUNT,
            "can_export": _BOOLEAN,
            "last_entry": _COUNT,
            "last_error": _or_null(_STRING),
            "estimate": _object({"n_checks": _COUNT, "n_covered": _COUNT, "n_exact": _COUNT} | interval),
            "curve": _array(_object({"n_answers": _COUNT} | interval)),
            "review": _or_null(_object(review)) | {"description": "Numbers of reviewed rows by their answers."},
            "history": _array(_object(entry)),
        }
    )


def _agreement(row: dict[str, Any], code: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the agreement, as `oneof.labeling.annotators.page.agreement_to_dict` writes it."""
    interval = _or_null(_array(_NUMBER))
    accuracy = {"accuracy": _or_null(_PROBABILITY), "low": _or_null(_PROBABILITY), "high": _or_null(_PROBABILITY)}
    estimate = {"name": _STRING, "n_answers": _COUNT, "n_shared": _COUNT} | accuracy | {"is_chance": _BOOLEAN}
    matrices = dict.fromkeys(("n_shared", "n_equal", "n_compatible"), _array(_array(_COUNT)))
    pairs = {"names": _array(_STRING), "n_hidden": _COUNT} | matrices
    conflict = {"row": row, "summary": _STRING, "n_answers": _COUNT, "label": _or_null(code)}
    opinion = {"annotator": _STRING} | _answer(code) | {"differs": _BOOLEAN}
    worker = dict.fromkeys(("n_answers", "n_sets", "n_unknown", "n_skipped"), _COUNT)
    times = {"rate": _or_null(_NUMBER), "seconds_since_last": _or_null(_NUMBER)}
    gold = {"type": ["object", "null"]}
    statistics = {
        "alpha": _or_null(_NUMBER),
        "alpha_interval": interval,
        "masi_alpha": _or_null(_NUMBER),
        "masi_interval": interval,
        "annotators": _array(_object(estimate)),
        "copies": _array(_array(_STRING)),
        "min_shared_rows": _COUNT,
        "pairs": _object(pairs),
        "confused": _array(_object({"first": code, "second": code, "n_pairs": _NUMBER})),
    }
    return _object(
        {
            "statistics": _or_null(_object(statistics)) | {"description": "Null unless the link is that of the lead."},
            "n_shared": _COUNT,
            "n_conflicts": _COUNT,
            "n_hidden": _COUNT,
            "conflicts": _array(
                _object(conflict | {"answers": _array(_object(opinion))}, {"probability": _PROBABILITY})
            ),
            "progress": _array(_object({"name": _STRING} | worker | times | {"gold": gold})),
        }
    )


def _answer(code: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of an answer."""
    return {"kind": _STRING, "labels": _array(code), "degree": _DEGREE}


_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
_SESSION = {
    "title": _STRING,
    "annotator": _STRING,
    "classes": {"type": "array", "items": _STRING},
    "strategy": _STRING,
    "is_lead": _BOOLEAN,
}
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
_DEGREE = {"enum": [*DEGREES, None], "description": "How certain the annotator is."}
_ORIGIN = {
    "name": "Origin",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
    "description": "http://HOST:PORT as in the link of the page. A browser sends it; a program sets it.",
}
_NAME = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": r"\S"}


def _post(summary: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    request = {"parameters": [_ORIGIN], "requestBody": {"required": True, "content": _json(body)}}
    return _operation(summary, _json(answer)) | request


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


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
