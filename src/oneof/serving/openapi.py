"""OpenAPI description of the application, with the columns and classes of the model."""

from typing import Any

from oneof.serving.predictor import RowPredictor

_CELL = ["string", "number", "boolean", "null"]
"""JSON types of a cell: any column may also be given as text, as in a table."""


def describe(predictor: RowPredictor, max_rows: int) -> dict[str, Any]:
    """Return the OpenAPI description, in the types of JSON."""
    row, prediction, closed = _reference("Row"), _reference("Prediction"), {"additionalProperties": False}
    several = _object({"rows": _array(row) | {"maxItems": max_rows}}) | closed
    notes = {"notes": _array({"type": "string"})}
    answers = [_object({"prediction": prediction}, notes), _object({"predictions": _array(prediction)}, notes)]
    predict = _operation("Predict the label of one row, or of several rows.", {"oneOf": answers})
    body = {"required": True, "content": _json({"oneOf": [_object({"row": row}) | closed, several]})}
    status, model = "Return the status of the server.", "Return the columns and classes of the model, and the limits."
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of {predictor.model.method}", "version": predictor.model.oneof_version},
        "paths": {
            "/health": {"get": _operation(status, {"type": "object"})},
            "/model": {"get": _operation(model, {"type": "object"})},
            "/predict": {"post": predict | {"requestBody": body}},
        },
        "components": {
            "schemas": {
                "Row": _describe_row(predictor),
                "Prediction": _describe_prediction(predictor),
                "Error": _object({"error": {"type": "string"}}),
            }
        },
    }


def _describe_row(predictor: RowPredictor) -> dict[str, Any]:
    """Return the schema of a row. A vector and its numbers exclude each other, which only its description says."""
    cells = {name: {"type": _CELL, "description": kind} for name, kind in predictor.columns}
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
    description = {"description": "Null is a missing value. Other keys are ignored."}
    if predictor.strict:
        required = {name: cell for name, cell in cells.items() if name not in predictor.members}
        return _object(required, cells | vectors) | description
    description = {"description": "Null is a missing value, and so is an absent column. Other keys are ignored."}
    return _object({}, cells | vectors) | {"minProperties": 1} | description


def _describe_prediction(predictor: RowPredictor) -> dict[str, Any]:
    label = {"enum": predictor.classes}
    values = {"type": "object", "additionalProperties": {"type": "number"}}
    prediction: dict[str, Any] = {
        "label": label,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        predictor.value_name: values,
    }
    if predictor.set_options is not None:
        guarantee = f"The prediction set. {predictor.set_guarantee}"
        prediction["set"] = _array(label) | {"uniqueItems": True, "description": guarantee}
    unreadable, absent = "The missing values whose cells cannot be read, by column.", "The columns that the row lacks."
    return _object(
        prediction,
        {
            "unreadable": {"type": "object", "additionalProperties": {"type": "string"}, "description": unreadable},
            "absent": _array({"type": "string"}) | {"description": absent},
        },
    )


def _operation(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    errors = {
        "4XX": "The request is invalid.",
        "500": "The model failed.",
        "503": "Too many requests are open.",
    }
    error = _json(_reference("Error"))
    refused = {code: {"description": sentence, "content": error} for code, sentence in errors.items()}
    return {"summary": summary, "responses": {"200": {"description": "OK", "content": _json(answer)}} | refused}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
