"""What the server answers: its page, questions, answers, images by the number of their row, and exports."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from oneof.errors import ConflictError, InputError, OneofError
from oneof.labeling.asking import Question
from oneof.labeling.images import TYPES, ImageFolder
from oneof.labeling.log import Entry
from oneof.labeling.session import LabelingSession
from oneof.labeling.view import show_question, show_state

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("label.js", "elements.js", "quality.js", "rows.js", "server.js")
_FILES = {"": "index.html"} | {name: name for name in ("label.css", "icon.svg", *_SCRIPTS)}
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Shown:
    """What is told of the session as a whole.

    Attributes
    ----------
    title : str
    annotator : str
        The name that is offered.
    images : ImageFolder or None
    """

    title: str
    annotator: str = "me"
    images: ImageFolder | None = None


def make_app(session: LabelingSession, shown: Shown) -> Starlette:
    """Return the application, which `oneof.labeling.guard.Guard` must stand before.

    Parameters
    ----------
    session : LabelingSession
    shown : Shown
    """
    api = _Api(session, shown)
    routes = [Route(f"/{path}", _file(name)) for path, name in _FILES.items()]
    routes += [
        Route("/api/begin", _answering(api.begin, write=False)),
        Route("/api/export.{suffix:str}", api.export),
        Route("/image/{row:int}", api.image),
    ]
    routes += [
        Route(f"/api/{name}", _answering(function), methods=["POST"])
        for name, function in (("ask", api.ask), ("answer", api.answer), ("undo", api.undo), ("look", api.look))
    ]
    return Starlette(routes=routes)


class _Api:
    def __init__(self, session: LabelingSession, shown: Shown) -> None:
        self._session, self._shown = session, shown

    def begin(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "title": self._shown.title,
            "annotator": self._shown.annotator,
            "classes": [str(name) for name in self._session.classes.tolist()],
            "strategy": self._session.strategy,
        }

    def ask(self, sent: dict[str, Any]) -> dict[str, Any]:
        annotator, window = _text(sent, "annotator"), _text(sent, "window")
        return self._next(annotator, self._session.ask(annotator, window=window))

    def look(self, sent: dict[str, Any]) -> dict[str, Any]:
        annotator, window = _text(sent, "annotator"), _text(sent, "window")
        row = _whole(sent, "row")
        return self._next(annotator, self._session.look(row, annotator, window=window))

    def answer(self, sent: dict[str, Any]) -> dict[str, Any]:
        question, key = self._session.find(_text(sent, "question")), _text(sent, "key")
        if question is None:
            raise ConflictError("this question is of an earlier time: here is another.")
        written = self._give(question, _text(sent, "kind"), sent.get("labels"), key)
        following = self._session.ask(question.annotator, window=question.window)
        return {"written": written.number} | self._next(question.annotator, following)

    def undo(self, sent: dict[str, Any]) -> dict[str, Any]:
        annotator, window, key = (_text(sent, name) for name in ("annotator", "window", "key"))
        number = None if sent.get("number") is None else _whole(sent, "number")
        undone = self._session.undo(annotator, number=number, key=key)
        if undone is None:
            return {"undone": None} | self._next(annotator, self._session.ask(annotator, window=window))
        again = self._session.look(undone.row, annotator, window=window)
        said = {"number": undone.number, "kind": undone.kind, "labels": list(undone.labels)}
        return {"undone": said} | self._next(annotator, again)

    async def export(self, request: Request) -> Response:
        suffix = request.path_params["suffix"]
        if suffix not in ("csv", "parquet"):
            return PlainTextResponse("Exports are CSV or Parquet.", 404)
        try:
            content = await run_in_threadpool(self._exported, suffix)
        except OneofError as error:
            return PlainTextResponse(str(error), 400)
        kind = "text/csv; charset=utf-8" if suffix == "csv" else "application/vnd.apache.parquet"
        headers = {"content-disposition": f'attachment; filename="labeled.{suffix}"'}
        return Response(content, media_type=kind, headers=headers)

    async def image(self, request: Request) -> Response:
        folder, table, row = self._shown.images, self._session.table, request.path_params["row"]
        if folder is None or table.show != "image" or row >= self._session.n_rows:
            return PlainTextResponse("There is no such image.", 404)
        try:
            path = folder.find(table.item(row)["text"])
            content = await run_in_threadpool(path.read_bytes)
        except (InputError, OSError):
            return PlainTextResponse("There is no such image.", 404)
        return Response(content, media_type=TYPES[path.suffix.lower()])

    def _exported(self, suffix: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
            return self._session.export(Path(folder) / f"labeled.{suffix}").read_bytes()

    def _give(self, question: Question, kind: str, labels: Any, key: str) -> Entry:
        if kind == "unknown":
            return self._session.dont_know(question, key=key)
        if kind == "skip":
            return self._session.skip(question, key=key)
        if kind not in ("one of", "none of"):
            raise InputError(f"{kind!r} is no kind of answer.")
        classes = self._session.classes.tolist()
        if not isinstance(labels, list) or not all(type(k) is int and 0 <= k < len(classes) for k in labels):
            raise InputError("labels should be numbers of classes.")
        give = self._session.answer if kind == "one of" else self._session.reject
        return give(question, [classes[k] for k in labels], key=key)

    def _next(self, annotator: str, question: Question | None) -> dict[str, Any]:
        return {"question": show_question(self._session, question), "state": show_state(self._session, annotator)}


def _answering(function: Callable[[dict[str, Any]], dict[str, Any]], *, write: bool = True) -> Any:
    """Return an endpoint that hands JSON to a function, in a thread, and its result back."""

    async def endpoint(request: Request) -> Response:
        try:
            sent = json.loads(await request.body()) if write else {}
            if not isinstance(sent, dict):
                raise InputError("expected an object.")
            return JSONResponse(await run_in_threadpool(function, sent))
        except ConflictError as error:
            return JSONResponse({"error": str(error)}, 409)
        except (OneofError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except ClientDisconnect:  # or a body that was cut since it is too long
            return JSONResponse({"error": "That is too long."}, 413)

    return endpoint


def _file(name: str) -> Any:
    content, kind = (_PAGE / name).read_bytes(), _KINDS[Path(name).suffix]

    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name)
    if not isinstance(value, str) or not value or len(value) > 200:
        raise InputError(f"{name} should be text of 1 to 200 characters.")
    return value


def _whole(sent: dict[str, Any], name: str) -> int:
    value = sent.get(name)
    if type(value) is not int:
        raise InputError(f"{name} should be a whole number.")
    return value
