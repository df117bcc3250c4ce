"""OpenAPI description of the application, with the columns and classes of the model."""

from typing import Any

from oneof.serving.predictor import RowPredictor

_CELL = {"type": ["string", "number", "boolean", "null"]}
"""A cell: any column may also be given as text, as in a table."""
_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}


def describe(predictor: RowPredictor, max_rows: int) -> dict[str, Any]:
    """Return the OpenAPI description, in the types of JSON."""
    row, prediction, notes = _reference("Row"), _reference("Prediction"), {"notes": _array(_TEXT)}
    answers = [_closed(notes, prediction=prediction), _closed(notes, predictions=_array(prediction))]
    forms = [_closed({}, row=row), _closed({}, rows=_array(row) | {"maxItems": max_rows})]
    body = {"required": True, "content": _json({"oneOf": forms})}
    summary = "Predict the label of one row, or of several rows."
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of {predictor.model.method}", "version": predictor.model.oneof_version},
        "paths": {
            "/health": {"get": _operation("Return the status of the server.", _OBJECT)},
            "/model": {"get": _operation("Return the columns and classes of the model, and the limits.", _OBJECT)},
            "/predict": {"post": _operation(summary, {"oneOf": answers}) | {"requestBody": body}},
        },
        "components": {
            "schemas": {
                "Row": _describe_row(predictor),
                "Prediction": _describe_prediction(predictor),
                "Error": _closed({}, error=_TEXT),
            }
        },
    }


def _describe_row(predictor: RowPredictor) -> dict[str, Any]:
    """Return the schema of a row. A vector and its numbers exclude each other, which only its description says."""
    cells = {name: _CELL | {"description": kind} for name, kind in predictor.columns}
    for name, size in predictor.vectors.items():
        replaced = f"Vector, which replaces the cells {name}[0] to {name}[{size - 1}]."
        bounds = {"minItems": size, "maxItems": size, "description": replaced}
        cells[name] = _array(_CELL) | {"type": ["array", "null"]} | bounds
    absent = "is an error" if predictor.strict else "is a missing value, too"
    description = f"Null is a missing value. An absent column {absent}. Other keys are ignored."
    return _OBJECT | {"properties": cells, "minProperties": 1, "description": description}


def _describe_prediction(predictor: RowPredictor) -> dict[str, Any]:
    label = {"enum": predictor.classes}
    values = _OBJECT | {"additionalProperties": {"type": "number"}}
    sets = {"set": _array(label) | {"description": f"The prediction set. {predictor.set_guarantee}"}}
    unreadable, absent = "The missing values whose cells cannot be read, by column.", "The columns that the row lacks."
    optional = {
        "unreadable": _OBJECT | {"additionalProperties": _TEXT, "description": unreadable},
        "absent": _array(_TEXT) | {"description": absent},
        "empty": {"const": True, "description": "No cell of the row can be read."},
    }
    required = {"label": label, "confidence": {"type": "number"}, predictor.value_name: values}
    return _closed(optional, **required, **({} if predictor.set_options is None else sets))


def _operation(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an operation with the schema of its response; every error has the same form."""
    replies = {"200": ("OK", answer), "default": ("An error of one sentence.", _reference("Error"))}
    responses = {code: {"description": text, "content": _json(schema)} for code, (text, schema) in replies.items()}
    return {"summary": summary, "responses": responses}


def _closed(optional: dict[str, Any], **required: Any) -> dict[str, Any]:
    """Return the schema of an object without further keys."""
    keys = {"properties": required | optional, "required": [*required], "additionalProperties": False}
    return _OBJECT | keys


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
