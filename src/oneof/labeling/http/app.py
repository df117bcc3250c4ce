"""HTTP application of the labeling page: static files, questions, answers, images and exports."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from oneof.errors import ConflictError, InputError, OneofError
from oneof.labeling import quality
from oneof.labeling.annotators.page import agreement_to_dict, answer_to_dict, others_to_dict
from oneof.labeling.answers.log import Entry
from oneof.labeling.content.media import MediaFolder
from oneof.labeling.http.openapi import MAX_TEXT, describe
from oneof.labeling.scheduler import Question
from oneof.labeling.session import LabelingSession
from oneof.typing import Floats

_PAGE = Path(__file__).parent / "page"
_MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_N_NEIGHBORS, _N_HISTORY, _MAX_SUMMARY, _MAX_CURVE_POINTS = 3, 6, 120, 60
"""Numbers of neighbors, history entries, characters of an entry's summary, and points of the quality curve."""


@dataclass(frozen=True)
class PageOptions:
    """Options of the page.

    Attributes
    ----------
    title : str
    annotator : str
        The initial name of the annotator.
    images : MediaFolder or None
    is_lead : bool
        Whether the page is that of the lead, with the statistics of all annotators, the answers to rows in dispute, and
        the export of a session of several annotators.
    """

    title: str
    annotator: str = "me"
    images: MediaFolder | None = None
    is_lead: bool = False


def make_app(session: LabelingSession, options: PageOptions) -> Starlette:
    """Return the application, to be wrapped in `oneof.labeling.http.server.AccessMiddleware`.

    Parameters
    ----------
    session : LabelingSession
    options : PageOptions
    """
    api = _Api(session, options)
    routes = [Route(f"/{path}", _file_endpoint(file)) for path, file in page_files().items()]
    routes += [
        Route("/api/session", _json_endpoint(api.session_info, write=False)),
        Route("/api/export.{suffix:str}", api.export),
        Route("/image/{row}", api.media),
        Route("/audio/{row}", api.media),
        Route("/openapi.json", _json_endpoint(api.openapi, write=False)),
    ]
    posted = {"ask": api.ask, "answer": api.answer, "undo": api.undo, "open": api.open, "agreement": api.agreement}
    routes += [Route(f"/api/{name}", _json_endpoint(function), methods=["POST"]) for name, function in posted.items()]
    return Starlette(routes=routes, exception_handlers={HTTPException: _on_http_error})


class _Api:
    """Endpoints of the page."""

    def __init__(self, session: LabelingSession, options: PageOptions) -> None:
        self._session, self._options = session, options

    def session_info(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "title": self._options.title,
            "annotator": self._options.annotator,
            "classes": [str(name) for name in self._session.classes.tolist()],
            "strategy": self._session.strategy,
            "is_lead": self._options.is_lead,
        }

    def openapi(self, _: dict[str, Any]) -> dict[str, Any]:
        media_types = {path: _MEDIA_TYPES[file.suffix] for path, file in page_files().items()}
        return describe(media_types, self._session.n_rows, len(self._session.classes))

    def agreement(self, content: dict[str, Any]) -> dict[str, Any]:
        annotator = _text(content, "annotator")
        return agreement_to_dict(
            self._session, annotator, lambda row: _summary(self._session, row), is_lead=self._options.is_lead
        )

    def ask(self, content: dict[str, Any]) -> dict[str, Any]:
        annotator, window = _text(content, "annotator"), _text(content, "window")
        return self._response(annotator, self._session.ask(annotator, window=window))

    def open(self, content: dict[str, Any]) -> dict[str, Any]:
        annotator, window = _text(content, "annotator"), _text(content, "window")
        row, purpose = _integer(content, "row"), content.get("purpose", "free")
        question = self._session.question_for(row, annotator, window=window, purpose=purpose)
        return self._response(annotator, question)

    def answer(self, content: dict[str, Any]) -> dict[str, Any]:
        question, key = self._session.get_question(_text(content, "question")), _text(content, "key")
        if question is None:
            raise ConflictError("the question has expired. Answer the next one.")
        written = self._write(question, _text(content, "kind"), content.get("labels"), content.get("degree"), key)
        following = self._session.ask(question.annotator, window=question.window)
        return {"written": written.number} | self._response(question.annotator, following)

    def undo(self, content: dict[str, Any]) -> dict[str, Any]:
        annotator, window, key = (_text(content, name) for name in ("annotator", "window", "key"))
        number = None if content.get("number") is None else _integer(content, "number")
        undone = self._session.undo(annotator, number=number, key=key)
        if undone is None:
            return {"undone": None} | self._response(annotator, self._session.ask(annotator, window=window))
        question = self._session.question_for(undone.row, annotator, window=window)
        entry = {"number": undone.number} | answer_to_dict(undone)
        return {"undone": entry} | self._response(annotator, question)

    async def export(self, request: Request) -> Response:
        if not self._can_export():
            return PlainTextResponse("Only the link of the lead exports answers of a team, or gold rows.", 403)
        suffix = request.path_params["suffix"]
        if suffix not in ("csv", "parquet"):
            return PlainTextResponse("The export must be CSV or Parquet.", 404)
        combination = request.query_params.get("combination")
        try:
            content = await run_in_threadpool(self._exported, suffix, combination)
        except OneofError as error:
            return PlainTextResponse(str(error), 400)
        media_type = "text/csv; charset=utf-8" if suffix == "csv" else "application/vnd.apache.parquet"
        headers = {"content-disposition": f'attachment; filename="labeled.{suffix}"'}
        return Response(content, media_type=media_type, headers=headers)

    async def media(self, request: Request) -> Response:
        folder, table, kind = self._options.images, self._session.table, request.url.path.split("/")[-2]
        named = str(request.path_params["row"])
        row = int(named) if named.isascii() and named.isdecimal() and len(named) < 16 else None
        if folder is None or not kind == folder.kind == table.show or row is None or row >= self._session.n_rows:
            return PlainTextResponse("File not found.", 404)
        try:
            path = folder.find(table.item(row)["text"])
            size = await run_in_threadpool(path.stat)
        except (InputError, OSError):
            return PlainTextResponse("File not found.", 404)
        return FileResponse(path, media_type=folder.media_type(path), stat_result=size)  # answers range requests

    def _exported(self, suffix: str, combination: str | None) -> bytes:
        with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
            path = Path(folder) / f"labeled.{suffix}"
            return self._session.export(path, combination=combination).read_bytes()

    def _write(self, question: Question, kind: str, labels: Any, degree: Any, key: str) -> Entry:
        """Write an answer of the page."""
        if degree is not None and kind in ("unknown", "skip"):
            raise InputError(f"`degree` must be null if `kind` is {kind!r}; got {degree!r}.")
        if kind == "unknown":
            return self._session.dont_know(question, key=key)
        if kind == "skip":
            return self._session.skip(question, key=key)
        if kind not in ("one of", "none of"):
            raise InputError(f"`kind` must be 'one of', 'none of', 'unknown' or 'skip'; got {kind!r}.")
        classes = self._session.classes.tolist()
        if not isinstance(labels, list) or not all(type(k) is int and 0 <= k < len(classes) for k in labels):
            raise InputError(f"`labels` must be a list of class codes from 0 to {len(classes) - 1}; got {labels!r}.")
        write = self._session.answer if kind == "one of" else self._session.reject
        return write(question, [classes[k] for k in labels], degree=degree, key=key)

    def _response(self, annotator: str, question: Question | None) -> dict[str, Any]:
        is_lead = self._options.is_lead
        return {
            "question": question_to_dict(self._session, question, is_lead=is_lead),
            "state": state_to_dict(self._session, annotator) | {"can_export": self._can_export()},
        }

    def _can_export(self) -> bool:
        """Return whether the link may export: weights reveal the accuracies of others, and labels the gold rows."""
        return self._options.is_lead or not self._session.is_shared()


def question_to_dict(
    session: LabelingSession, question: Question | None, *, is_lead: bool = False
) -> dict[str, Any] | None:
    """Return a question with its row, the predicted probabilities and the nearest labeled rows, as JSON types.

    A check has no prediction, which would bias the answer that evaluates it.
    """
    if question is None:
        return None
    current = session.answers.current_answer(question.row, question.annotator)
    initial = session.answers.start[question.row]
    proba = None if question.purpose == "check" else question.proba
    return {
        "id": question.id,
        "row": question.row,
        "purpose": "query" if question.purpose == "gold" else question.purpose,
        "is_suspected": question.purpose in ("query", "gold") and session.is_queued(question.row),
        "score": question.score,
        "proba": None if proba is None else np.round(proba, 4).tolist(),
        "n_labeled": question.n_labeled,
        "proposal": proposal_to_dict(session, question.row),
        "highlight": highlight_to_dict(session, question.row, proba),
        "item": session.table.item(question.row),
        "candidates": None if initial.all() else np.flatnonzero(initial).tolist(),
        "current_answer": None if current is None else answer_to_dict(current),
        "others": others_to_dict(session, question, is_lead=is_lead),
        "neighbors": [
            {
                "row": neighbor.row,
                "labels": [str(label) for label in neighbor.labels.tolist()],
                "item": session.table.item(neighbor.row),
            }
            for neighbor in session.nearest(question.row, _N_NEIGHBORS, None if is_lead else question.annotator)
        ],
    }


def state_to_dict(session: LabelingSession, annotator: str) -> dict[str, Any]:
    """Return the progress of the labeling and the quality of the model, as JSON types."""
    checks = session.answers.checks()
    with session.answers.lock:  # another thread may write an answer
        n_annotators = len(session.answers.state.annotators())
    estimate = quality.estimate(checks)
    snapshot = session.snapshot
    return {
        "n_rows": session.n_rows,
        "n_remaining": session.n_remaining_for(annotator),
        "n_labeled": 0 if snapshot is None else snapshot.n_labeled,
        "n_annotators": n_annotators,
        "last_entry": session.answers.state.last,
        "last_error": session.last_error,
        "estimate": {
            "n_checks": estimate.n_checks,
            "n_covered": estimate.n_covered,
            "n_exact": estimate.n_exact,
            "rate": estimate.rate,
            "low": estimate.low,
            "high": estimate.high,
        },
        "curve": _quality_curve(checks),
        "review": review_to_dict(session),
        "history": [_entry_to_dict(session, entry) for entry in session.answers.history(annotator, _N_HISTORY)],
    }


def proposal_to_dict(session: LabelingSession, row: int) -> dict[str, Any] | None:
    """Return the label that a review proposes for a row, as JSON types."""
    proposal = None if session.review is None else session.review.proposal(row)
    return None if proposal is None else {"label": proposal[0], "probability": proposal[1]}


def review_to_dict(session: LabelingSession) -> dict[str, int] | None:
    """Return the progress of a review, as JSON types."""
    if session.review is None:
        return None
    with session.answers.lock:  # another thread may write an answer
        summary = session.review.summary(session.answers.state, session.answers.evidence())
    return summary._asdict() | {"n_checked": summary.n_checked}


def highlight_to_dict(session: LabelingSession, row: int, proba: Floats | None) -> dict[str, Any] | None:
    """Return the marked words of a text, as JSON types."""
    if session.highlighter is None:
        return None
    highlight = session.highlighter.highlight(session.table.item(row)["text"], proba)
    return None if highlight is None else highlight._asdict()


def _quality_curve(checks: list[tuple[int, bool, bool]]) -> list[dict[str, float | int | None]]:
    """Return the estimates after at most `_MAX_CURVE_POINTS` of the checks."""
    step = -(-len(checks) // _MAX_CURVE_POINTS) or 1
    ends = list(range(len(checks), 0, -step))[::-1]
    points = []
    for end in ends:
        estimate = quality.estimate(checks[max(0, end - quality.WINDOW) : end])
        points.append(
            {"n_answers": checks[end - 1][0], "rate": estimate.rate, "low": estimate.low, "high": estimate.high}
        )
    return points


def _entry_to_dict(session: LabelingSession, entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "row": entry.row,
        **answer_to_dict(entry),
        "summary": _summary(session, entry.row),
    }


def _summary(session: LabelingSession, row: int) -> str:
    """Return the beginning of the content of a row."""
    item = session.table.item(row)
    text = item.get("text") or ", ".join([cell for _, cell in item.get("cells", []) if cell][:3])
    return str(text)[:_MAX_SUMMARY]


def _json_endpoint(function: Callable[[dict[str, Any]], dict[str, Any]], *, write: bool = True) -> Any:
    """Return an endpoint that calls a function with the JSON body, in a thread, and returns its result."""

    async def endpoint(request: Request) -> Response:
        try:
            content = _parse(await request.body()) if write else {}
            return JSONResponse(await run_in_threadpool(function, content))
        except ConflictError as error:
            return JSONResponse({"error": str(error)}, 409)
        except OneofError as error:
            return JSONResponse({"error": str(error)}, 400)
        except ClientDisconnect:  # or a body above the limit
            return JSONResponse({"error": "The request is too long."}, 413)

    return endpoint


def _parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or an integer of thousands of digits
        raise InputError(f"the body must be JSON: {error}.") from None
    if not isinstance(content, dict):
        raise InputError("the body must be a JSON object.")
    return content


async def _on_http_error(_: Request, error: Exception) -> Response:
    """Return a sentence for a path that does not exist, or that has another method."""
    assert isinstance(error, HTTPException)
    sentences = {404: "The path does not exist; /openapi.json lists the paths.", 405: "The path has another method."}
    sentence = sentences.get(error.status_code, str(error.detail))
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


def page_files() -> dict[str, Path]:
    """Return the files of the page by their paths on the server; the path of `index.html` is empty."""
    files = {file.relative_to(_PAGE).as_posix(): file for file in _PAGE.rglob("*") if file.suffix in _MEDIA_TYPES}
    return {"" if path == "index.html" else path: files[path] for path in sorted(files)}


def _file_endpoint(file: Path) -> Any:
    """Return an endpoint for a file of the page."""
    content, media_type = file.read_bytes(), _MEDIA_TYPES[file.suffix]

    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return endpoint


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or _has_surrogate(value):
        raise InputError(f"`{name}` must be text of 1 to {MAX_TEXT} characters.")
    return value


def _has_surrogate(text: str) -> bool:
    """Return whether a text has half of a character, which JSON can write and UTF-8 cannot."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _integer(content: dict[str, Any], name: str) -> int:
    value = content.get(name)
    if type(value) is not int or abs(value) >= 2**53:
        raise InputError(f"`{name}` must be an integer below 2**53.")
    return value
