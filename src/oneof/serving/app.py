"""HTTP application of predictions: health, the model's columns and classes, and predictions of one row or several.

Every response is a JSON object. An error is `{"error": "one sentence"}`. Its status is from 400 to 499 if the request
is invalid, 500 if the model fails, and 503 if too many requests are open. A request can make the server predict, and
nothing else: there are no files, no names of functions and no pickles. A page of another site cannot read a response,
since no header permits it. It cannot send rows either, since the content type of JSON needs such a permission.
"""

import asyncio
import ipaddress
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from oneof.errors import InputError, OneofError
from oneof.io.columns import format_names
from oneof.io.findings import UnreadableCells
from oneof.messages import enumerate_items
from oneof.serving.limits import MAX_BODY_BYTES, MAX_BODY_SECONDS, MAX_REQUESTS, MAX_ROWS
from oneof.serving.predictor import RowPredictor
from oneof.validation import check_instance, check_positive

_CELL = {"type": ["string", "number", "boolean", "null"]}
"""A cell: any column may also be given as text, as in a table."""
_TEXT, _NUMBER, _OBJECT = {"type": "string"}, {"type": "number"}, {"type": "object"}
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
_SENTENCES = {
    404: "the path does not exist: the paths are /health, /model, /openapi.json and /predict.",
    405: "the method is not allowed: /predict needs POST, all other paths GET.",
    421: "the host name of the request is not a name of this server: add it by --allowed-host.",
    500: "the model failed to predict these rows: the log of the server has the cause.",
}


def make_app(
    predictor: RowPredictor,
    *,
    max_rows: int = MAX_ROWS,
    max_body_bytes: int = MAX_BODY_BYTES,
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost"),
) -> Starlette:
    """Return an ASGI application that predicts rows, for a web server of your choice.

    Parameters
    ----------
    predictor : RowPredictor
    max_rows : int, default=1000
        Maximum number of rows of a request.
    max_body_bytes : int, default=4194304
        Maximum size of the body of a request.
    hosts : tuple of str
        The names under which the server may be addressed, without ports, in addition to IP addresses; "*" for any.
        With "*", a page of another site can reach the server by a DNS name of its own (DNS rebinding).

    Returns
    -------
    starlette.applications.Starlette

    Raises
    ------
    InputError
        If a limit is not an integer above 0.
    InputTypeError
        If `predictor` is not a RowPredictor.

    Examples
    --------
    >>> from oneof.persistence import load
    >>> from oneof.serving import RowPredictor, make_app
    >>> app = make_app(RowPredictor(load("model.skops")), hosts=("models.example.org",))  # doctest: +SKIP
    """
    check_instance("predictor", predictor, RowPredictor)
    limits = {"max_rows": max_rows, "max_body_bytes": max_body_bytes}
    for name, limit in limits.items():
        check_positive(name, limit, integer=True)
    slots = asyncio.Semaphore(MAX_REQUESTS)

    async def predict(request: Request) -> Response:
        if slots.locked():
            raise HTTPException(503, f"{MAX_REQUESTS} requests are open: try again later.", {"retry-after": "1"})
        async with slots:
            content = _parse(await _read(request, max_body_bytes))
            predictions = await run_in_threadpool(predictor.predict, _rows(content, max_rows))
        answer = {"prediction": predictions[0]} if "row" in content else {"predictions": predictions}
        return _respond(answer | ({"notes": notes} if (notes := _notes(predictions)) else {}))

    model, requests = describe_model(predictor, limits), describe_requests(predictor, max_rows)
    pages = {"/health": {"status": "ok"}, "/model": model, "/openapi.json": requests}
    routes = [Route(path, _respond(content), methods=["GET"]) for path, content in pages.items()]
    routes.append(Route("/predict", predict, methods=["POST"]))
    handlers: Any = dict.fromkeys((HTTPException, OneofError, Exception), _on_error)
    return Starlette(routes=routes, middleware=[Middleware(_HostMiddleware, hosts=hosts)], exception_handlers=handlers)


async def _read(request: Request, limit: int) -> bytes:
    """Return the body of a request, unless it is too long, too slow, or not JSON."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "the body must be JSON: send the header `content-type: application/json`.")
    content = bytearray()
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limit:
                    raise HTTPException(413, f"the body must have at most {limit:,} bytes: send fewer rows.")
    except TimeoutError:
        raise HTTPException(408, f"the body must arrive within {MAX_BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, "the body ended early.") from None
    return bytes(content)


def _rows(content: Any, limit: int) -> list[Any]:
    """Return the rows of a body."""
    if not isinstance(content, dict) or content.keys() not in ({"row"}, {"rows"}):
        raise InputError('the body must be an object with either "row" (an object) or "rows" (a list of objects).')
    rows = [content["row"]] if "row" in content else content["rows"]
    if not isinstance(rows, list):
        raise InputError('"rows" must be a list of objects.')
    if len(rows) > limit:
        raise HTTPException(413, f"a request may have at most {limit:,} rows; got {len(rows):,}.")
    return rows


def describe_model(predictor: RowPredictor, limits: dict[str, int]) -> dict[str, Any]:
    """Return the method, the columns and the classes of a model, and the limits of a request, as JSON types."""
    model, options = predictor.model, predictor.set_options
    return {
        "method": model.method,
        "classes": predictor.classes,
        "columns": [{"name": name, "kind": kind} for name, kind in predictor.columns],
        "vectors": [{"name": name, "length": length} for name, length in predictor.vectors.items()],
        "values": predictor.value_name,
        "labels": list(model.label_columns),
        "training_rows": model.summary.get("rows"),
        "oneof_version": model.oneof_version,
        "strict": predictor.strict,
        "prediction_sets": None if options is None else asdict(options) | {"guarantee": predictor.set_guarantee},
        "limits": limits,
    }


def describe_requests(predictor: RowPredictor, max_rows: int) -> dict[str, Any]:
    """Return the OpenAPI description of the application, with the columns and classes of the model."""
    row, prediction = ({"$ref": f"#/components/schemas/{name}"} for name in ("Row", "Prediction"))
    body = _closed({"row": row, "rows": _array(row) | {"maxItems": max_rows}}) | _one_of("row", "rows")
    answer = _closed({"prediction": prediction, "predictions": _array(prediction), "notes": _array(_TEXT)})
    answer |= _one_of("prediction", "predictions")
    predict = _operation("Predict the label of one row, or of several rows.", answer)
    predict["requestBody"] = _content("One row, or several rows.", body) | {"required": True}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of {predictor.model.method}", "version": predictor.model.oneof_version},
        "paths": {
            "/health": {"get": _operation("Return the status of the server.", _OBJECT)},
            "/model": {"get": _operation("Return the columns and classes of the model, and the limits.", _OBJECT)},
            "/predict": {"post": predict},
        },
        "components": {"schemas": {"Row": _describe_row(predictor), "Prediction": _describe_prediction(predictor)}},
    }


def _describe_row(predictor: RowPredictor) -> dict[str, Any]:
    """Return the schema of a row. A vector and its numbers exclude each other, which only its description says."""
    cells = {name: _CELL | {"description": kind} for name, kind in predictor.columns}
    for name, size in predictor.vectors.items():
        replaced = f"Vector, which replaces the cells {name}[0] to {name}[{size - 1}]."
        vector = {"type": ["array", "null"], "minItems": size, "maxItems": size, "description": replaced}
        cells[name] = _array(_CELL) | vector
    absent = "is an error" if predictor.strict else "is a missing value, too"
    description = f"Null is a missing value. An absent column {absent}. Other keys are ignored."
    return _OBJECT | {"properties": cells, "minProperties": 1, "description": description}


def _describe_prediction(predictor: RowPredictor) -> dict[str, Any]:
    label, values = {"enum": predictor.classes}, _OBJECT | {"additionalProperties": _NUMBER}
    required = {"label": label, "confidence": _NUMBER, predictor.value_name: values}
    if predictor.set_options is not None:
        required["set"] = _array(label) | {"description": f"The prediction set. {predictor.set_guarantee}"}
    unreadable = _OBJECT | {"additionalProperties": _TEXT, "description": "The cells that cannot be read, by column."}
    absent = _array(_TEXT) | {"description": "The columns that the row lacks."}
    empty = {"const": True, "description": "No cell of the row can be read."}
    return _closed(required | {"unreadable": unreadable, "absent": absent, "empty": empty}, required)


def _operation(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an operation with the schema of its response; every error has the same form."""
    error = _content("An error of one sentence.", _closed({"error": _TEXT}, ["error"]))
    return {"summary": summary, "responses": {"200": _content("OK", answer), "default": error}}


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _closed(properties: dict[str, Any], required: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object without further keys."""
    return _OBJECT | {"properties": properties, "required": [*required], "additionalProperties": False}


def _one_of(*names: str) -> dict[str, Any]:
    """Return the schema of an object that has one of the keys."""
    return {"oneOf": [{"required": [name]} for name in names]}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _notes(predictions: list[dict[str, Any]]) -> list[str]:
    """Return the note of `oneof predict` about unreadable cells, and notes about absent columns and empty rows."""
    cells, absent = UnreadableCells(), dict[str, None]()
    empty = [f"row {row}" for row, prediction in enumerate(predictions) if prediction.get("empty")]
    for row, prediction in enumerate(predictions):
        absent |= dict.fromkeys(prediction.get("absent", ()))
        for column, value in prediction.get("unreadable", {}).items():
            cells.add(column, [(row, value)], 1)
    none = f"no cell can be read in {enumerate_items(empty, 5)}: the prediction is that of missing values only."
    note = f"absent columns are missing values: {format_names([*absent])}. Add their keys, with null if missing."
    return [*[none] * bool(empty), *cells.sentences(), *[note] * bool(absent)]


def _parse(body: bytes) -> Any:
    """Parse JSON; NaN and Infinity, which are not JSON, are errors."""
    try:
        return json.loads(body.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:  # also an integer with more digits than Python reads
        raise InputError(f"the body must be JSON in UTF-8: {str(error).splitlines()[0].rstrip('.')}.") from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"it has no {name}. Use null for a missing value")


def _respond(content: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # In ASCII: an error may quote half a surrogate pair, which has no UTF-8.
    body = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers=_HEADERS | dict(headers or {}), media_type="application/json")


async def _on_error(_: Request, error: Exception) -> Response:
    """Return an error of one sentence; the web server writes the traceback of an internal error to its log."""
    if isinstance(error, OneofError):
        return _respond({"error": str(error)}, 400)
    known = error if isinstance(error, HTTPException) else HTTPException(500)
    return _respond({"error": _SENTENCES.get(known.status_code, known.detail)}, known.status_code, known.headers)


class _HostMiddleware:
    """ASGI middleware that refuses requests to other host names, which prevents DNS rebinding.

    A page of another site can reach a server of this machine or network by a DNS name of that site, and can then read
    its responses. The request has this name as its host, so only the names of the server are accepted. An IP address is
    always accepted, since a browser reads an address from no other server.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        names = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name.lower() == b"host"]
        is_refused = scope["type"] == "http" and not (len(names) == 1 and is_accepted(names[0], self._hosts))
        app = await _on_error(Request(scope), HTTPException(421)) if is_refused else self._app
        await app(scope, receive, send)


def is_accepted(host: str, hosts: Collection[str]) -> bool:
    """Return whether a `Host` header is an IP address or one of the names, in lower case, with any port.

    Examples
    --------
    >>> [is_accepted(host, {"localhost"}) for host in ("localhost:8000", "[::1]:80", "10.0.0.5", "evil.example")]
    [True, True, True, False]
    """
    name = re.sub(r"^\[|\]?(:\d*)?$", "", host)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "*" in hosts or name.lower() in hosts
    return True
