"""Serving of predictions: rows as JSON objects over HTTP, or as mappings in Python.

Reading order: `predictor` (predictions of a few rows), `app` (the HTTP application and its description), `limits` (of
its requests), `server` (the server of `oneof serve`).

Names are imported on first use, so that predicting in Python needs no web server.
"""

from oneof.lazy import import_on_use, read_stub

_PUBLIC = read_stub(__name__)

__all__ = [*_PUBLIC]  # noqa: PLE0604 - as the stub file lists them
__getattr__, __dir__ = import_on_use(__name__, _PUBLIC)
