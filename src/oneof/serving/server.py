"""Server of predictions, by default on localhost."""

import importlib
import ipaddress
from typing import TYPE_CHECKING

from oneof.errors import MissingExtraError
from oneof.sockets import LOCALHOST, listen

if TYPE_CHECKING:
    from oneof.persistence import SavedModel

DEFAULT_PORT = 8000
MAX_CONNECTIONS = 100
"""Number of open connections from which further requests are answered with status 503."""
_KEEP_ALIVE_SECONDS = 30
_STOP_SECONDS = 5


class PredictionServer:
    """Server of the predictions of a model.

    Parameters
    ----------
    model : SavedModel
        A model of `oneof fit`, as `oneof.persistence.load` returns it.
    host : str, default="127.0.0.1"
        The interface of this machine that accepts connections.
    port : int, default=8000
        0 selects a free port.
    **limits
        `max_rows` and `max_body_bytes`; see `make_app`.

    Attributes
    ----------
    url : str
    is_local : bool
        Whether only this machine can connect.

    Raises
    ------
    InputError
        If the port is in use or out of range, the host is unknown, or the model has no columns.
    InputTypeError
        If `model` is not a SavedModel.
    MissingExtraError
        If starlette or uvicorn is not installed.
    """

    def __init__(self, model: "SavedModel", *, host: str = LOCALHOST, port: int = DEFAULT_PORT, **limits: int) -> None:
        check_server_installed()
        import uvicorn

        from oneof.serving.app import make_app
        from oneof.serving.predictor import RowPredictor

        predictor = RowPredictor(model)
        predictor.predict([dict.fromkeys(name for name, _ in predictor.columns)])  # the first prediction is slow
        self._socket = listen(port, host)
        try:
            address, port = self._socket.getsockname()
            self.is_local = ipaddress.ip_address(address).is_loopback
            self.url = f"http://{host}:{port}"
            # Other machines use names that only their users know; a page of another site cannot send JSON there.
            hosts = (LOCALHOST, "localhost", host) if self.is_local else ("*",)
            config = uvicorn.Config(
                make_app(predictor, hosts=hosts, **limits),
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                http="h11",
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_STOP_SECONDS,
            )
            self._server = uvicorn.Server(config)
        except BaseException:  # the caller gets no server to stop
            self._socket.close()
            raise

    def run(self) -> None:
        """Serve until `stop` is called or the process is interrupted; a KeyboardInterrupt propagates."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Stop `run` from another thread."""
        self._server.should_exit = True


def serve(model: "SavedModel", *, host: str = LOCALHOST, port: int = DEFAULT_PORT, **limits: int) -> None:
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
    **limits
        `max_rows` and `max_body_bytes`; see `make_app`.

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
    server = PredictionServer(model, host=host, port=port, **limits)
    print(server.url, flush=True)  # noqa: T201 - the purpose of the function
    server.run()


def check_server_installed() -> None:
    """Raise unless the packages of the server are installed.

    Raises
    ------
    MissingExtraError
    """
    for package in ("starlette", "uvicorn"):
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise MissingExtraError(error.name or package, "serving") from None
