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
from collections.abc import Collection
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
from oneof.io.findings import UnreadableCells
from oneof.messages import enumerate_items
from oneof.serving.limits import MAX_BODY_BYTES, MAX_BODY_SECONDS, MAX_REQUESTS, MAX_ROWS
from oneof.serving.openapi import describe
from oneof.serving.predictor import RowPredictor
from oneof.validation import check_instance, check_positive

_MAX_LISTED = 5
"""Maximum number of columns or rows in a note."""
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
    pages = {
        "/health": {"status": "ok"},
        "/model": describe_model(predictor, limits),
        "/openapi.json": describe(predictor, max_rows),
    }
    return Starlette(
        routes=[
            *(Route(path, _respond(content), methods=["GET"]) for path, content in pages.items()),
            Route("/predict", _Predictions(predictor, **limits).predict, methods=["POST"]),
        ],
        middleware=[Middleware(_HostMiddleware, hosts=hosts)],
        exception_handlers=dict.fromkeys((HTTPException, OneofError, Exception), _on_error),
    )


class _Predictions:
    """Endpoint of predictions, and the number of its open requests."""

    def __init__(self, predictor: RowPredictor, max_rows: int, max_body_bytes: int) -> None:
        self._predictor, self._max_rows, self._max_body_bytes = predictor, max_rows, max_body_bytes
        self._open = asyncio.Semaphore(MAX_REQUESTS)

    async def predict(self, request: Request) -> Response:
        if self._open.locked():
            raise HTTPException(503, f"{MAX_REQUESTS} requests are open: try again later.", {"retry-after": "1"})
        async with self._open:
            content = _parse(await self._read(request))
            predictions = await run_in_threadpool(self._predictor.predict, self._rows(content))
        answer = {"prediction": predictions[0]} if "row" in content else {"predictions": predictions}
        return _respond(answer | ({"notes": notes} if (notes := _describe(predictions)) else {}))

    async def _read(self, request: Request) -> bytes:
        """Return the body of a request, unless it is too long, too slow, or not JSON."""
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "the body must be JSON: send the header `content-type: application/json`.")
        content, limit = bytearray(), self._max_body_bytes
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

    def _rows(self, content: Any) -> list[Any]:
        """Return the rows of a body."""
        if not isinstance(content, dict) or content.keys() not in ({"row"}, {"rows"}):
            raise InputError('the body must be an object with either "row" (an object) or "rows" (a list of objects).')
        rows = [content["row"]] if "row" in content else content["rows"]
        if not isinstance(rows, list):
            raise InputError('"rows" must be a list of objects.')
        if len(rows) > self._max_rows:
            raise HTTPException(413, f"a request may have at most {self._max_rows:,} rows; got {len(rows):,}.")
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


def _describe(predictions: list[dict[str, Any]]) -> list[str]:
    """Return the note of `oneof predict` about unreadable cells, and notes about absent columns and empty rows."""
    cells, absent = UnreadableCells(), dict[str, None]()
    empty = [f"row {row}" for row, prediction in enumerate(predictions) if prediction.get("empty")]
    for row, prediction in enumerate(predictions):
        absent |= dict.fromkeys(map(repr, prediction.get("absent", ())))
        for column, value in prediction.get("unreadable", {}).items():
            cells.add(column, [(row, value)], 1)
    names = enumerate_items([*absent], _MAX_LISTED, conjunction=False)
    note = f"absent columns are missing values: {names}. Use null for a missing value, or add its key."
    none = (
        f"no cell can be read in {enumerate_items(empty, _MAX_LISTED)}: the prediction is that of missing values only."
    )
    return [*[none] * bool(empty), *cells.sentences(), *[note] * bool(absent)]


def _parse(body: bytes) -> Any:
    """Parse JSON; NaN and Infinity, which are not JSON, are errors."""
    try:
        return json.loads(body.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:  # also an integer with more digits than Python reads
        raise InputError(f"the body must be JSON in UTF-8: {str(error).splitlines()[0].rstrip('.')}.") from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"it has no {name}. Use null for a missing value")


def _respond(content: dict[str, Any], status: int = 200) -> Response:
    # In ASCII: an error may quote half a surrogate pair, which has no UTF-8.
    body = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers=_HEADERS, media_type="application/json")


async def _on_error(_: Request, error: Exception) -> Response:
    """Return an error of one sentence; the web server writes the traceback of an internal error to its log."""
    if isinstance(error, OneofError):
        return _respond({"error": str(error)}, 400)
    known = error if isinstance(error, HTTPException) else HTTPException(500)
    response = _respond({"error": _SENTENCES.get(known.status_code, known.detail)}, known.status_code)
    response.headers.update(known.headers or {})
    return response


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
