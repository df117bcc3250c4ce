"""Serving of predictions: rows as JSON objects over HTTP, or as mappings in Python.

Reading order: `predictor` (predictions of a few rows), `app` (the HTTP application), `openapi` (its description),
`hosts` and `limits` (of its requests), `server` (the server of `oneof serve`).

Names are imported on first use, so that predicting in Python needs no web server.
"""

import importlib
from typing import Any

_LAZY_NAMES = {
    "RowPredictor": "oneof.serving.predictor",
    "make_app": "oneof.serving.app",
    "serve": "oneof.serving.server",
}

__all__ = [*_LAZY_NAMES]  # noqa: PLE0604 - computed from the table above, so that the two cannot differ


def __getattr__(name: str) -> Any:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'oneof.serving' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
