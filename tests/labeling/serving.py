"""A server in a thread of the test's own process, and plain requests to it."""

import http.client
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from oneof.labeling.http.server import LabelingServer
from oneof.labeling.session import LabelingSession


class Reply(NamedTuple):
    """Response of a server."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Client that sends the requests of the page, with changes on request."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.address, self.base = parts.netloc, parts.path
        self.token = parts.path.strip("/")

    def send(self, method: str, path: str, body: Any = None, *, raw: bool = False, **headers: str | None) -> Reply:
        """Send a request without the headers that are None; `raw` paths have no secret prefix."""
        sent = {"host": self.address, "sec-fetch-site": "same-origin"}
        if method == "POST":
            sent |= {"origin": f"http://{self.address}", "content-type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        if "content-length" not in sent:  # None: chunked transfer
            sent["content-length"] = str(len(content))
        lines = [f"{method} {path if raw else self.base + path} HTTP/1.1", "connection: close"]
        lines += [f"{name}: {value}" for name, value in sent.items() if value is not None]
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), timeout=120) as connection:
            # In one piece, since a server may respond and close the connection after the first line.
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
            reply = http.client.HTTPResponse(connection, method=method)
            reply.begin()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())

    def get(self, path: str = "", **headers: str | None) -> Reply:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str | None) -> Reply:
        return self.send("POST", path, body, **headers)

    def ask(self, annotator: str = "Ann", window: str = "w") -> Any:
        return self.post("api/ask", {"annotator": annotator, "window": window}).json()["question"]

    def answer(
        self, question: Any, kind: str, labels: list[int], key: str | None = None, degree: str | None = None
    ) -> Reply:
        sent = {"question": question["id"], "kind": kind, "labels": labels, "key": key or secrets.token_hex(8)}
        sent |= {} if degree is None else {"degree": degree}
        return self.post("api/answer", sent)


@contextmanager
def serving(session: LabelingSession, **options: Any) -> Iterator[LabelingServer]:
    """Serve a session while the block runs."""
    server = LabelingServer(session, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
