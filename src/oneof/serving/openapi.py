"""OpenAPI description of the application, with the columns and classes of the model."""

from collections.abc import Collection
from itertools import chain
from typing import Any

from oneof.io.vectors import member_names
from oneof.serving.predictor import RowPredictor

_CELL = ["string", "number", "boolean", "null"]
"""JSON types of a cell: any column may also be given as text, as in a table."""


def describe(predictor: RowPredictor, max_rows: int) -> dict[str, Any]:
    """Return the OpenAPI description, in the types of JSON."""
    prediction = _reference("Prediction")
    several = {"rows": {"type": "array", "items": _reference("Row"), "maxItems": max_rows}}
    closed = {"additionalProperties": False}
    body = {"oneOf": [_object({"row": _reference("Row")}) | closed, _object(several) | closed]}
    notes = {"notes": {"type": "array", "items": {"type": "string"}}}
    answer = {
        "oneOf": [
            _object({"prediction": prediction}, notes),
            _object({"predictions": {"type": "array", "items": prediction}}, notes),
        ]
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of {predictor.model.method}", "version": predictor.model.oneof_version},
        "paths": {
            "/health": {"get": _operation("Return the status of the server.", {"type": "object"})},
            "/model": {
                "get": _operation("Return the columns and classes of the model, and the limits.", {"type": "object"})
            },
            "/predict": {
                "post": _operation("Predict the label of one row, or of several rows.", answer)
                | {"requestBody": {"required": True, "content": _json(body)}}
            },
        },
        "components": {"schemas": _schemas(predictor)},
    }


def _schemas(predictor: RowPredictor) -> dict[str, Any]:
    cells = {name: {"type": _CELL, "description": kind} for name, kind in predictor.columns}
    unreadable = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The cells that cannot be read and are missing values, by column.",
    }
    absent = {
        "type": "array",
        "items": {"type": "string"},
        "description": "The columns that the row lacks, which are missing values.",
    }
    label = {"enum": predictor.classes}
    values = {"type": "object", "additionalProperties": {"type": "number"}}
    vectors = {
        name: {
            "type": ["array", "null"],
            "items": {"type": _CELL},
            "minItems": length,
            "maxItems": length,
            "description": f"Vector, which replaces the cells {name}[0] to {name}[{length - 1}].",
        }
        for name, length in predictor.vectors.items()
    }
    members = {name: member_names(name, length) for name, length in predictor.vectors.items()}
    numbers = set(chain(*members.values()))
    required = {name: cell for name, cell in cells.items() if name not in numbers}
    if predictor.strict:
        row = _object(required, cells | vectors)
    else:
        row = _object({}, cells | vectors) | {"minProperties": 1}
    if vectors:
        row["allOf"] = [_vector_or_numbers(name, members[name], cells, strict=predictor.strict) for name in vectors]
    description = "Null is a missing value. Other keys are ignored."
    if not predictor.strict:
        description = "Null is a missing value, and so is an absent column. Other keys are ignored."
    confidence = {"type": "number", "minimum": 0, "maximum": 1}
    prediction = {"label": label, "confidence": confidence, predictor.value_name: values}
    if predictor.set_options is not None:
        prediction["set"] = {
            "type": "array",
            "items": label,
            "uniqueItems": True,
            "description": f"The prediction set. {predictor.set_guarantee}",
        }
    return {
        "Row": row | {"description": description},
        "Prediction": _object(prediction, {"unreadable": unreadable, "absent": absent}),
        "Error": _object({"error": {"type": "string"}}),
    }


def _vector_or_numbers(name: str, members: list[str], columns: Collection[str], *, strict: bool) -> dict[str, Any]:
    """Return the schema of rows that have a vector as a list or as numbers of their own, but not as both."""
    vector: dict[str, Any] = {"properties": dict.fromkeys(members, False)}
    numbers: dict[str, Any] = {"properties": {name: {"type": "null"}}}
    if strict:
        vector["required"] = [name]
        numbers["required"] = [member for member in members if member in columns]
    return {"anyOf": [vector, numbers]}


def _operation(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {
            "200": {"description": "OK", "content": _json(answer)},
            "4XX": {"description": "The request is invalid.", "content": _json(_reference("Error"))},
            "500": {"description": "The model failed.", "content": _json(_reference("Error"))},
            "503": {"description": "Too many requests are open.", "content": _json(_reference("Error"))},
        },
    }


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
