"""HTTP application of the labeling page: static files, questions, answers, images and exports."""

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
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
from oneof.labeling.annotators import MIN_SHARED_ROWS, Agreement, Conflict, PairwiseAgreement
from oneof.labeling.answers.log import INFORMED, Entry
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.content.media import MediaFolder
from oneof.labeling.scheduler import Question
from oneof.labeling.session import LabelingSession

_PAGE = Path(__file__).parent / "page"
_MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_N_NEIGHBORS, _N_HISTORY, _MAX_SUMMARY, _MAX_CURVE_POINTS = 3, 6, 120, 60
"""Numbers of neighbors, history entries, characters of an entry's summary, and points of the quality curve."""
_MAX_MATRIX_ANNOTATORS, _MAX_CONFUSED = 10, 10
"""Numbers of annotators of the matrix, those with the most shared rows, and of pairs of confused classes."""
MAX_TEXT = 200
"""Maximum length of a name, a window, a key and a question."""


@dataclass(frozen=True)
class PageApp:
    """Application of the page, to be wrapped in `oneof.labeling.http.server.AccessMiddleware`.

    Attributes
    ----------
    session : LabelingSession
    title : str
    annotator : str
        The initial name of the annotator.
    images : MediaFolder or None
    is_lead : bool
        Whether the page is that of the lead, with the statistics of all annotators, the answers to rows in dispute, and
        the export of a session of several annotators.
    """

    session: LabelingSession
    title: str
    annotator: str
    images: MediaFolder | None
    is_lead: bool = False

    def make(self) -> Starlette:
        """Return the application."""
        files = [file for file in sorted(_PAGE.iterdir()) if file.suffix in _MEDIA_TYPES]
        routes = [Route(f"/{'' if file.name == 'index.html' else file.name}", _file_endpoint(file)) for file in files]
        routes += [
            Route("/api/session", _json_endpoint(self.session_info, write=False)),
            Route("/api/export.{suffix:str}", self.export),
            Route("/image/{row}", self.media),
            Route("/audio/{row}", self.media),
        ]
        for function in (self.ask, self.answer, self.undo, self.open, self.agreement):
            routes.append(Route(f"/api/{function.__name__}", _json_endpoint(function), methods=["POST"]))
        return Starlette(routes=routes, exception_handlers={HTTPException: _on_http_error})

    def session_info(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the title, the classes and the strategy."""
        return {
            "title": self.title,
            "annotator": self.annotator,
            "classes": [str(name) for name in self.session.classes.tolist()],
            "strategy": self.session.strategy,
            "is_lead": self.is_lead,
        }

    def agreement(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the agreement and progress of the annotators."""
        annotator = _text(content, "annotator")
        return agreement_to_dict(self.session, annotator, is_lead=self.is_lead)

    def ask(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the next question of a window."""
        annotator, window = _text(content, "annotator"), _text(content, "window")
        return self._response(annotator, self.session.ask(annotator, window=window))

    def open(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return a question about a given row."""
        annotator, window = _text(content, "annotator"), _text(content, "window")
        row, purpose = _integer(content, "row"), content.get("purpose", "free")
        question = self.session.question_for(row, annotator, window=window, purpose=purpose)
        return self._response(annotator, question)

    def answer(self, content: dict[str, Any]) -> dict[str, Any]:
        """Write an answer, and return the next question."""
        question, key = self.session.get_question(_text(content, "question")), _text(content, "key")
        if question is None:
            raise ConflictError("the question has expired. Answer the next one.")
        written = self._write(question, _text(content, "kind"), content.get("labels"), content.get("degree"), key)
        following = self.session.ask(question.annotator, window=question.window)
        return {"written": written.number} | self._response(question.annotator, following)

    def undo(self, content: dict[str, Any]) -> dict[str, Any]:
        """Undo an answer, and return its question."""
        annotator, window, key = (_text(content, name) for name in ("annotator", "window", "key"))
        number = None if content.get("number") is None else _integer(content, "number")
        undone = self.session.undo(annotator, number=number, key=key)
        if undone is None:
            return {"undone": None} | self._response(annotator, self.session.ask(annotator, window=window))
        question = self.session.question_for(undone.row, annotator, window=window)
        entry = {"number": undone.number} | answer_to_dict(undone)
        return {"undone": entry} | self._response(annotator, question)

    async def export(self, request: Request) -> Response:
        """Return the table with its labels."""
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
        """Return the image or the audio file of a row."""
        folder, table, kind = self.images, self.session.table, request.url.path.split("/")[-2]
        named = str(request.path_params["row"])
        row = int(named) if named.isascii() and named.isdecimal() and len(named) < 16 else None
        if folder is None or not kind == folder.kind == table.show or row is None or row >= self.session.n_rows:
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
            return self.session.export(path, combination=combination).read_bytes()

    def _write(self, question: Question, kind: str, labels: Any, degree: Any, key: str) -> Entry:
        """Write an answer of the page."""
        if degree is not None and kind in ("unknown", "skip"):
            raise InputError(f"`degree` must be null if `kind` is {kind!r}; got {degree!r}.")
        if kind == "unknown":
            return self.session.dont_know(question, key=key)
        if kind == "skip":
            return self.session.skip(question, key=key)
        if kind not in ("one of", "none of"):
            raise InputError(f"`kind` must be 'one of', 'none of', 'unknown' or 'skip'; got {kind!r}.")
        classes = self.session.classes.tolist()
        if not isinstance(labels, list) or not all(type(k) is int and 0 <= k < len(classes) for k in labels):
            raise InputError(f"`labels` must be a list of class codes from 0 to {len(classes) - 1}; got {labels!r}.")
        write = self.session.answer if kind == "one of" else self.session.reject
        return write(question, [classes[k] for k in labels], degree=degree, key=key)

    def _response(self, annotator: str, question: Question | None) -> dict[str, Any]:
        is_lead = self.is_lead
        return {
            "question": question_to_dict(self.session, question, is_lead=is_lead),
            "state": state_to_dict(self.session, annotator) | {"can_export": self._can_export()},
        }

    def _can_export(self) -> bool:
        """Return whether the link may export: weights reveal the accuracies of others, and labels the gold rows."""
        return self.is_lead or not self.session.is_shared()


def question_to_dict(session: LabelingSession, question: Question | None, *, is_lead: bool = False) -> Any:
    """Return a question with its row, the predicted probabilities and the nearest labeled rows, as JSON types.

    A check has no prediction, which would bias the answer that evaluates it.
    """
    if question is None:
        return None
    row = question.row
    current = session.answers.current_answer(row, question.annotator)
    initial = session.answers.start[row]
    proba = None if question.purpose == "check" else question.proba
    return {
        "id": question.id,
        "row": row,
        "purpose": "query" if question.purpose == "gold" else question.purpose,
        "is_suspected": question.purpose in ("query", "gold") and session.is_queued(row),
        "score": question.score,
        "proba": None if proba is None else np.round(proba, 4).tolist(),
        "n_labeled": question.n_labeled,
        "proposal": None if session.review is None else session.review.proposal(row),
        "item": session.table.item(row),
        "candidates": None if initial.all() else np.flatnonzero(initial).tolist(),
        "current_answer": None if current is None else answer_to_dict(current),
        "others": others_to_dict(session, question, is_lead=is_lead),
        "neighbors": [
            {"row": one.row, "labels": [*map(str, one.labels.tolist())], "item": session.table.item(one.row)}
            for one in session.nearest(row, _N_NEIGHBORS, None if is_lead else question.annotator)
        ],
    }


def state_to_dict(session: LabelingSession, annotator: str) -> dict[str, Any]:
    """Return the progress of the labeling and the quality of the model, as JSON types."""
    checks = session.answers.checks()
    with session.answers.reading() as state:  # another thread may write an answer
        n_annotators, last = len(state.annotators()), state.last
        review = None if session.review is None else session.review.summary(session.answers)
    step = -(-len(checks) // _MAX_CURVE_POINTS) or 1
    ends = range(len(checks), 0, -step)[::-1]
    curve = [(checks[end - 1].n_answers, quality.estimate(checks[:end])) for end in ends]
    return {
        "n_rows": session.n_rows,
        "n_remaining": session.n_remaining_for(annotator),
        "n_labeled": 0 if session.snapshot is None else session.snapshot.n_labeled,
        "n_annotators": n_annotators,
        "last_entry": last,
        "last_error": session.last_error,
        "estimate": asdict(quality.estimate(checks)),
        "curve": [{"n_answers": n, "rate": one.rate, "low": one.low, "high": one.high} for n, one in curve],
        "review": None if review is None else review._asdict() | {"n_checked": review.n_checked},
        "history": [
            {"number": entry.number, "row": entry.row, "summary": _summary(session, entry.row)} | answer_to_dict(entry)
            for entry in session.answers.history(annotator, _N_HISTORY)
        ],
    }


def agreement_to_dict(session: LabelingSession, annotator: str, *, is_lead: bool) -> dict[str, Any]:
    """Return the agreement and progress of the annotators, as one of them or the lead may see them, as JSON types.

    The lead of a team sees the statistics of all annotators, and the answers to the rows in dispute. Annotators see
    their own progress, without an accuracy, and the rows in dispute.
    """
    agreement = session.agreement(None if is_lead else annotator)
    progress = [one.to_dict() for one in session.progress()]
    return {
        "statistics": _statistics_to_dict(agreement) if is_lead else None,
        "n_shared": agreement.n_shared,
        "n_conflicts": agreement.n_conflicts,
        "n_hidden": agreement.n_hidden,
        "conflicts": [
            {"row": one.row, "summary": _summary(session, one.row), "n_answers": len(one.answers)}
            | (_opinions(one, len(session.classes)) if is_lead else {"label": None, "answers": []})
            for one in agreement.conflicts
        ],
        "progress": progress if is_lead else [one | {"gold": None} for one in progress if one["name"] == annotator],
    }


def _statistics_to_dict(agreement: Agreement) -> dict[str, Any]:
    """Return the statistics from which the annotators can be compared."""
    names = ("alpha", "alpha_interval", "masi_alpha", "masi_interval", "copies")
    return {name: getattr(agreement, name) for name in names} | {
        "annotators": [estimate._asdict() for estimate in agreement.annotators],
        "min_shared_rows": MIN_SHARED_ROWS,
        "pairs": _pairs_to_dict(agreement.pairs),
        "confused": [one._asdict() for one in agreement.pairs.confused[:_MAX_CONFUSED]],
    }


def _pairs_to_dict(pairs: PairwiseAgreement) -> dict[str, Any]:
    n_shared = pairs.n_shared.sum(axis=1) - np.diag(pairs.n_shared)
    listed = np.sort(np.argsort(-n_shared, kind="stable")[:_MAX_MATRIX_ANNOTATORS])
    matrices = {name: getattr(pairs, name)[np.ix_(listed, listed)] for name in ("n_shared", "n_equal", "n_compatible")}
    names = {"names": [pairs.names[j] for j in listed], "n_hidden": len(pairs.names) - len(listed)}
    return names | {name: matrix.tolist() for name, matrix in matrices.items()}


def _opinions(conflict: Conflict, n_classes: int) -> dict[str, Any]:
    """Return the answers to a row in dispute."""
    answers = [
        {"annotator": name, "differs": conflict.label not in allowed_classes(entry, n_classes)} | answer_to_dict(entry)
        for name, entry in sorted(conflict.answers.items())
    ]
    return {"label": conflict.label, "probability": conflict.probability, "answers": answers}


def others_to_dict(session: LabelingSession, question: Question, *, is_lead: bool) -> list[dict[str, Any]]:
    """Return the current answers of the others to the row of a question, if they are shown; names only for the lead."""
    if question.purpose != INFORMED:
        return []
    with session.answers.reading() as state:
        answers = dict(state.answers(question.row))
    others = [(name, answer_to_dict(entry)) for name, entry in sorted(answers.items()) if name != question.annotator]
    if not is_lead:  # not in the order of the names
        others.sort(key=lambda one: (one[1]["kind"], one[1]["labels"]))
    return [{"annotator": name if is_lead else None} | answer for name, answer in others]


def answer_to_dict(entry: Entry) -> dict[str, Any]:
    """Return an answer with its degree of certainty, as JSON types."""
    return {"kind": entry.kind, "labels": list(entry.labels), "degree": entry.degree}


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
    sentences = {404: "The path does not exist.", 405: "The path has another method."}
    sentence = sentences.get(error.status_code, str(error.detail))
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


def _file_endpoint(file: Path) -> Any:
    """Return an endpoint for a file of the page."""
    content, media_type = file.read_bytes(), _MEDIA_TYPES[file.suffix]

    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return endpoint


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    # JSON can write half of a character, which UTF-8 cannot.
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or re.search("[\ud800-\udfff]", value):
        raise InputError(f"`{name}` must be text of 1 to {MAX_TEXT} characters.")
    return value


def _integer(content: dict[str, Any], name: str) -> int:
    value = content.get(name)
    if type(value) is not int or abs(value) >= 2**53:
        raise InputError(f"`{name}` must be an integer below 2**53.")
    return value
