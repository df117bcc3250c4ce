"""Models of a small table with columns of every kind, and calls of the application without a network."""

import asyncio
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline
from starlette.applications import Starlette

import oneof
from oneof import CandidateSets
from oneof.io import Column, Table, align_columns, choose_columns, make_encoder
from oneof.persistence import SavedModel
from tests.cli.conftest import make_birds
from tests.labeling.serving import Reply

METHODS = ("LOORidge", "PLKNN", "PLEM", "AvgPerceptron", "HarmonicField", "PLECOC")
NUMBERS = ("span", "mass")
PATH = Path("birds.csv")


@cache
def fit_birds(method: str, *, numbers: bool = False, binary: bool = False) -> SavedModel:
    """Fit a method on the birds; `numbers` leaves dense features only, `binary` two classes."""
    birds = make_birds()
    if numbers:
        birds = birds.select(*NUMBERS, "species", "truth")
    columns, _ = choose_columns(Table(birds, PATH), exclude=["species", "truth"])
    labels = birds["species"].to_list()
    if binary:
        labels = ["owl" if truth == "owl" else "other" for truth in birds["truth"]]
    candidates = CandidateSets.from_strings(labels)
    pipeline = Pipeline([("columns", make_encoder(columns)), ("method", getattr(oneof, method)())])
    pipeline.fit(align_columns(birds, columns, PATH), candidates)
    return SavedModel(
        pipeline, candidates.classes.tolist(), [(column.name, column.kind) for column in columns], ["species"], method
    )


@cache
def fit_vectors() -> SavedModel:
    """Fit a method to vectors of ten numbers."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"a[{j}]": rng.normal(size=60) for j in range(10)})
    columns = [Column(name, "number") for name in frame.columns]
    pipeline = Pipeline([("columns", make_encoder(columns)), ("method", oneof.PLEM())])
    pipeline.fit(frame, ["owl", "wren"] * 30)
    names = [(column.name, column.kind) for column in columns]
    return SavedModel(pipeline, ["owl", "wren"], names, ["species"], "PLEM", {"vectors": {"a": 10}})  # type: ignore[arg-type]


def new_rows(seed: int = 1) -> list[dict[str, Any]]:
    """Return further birds as mappings."""
    return make_birds(seed).drop("species", "truth").to_dicts()


def to_table(model: SavedModel, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as the table that the pipeline expects."""
    columns = [Column(*column) for column in model.columns]  # type: ignore[arg-type]
    return align_columns(pl.DataFrame(list(rows), infer_schema_length=None), columns, PATH)


def call(
    app: Starlette,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    chunk: int = 2**16,
    replies: list[Any] | None = None,
    **headers: str | None,
) -> Reply:
    """Send one request to the application; a body that is not bytes is sent as JSON.

    `replies` receives the messages of the application, which are of interest if it raises.
    """
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    sent = {"host": "127.0.0.1:8000", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore[misc]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method or ("GET" if body is None else "POST"),
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value is not None],
    }
    chunks = [content[start : start + chunk] for start in range(0, len(content), chunk)] or [b""]
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in chunks]
    messages[-1]["more_body"] = False
    replies = [] if replies is None else replies

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        replies.append(message)

    asyncio.run(app(scope, receive, send))
    names = {name.decode(): value.decode() for name, value in replies[0]["headers"]}
    return Reply(replies[0]["status"], names, b"".join(reply.get("body", b"") for reply in replies[1:]))
