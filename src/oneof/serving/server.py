"""Server of predictions, by default on localhost."""

import ipaddress
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from oneof.persistence.saved_model import SavedModel
from oneof.serving.limits import DEFAULT_PORT, MAX_CONNECTIONS
from oneof.serving.predictor import RowPredictor
from oneof.sockets import LOCALHOST, WebServer, check_server_installed, listen

_KEEP_ALIVE_SECONDS = 30
_STOP_SECONDS = 5


class PredictionServer(WebServer):
    """Server of the predictions of a model.

    Parameters
    ----------
    model : SavedModel
        A model of `oneof fit`, as `oneof.persistence.load` returns it.
    host : str, default="127.0.0.1"
        The interface of this machine that accepts connections.
    port : int, default=8000
        0 selects a free port.
    allowed_hosts : sequence of str, optional
        Further host names of the server, in addition to localhost, `host` and IP addresses; "*" for any.
    strict : bool, default=False
        Whether a cell that cannot be read is an error.
    log : bool, default=False
        Whether each request is written to standard error as one line.
    sets : dict, optional
        Options of `RowPredictor` for prediction sets: `coverage`, `set_method`, `calibration`, `class_conditional`.
    **limits
        `max_rows` and `max_body_bytes`; see `make_app`.

    Attributes
    ----------
    url : str
    predictor : RowPredictor
        It has the notes about prediction sets and their guarantee.
    is_local : bool
        Whether only this machine can connect.

    Raises
    ------
    InputError
        If the port is in use or out of range, the host is unknown, the model has no columns, or it has no calibration
        rows for prediction sets.
    InputTypeError
        If `model` is not a SavedModel.
    MissingExtraError
        If starlette or uvicorn is not installed.
    """

    def __init__(
        self,
        model: SavedModel,
        *,
        host: str = LOCALHOST,
        port: int = DEFAULT_PORT,
        allowed_hosts: Sequence[str] | None = None,
        strict: bool = False,
        log: bool = False,
        sets: Mapping[str, Any] | None = None,
        **limits: int,
    ) -> None:
        check_server_installed("serving")
        from oneof.serving.app import make_app

        self.predictor = RowPredictor(model, strict=strict, **sets or {})
        self.predictor.predict([dict.fromkeys(name for name, _ in self.predictor.columns)])  # the first one is slow
        app = make_app(self.predictor, hosts=("localhost", host, *(allowed_hosts or ())), **limits)
        listener = listen(port, host)
        address, port = listener.getsockname()
        self.is_local, self.url = ipaddress.ip_address(address).is_loopback, f"http://{host}:{port}"
        super().__init__(
            app,
            listener,
            stop_seconds=_STOP_SECONDS,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            **_log_requests() if log else {},
        )


def _log_requests() -> dict[str, Any]:
    """Write one line for each request to standard error, after its time; return the options of uvicorn for this."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    access = logging.getLogger("uvicorn.access")
    access.handlers, access.propagate = [handler], False
    access.setLevel("INFO")
    return {"log_config": None, "log_level": None, "access_log": True}


def serve(model: SavedModel, *, host: str = LOCALHOST, port: int = DEFAULT_PORT, **options: Any) -> None:
    """Serve the predictions of a model over HTTP until the process is interrupted.

    The server has neither a password nor encryption. Other machines should be served by a web server of your choice,
    with the application of `make_app`.

    Parameters
    ----------
    model : SavedModel
        A model of `oneof fit`, as `oneof.persistence.load` returns it.
    host : str, default="127.0.0.1"
        The interface of this machine that accepts connections.
    port : int, default=8000
        0 selects a free port.
    **options
        `allowed_hosts`, host names of the server in addition to localhost and IP addresses; `strict`, whether a cell
        that cannot be read is an error; `log`, whether each request is written to standard error; `sets`, a dict such
        as ``{"coverage": 0.9}`` with the options of `RowPredictor` for prediction sets; `max_rows` and
        `max_body_bytes`, see `make_app`.

    Raises
    ------
    InputError
        If the port is in use or out of range, the host is unknown, or the model has no columns.
    InputTypeError
        If `model` is not a SavedModel.
    MissingExtraError
        If starlette or uvicorn is not installed.

    Examples
    --------
    >>> from oneof.persistence import load
    >>> from oneof.serving import serve
    >>> serve(load("birds-oneof/model.skops"))  # doctest: +SKIP
    http://127.0.0.1:8000
    """
    server = PredictionServer(model, host=host, port=port, **options)
    print(server.url, flush=True)  # noqa: T201 - the purpose of the function
    server.run()
