"""Listening sockets and web servers of this machine: of the labeling page, and of predictions."""

import socket
from typing import Any

from oneof.errors import InputError, InputTypeError
from oneof.lazy import import_extra

LOCALHOST = "127.0.0.1"
_MAX_PORT = 65_535


def listen(port: Any, host: str = LOCALHOST) -> socket.socket:
    """Return a listening socket, so that a client that connects before the server runs waits.

    Parameters
    ----------
    port : int
        0 selects a free port.
    host : str
        Name or IPv4 address of an interface of this machine.

    Raises
    ------
    InputError
        If the port is in use or out of range, or the host is not an interface of this machine.
    InputTypeError
        If the host is not a string.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _MAX_PORT:
        raise InputError(f"`port` must be an integer from 0 to {_MAX_PORT}; got {port!r}.")
    if not isinstance(host, str):
        raise InputTypeError(f"`host` must be a string; got {host!r}.")
    try:
        address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    except (OSError, UnicodeError):
        raise InputError(f"`host` must be an IPv4 address or a name of this machine; got {host!r}.") from None
    try:
        listener = socket.create_server(address[:2])
    except OSError as error:
        where = f"port {port}" if host == LOCALHOST else f"port {port} of {host}"
        reason = (error.strerror or str(error)).partition(" (while")[0]  # `create_server` appends the address
        raise InputError(f"cannot use {where} ({reason}): choose another.") from None
    # asyncio sends small packets at once only if the protocol is given; otherwise a response may take 40 ms longer.
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


def check_server_installed(extra: str) -> None:
    """Raise unless the packages of a web server are installed.

    Parameters
    ----------
    extra : str
        The optional extra that has them.

    Raises
    ------
    MissingExtraError
    """
    for package in ("starlette", "uvicorn"):
        import_extra(package, extra)


class WebServer:
    """Web server of an application on a listening socket.

    Parameters
    ----------
    app : ASGI application
    listener : socket.socket
        It is closed when the server stops.
    stop_seconds : int
        Time in which open requests must end when the server stops.
    **options
        Further options of `uvicorn.Config`.
    """

    def __init__(self, app: Any, listener: socket.socket, *, stop_seconds: int, **options: Any) -> None:
        import uvicorn

        self.socket = listener
        all_options: dict[str, Any] = {"log_level": "warning", "access_log": False} | options
        config = uvicorn.Config(
            app,
            **all_options,
            lifespan="off",
            ws="none",
            http="h11",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=stop_seconds,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until `stop` is called or the process is interrupted; a KeyboardInterrupt propagates."""
        try:
            self._server.run(sockets=[self.socket])
        finally:
            self.socket.close()

    def stop(self) -> None:
        """Stop `run` from another thread."""
        self._server.should_exit = True
