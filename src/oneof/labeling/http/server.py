"""Server of the labeling page on localhost, and its access control.

Any page in the same browser can send requests to this machine, and a DNS name of an attacker can resolve to it (DNS
rebinding). Every request must therefore name this server as its host and begin with the secret of the link. A request
that writes must come from the page of the server, which the browser confirms by `Origin`. It must have a JSON body,
which a form cannot send. No response may be read by another origin.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneof.errors import InputTypeError
from oneof.labeling.session import LabelingSession
from oneof.sockets import LOCALHOST, WebServer, check_server_installed, listen

if TYPE_CHECKING:
    from oneof.labeling.content.media import MediaFolder

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 64 * 1024
"""Maximum size of a request body."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy: own resources only, no inline code, no HTML from text, no frames."""

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
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
    """Return the `Host` headers that browsers of this machine send to a port."""
    names = ("127.0.0.1", "localhost")
    without_port = names if port == 80 else ()  # browsers omit the default port
    return (*(f"{name}:{port}" for name in names), *without_port)


class AccessMiddleware:
    """ASGI middleware that accepts only requests of the page itself, and removes the secret from their paths.

    Parameters
    ----------
    apps : dict of str to ASGI application
        The application of each secret, the first component of every path.
    hosts : collection of str
        Allowed values of the header `Host`.
    """

    def __init__(self, apps: Mapping[str, App], hosts: tuple[str, ...]) -> None:
        self._apps, self._hosts = {token.encode(): app for token, app in apps.items()}, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it to the application."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} requests are not supported.")
        rejection = self._check(scope)
        if rejection is not None:
            await _reject(send, *rejection)
            return
        inner = dict(scope)
        token = self._token(scope["raw_path"])
        inner["path"] = scope["path"][len(token) + 1 :]
        inner["raw_path"] = scope["raw_path"][len(token) + 1 :]
        await self._apps[token](inner, _limit_body(receive), _with_headers(send))

    def _token(self, path: bytes) -> bytes:
        """Return the secret of a path; empty if it has none. The time does not depend on the path."""
        first = path.split(b"?")[0][1:].partition(b"/")[0]
        return b"".join([token for token in self._apps if secrets.compare_digest(first, token)])

    def _check(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason of a rejection, or None."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = headers.get("host", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, "The host name is not the name of this server."
        first = scope["raw_path"].split(b"?")[0][1:].partition(b"/")
        if not self._token(scope["raw_path"]) or not first[1]:
            return 404, "Not found."
        if any(origin != f"http://{host[0]}" for origin in headers.get("origin", [])):
            return 403, "Requests of other pages are not allowed."
        site = headers.get("sec-fetch-site", ["none"])
        if scope["method"] in ("GET", "HEAD"):
            opened = first[2] == b"" and headers.get("sec-fetch-dest") == ["document"]
            if site not in (["none"], ["same-origin"]) and not opened:
                return 403, "Other pages may not read from this server."
            return None
        if scope["method"] != "POST":
            return 405, "Only GET and POST are allowed."
        if len(headers.get("origin", [])) != 1 or site not in (["none"], ["same-origin"]):
            return 403, "Only the page of this server may write."
        if headers.get("content-type", [""])[0].split(";")[0].strip().lower() != "application/json":
            return 415, "The body must be JSON."
        length = headers.get("content-length", ["0"])[0]
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return 413, "The request is too long."
        return None


async def _reject(send: Send, status: int, sentence: str) -> None:
    body = sentence.encode()
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": kind})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            other = [
                (name, value) for name, value in message.get("headers", ()) if name.decode().lower() not in HEADERS
            ]
            message["headers"] = other + [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        await send(message)

    return sending


def _limit_body(receive: Receive) -> Receive:
    """Disconnect when a body exceeds the limit, for example in chunked transfer."""
    n_bytes = 0

    async def receiving() -> Message:
        nonlocal n_bytes
        message = await receive()
        if message["type"] == "http.request":
            n_bytes += len(message.get("body", b""))
            if n_bytes > MAX_BODY_BYTES:
                return {"type": "http.disconnect"}
        return message

    return receiving


class LabelingServer:
    """Server of the labeling page of a session, on localhost only.

    Parameters
    ----------
    session : LabelingSession
    title : str
    annotator : str
        The initial name of the annotator on the page.
    images : MediaFolder, optional
        The folder of the image or audio files of the session's table.
    port : int, default=0
        0 selects a free port.

    Attributes
    ----------
    link : str
        URL of the page. It contains a new secret for each server; everyone with the link may label.
    lead_link : str
        URL of the page of the lead, with another secret: only this page shows the accuracies of the annotators, their
        agreement and the answers to rows in dispute, and exports a session of several annotators.

    Raises
    ------
    InputError
        If the port is in use or out of range.
    InputTypeError
        If `session` is not a LabelingSession.
    MissingExtraError
        If starlette or uvicorn is not installed.
    """

    def __init__(
        self,
        session: LabelingSession,
        *,
        title: str = "Labeling",
        annotator: str = "me",
        images: "MediaFolder | None" = None,
        port: int = 0,
    ) -> None:
        check_server_installed("labeling")
        from oneof.labeling.http.app import PageApp

        if not isinstance(session, LabelingSession):
            raise InputTypeError(f"`session` must be a oneof.labeling.LabelingSession; got {type(session).__name__}.")
        self._socket = listen(port)
        try:
            port = self._socket.getsockname()[1]
            token, lead_token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
            self.link, self.lead_link = (f"http://{LOCALHOST}:{port}/{secret}/" for secret in (token, lead_token))
            page = PageApp(session, title, annotator, images)
            apps = {token: page.make(), lead_token: replace(page, is_lead=True).make()}
            app = AccessMiddleware(apps, hosts_at(port))
            # Without a log of the requests, since it would contain the secret.
            self._server = WebServer(app, self._socket, stop_seconds=2)
        except BaseException:  # the caller gets no server to stop
            self._socket.close()
            raise

    def run(self) -> None:
        """Serve until `stop` is called or the process is interrupted; a KeyboardInterrupt propagates."""
        self._server.run()

    def stop(self) -> None:
        """Stop `run` from another thread."""
        self._server.stop()


def serve(
    session: LabelingSession,
    *,
    title: str = "Labeling",
    annotator: str = "me",
    images: "MediaFolder | None" = None,
    port: int = 0,
    open_browser: bool = True,
) -> None:
    """Serve the labeling page of a session until the process is interrupted.

    Parameters
    ----------
    session : LabelingSession
        A session with ``background=True``; otherwise each answer waits for the fit of the model.
    title : str, default="Labeling"
    annotator : str, default="me"
        The initial name of the annotator on the page.
    images : MediaFolder, optional
        The folder of the image or audio files of the session's table.
    port : int, default=0
        0 selects a free port.
    open_browser : bool, default=True
        Whether to open the page. Its link, and that of the lead, are printed in any case.

    Raises
    ------
    InputError
        If the port is in use or out of range.
    InputTypeError
        If `session` is not a LabelingSession.
    MissingExtraError
        If starlette or uvicorn is not installed.

    Examples
    --------
    >>> from oneof.labeling import LabelingSession, serve
    >>> session = LabelingSession([[0.0], [1.0]], classes=["finch", "wren"], background=True)
    >>> serve(session)  # doctest: +SKIP
    http://127.0.0.1:40123/4dT9.../
    For the lead, with the accuracies of the annotators: http://127.0.0.1:40123/xW3k.../
    >>> session.close()
    """
    import webbrowser

    server = LabelingServer(session, title=title, annotator=annotator, images=images, port=port)
    print(server.link)  # noqa: T201 - the purpose of the function
    print(f"For the lead, with the accuracies of the annotators: {server.lead_link}")  # noqa: T201
    if open_browser:
        webbrowser.open(server.link)
    server.run()
