"""Who may speak to the server: the page that it serves itself, opened by its link, and nobody else.

Any page in the same browser can send requests to this machine, and a name that it owns can be made to point here (DNS
rebinding). So every request must name this server as its host and begin with the secret of the link; a request that
writes must come from the server's own page, which the browser attests by `Origin`, and must carry JSON, which no form
can send. No response allows another origin to read it.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LONGEST_BODY = 64 * 1024
"""Bytes of a request."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing from elsewhere, nothing inline, no markup made from text, in no frame."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def hosts_at(port: int) -> tuple[str, ...]:
    """Return what browsers of this machine send as `Host` to a port."""
    names = ("127.0.0.1", "localhost")
    usual = names if port == 80 else ()  # which browsers leave out
    return (*(f"{name}:{port}" for name in names), *usual)


class Guard:
    """ASGI middleware that lets through what the link's own page sends, without the secret in its path.

    Parameters
    ----------
    app : ASGI application
    token : str
        The first part of every path.
    hosts : collection of str
        What the header `Host` may be.
    """

    def __init__(self, app: App, token: str, hosts: tuple[str, ...]) -> None:
        self.app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not spoken here.")
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        inner = dict(scope)
        inner["path"] = scope["path"][len(self._token) + 1 :]
        inner["raw_path"] = scope["raw_path"][len(self._token) + 1 :]
        await self.app(inner, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = headers.get("host", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, "This server answers under its own name only."
        first = scope["raw_path"].split(b"?")[0][1:].partition(b"/")
        if not secrets.compare_digest(first[0], self._token) or not first[1]:
            return 404, "There is nothing here."
        if any(origin != f"http://{host[0]}" for origin in headers.get("origin", [])):
            return 403, "This page may not speak to this server."
        site = headers.get("sec-fetch-site", ["none"])
        if scope["method"] in ("GET", "HEAD"):
            opened = first[2] == b"" and headers.get("sec-fetch-dest") == ["document"]
            if site not in (["none"], ["same-origin"]) and not opened:
                return 403, "This page may not read from this server."
            return None
        if scope["method"] != "POST":
            return 405, "Only GET and POST are answered."
        if len(headers.get("origin", [])) != 1 or site not in (["none"], ["same-origin"]):
            return 403, "Only the page of this server may write."
        if headers.get("content-type", [""])[0].split(";")[0].strip().lower() != "application/json":
            return 415, "Send JSON."
        length = headers.get("content-length", ["0"])[0]
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return 413, "That is too long."
        return None


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = sentence.encode()
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": kind})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", ()) if name.decode().lower() not in HEADERS]
            message["headers"] = kept + [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Cut a body that is longer than was said, as one that is sent in parts may be."""
    taken = 0

    async def receiving() -> Message:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > LONGEST_BODY:
                return {"type": "http.disconnect"}
        return message

    return receiving
