"""Listening sockets: free ports, invalid ports and hosts, and immediate sending."""

import socket

import pytest

from oneof.errors import InputError, InputTypeError
from oneof.sockets import LOCALHOST, listen


def test_a_free_port_of_this_machine() -> None:
    """Port 0 selects a free port; a client may connect before anything accepts connections."""
    with listen(0) as listener:
        host, port = listener.getsockname()
        assert (host, port > 0) == (LOCALHOST, True)
        socket.create_connection((host, port), timeout=5).close()
        with pytest.raises(InputError, match=rf"cannot use port {port} \("):
            listen(port)


def test_the_protocol_is_given() -> None:
    """The protocol is TCP, without which asyncio does not turn off the delay of small packets of accepted sockets."""
    with listen(0) as listener, socket.create_connection(listener.getsockname(), timeout=5):
        accepted, _ = listener.accept()
        with accepted:
            assert listener.proto == accepted.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("port", [-1, 65_536, 1.0, "8000", True, None])
def test_invalid_ports(port: object) -> None:
    with pytest.raises(InputError, match="`port` must be an integer from 0 to 65535"):
        listen(port)


@pytest.mark.parametrize("host", ["no such host", "::1", "a" * 300, "x\0y", "192.0.2.1"])
def test_invalid_hosts(host: str) -> None:
    """A host that is no interface of this machine is an error of one sentence."""
    with pytest.raises(InputError, match=r"`host` must be|cannot use port 0 of"):
        listen(0, host)
    with pytest.raises(InputTypeError, match="`host` must be a string"):
        listen(0, 3)  # type: ignore[arg-type]
