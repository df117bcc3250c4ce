"""Check of the host name of a request, which prevents DNS rebinding.

A page of another site can reach a server of this machine or network by a DNS name of that site, and can then read its
responses. The request has this name as its host, so only the names of the server are accepted. An IP address is always
accepted, since a browser reads an address from no other server.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from starlette.responses import Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SENTENCE = "the host name of the request is not a name of this server: add it by --allowed-host."


class HostMiddleware:
    """ASGI middleware that refuses requests to other host names.

    Parameters
    ----------
    app : ASGI application
    hosts : collection of str
        The accepted names, without ports; "*" for any.
    refuse : callable
        Returns the response from a status and a sentence.
    """

    def __init__(self, app: App, hosts: Collection[str], refuse: Callable[[int, str], Response]) -> None:
        self.app, self._refuse = app, refuse
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        names = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name.lower() == b"host"]
        if scope["type"] == "http" and not (len(names) == 1 and is_accepted(names[0], self._hosts)):
            await self._refuse(421, _SENTENCE)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def is_accepted(host: str, hosts: Collection[str]) -> bool:
    """Return whether a `Host` header is an IP address or one of the names, in lower case, with any port.

    Examples
    --------
    >>> [is_accepted(host, {"localhost"}) for host in ("localhost:8000", "[::1]:80", "10.0.0.5", "evil.example")]
    [True, True, True, False]
    """
    if "*" in hosts:
        return True
    name, bracket, _ = host.removeprefix("[").partition("]")
    if not bracket:
        name, _, port = host.partition(":")
        if port and not port.isdecimal():
            return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name.lower() in hosts
    return True
