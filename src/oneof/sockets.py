"""Listening sockets of the local servers."""

import socket
from typing import Any

from oneof.errors import InputError, InputTypeError

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
    # asyncio sends small packets at once only if the protocol is given; otherwise a response may take 40 ms longer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        where = f"port {port}" if host == LOCALHOST else f"port {port} of {host}"
        raise InputError(f"cannot use {where} ({error.strerror}): choose another.") from None
    except BaseException:
        listener.close()
        raise
    return listener
