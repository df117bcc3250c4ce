"""The server answers its own page, and nobody else: not another page, name, method or origin."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oneof
from oneof.labeling.server import HEADERS, hosts_at
from oneof.labeling.server import LabelingServer
from oneof.labeling.session import LabelingSession
from tests.labeling.serving import Client, serving


def writes(client: Client) -> list[tuple[str, Any]]:
    """Return a request of every kind that changes something."""
    question = client.ask()
    return [
        ("api/answer", {"question": question["id"], "kind": "one of", "labels": [0], "key": "k"}),
        ("api/undo", {"annotator": "Ann", "window": "w", "key": "k"}),
        ("api/ask", {"annotator": "Ann", "window": "w"}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": 1}),
    ]


SCRIPTS = ["elements.js", "label.js", "quality.js", "rows.js", "server.js"]
READS = ["", "label.css", *SCRIPTS, "api/begin", "api/export.csv", "api/export.parquet", "image/0"]


def test_the_page_and_its_files(client: Client) -> None:
    """They are served with their types under the link, and every answer forbids what the page does not need."""
    kinds = {"": "text/html", "label.css": "text/css"} | dict.fromkeys(SCRIPTS, "text/javascript")
    for path in READS:
        reply = client.get(path)
        assert reply.status == 200
        assert reply.headers["content-type"].startswith(kinds.get(path, ""))
        assert {name: reply.headers[name] for name in HEADERS} == HEADERS
        assert not any(name.startswith("access-control") for name in reply.headers)
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_page_names_no_other_place() -> None:
    """Nothing in the page's own files is fetched from elsewhere, inline, or made of markup."""
    page = Path(oneof.__file__).parent / "labeling" / "page"
    assert sorted(file.name for file in page.iterdir()) == sorted(["icon.svg", "index.html", "label.css", *SCRIPTS])
    for file in page.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        for forbidden in (
            "http:",
            "https:",
            "//cdn",
            "innerHTML",
            "outerHTML",
            "eval(",
            "style=",
            "onclick",
            "@import",
        ):
            assert forbidden not in text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "0.0.0.0:{port}",
        "",
        None,
    ],
)
def test_dns_rebinding(client: Client, session: LabelingSession, host: str | None) -> None:
    """A page whose name was made to point here sends its own name as host: it reads and writes nothing.

    Its origin then equals its host, and it may even know the secret.
    """
    port = client.address.split(":")[1]
    sent = None if host is None else host.format(port=port)
    requests = [("GET", path, None) for path in READS] + [("POST", *write) for write in writes(client)]
    before = session.answers.log()
    for method, path, body in requests:
        reply = client.send(method, path, body, host=sent, origin=f"http://{sent}")
        assert reply.status in (400, 421)  # 400: the server itself refuses a request without a host
        assert client.token.encode() not in reply.body
        assert b"finch" not in reply.body
    assert session.answers.log() == before


def test_two_hosts_are_none(client: Client) -> None:
    assert client.get("api/begin", host=client.address, Host="evil.example").status in (400, 421)


def test_localhost_is_this_machine(client: Client) -> None:
    name = f"localhost:{client.address.split(':')[1]}"
    assert client.get("", host=name).status == 200
    question = client.post("api/ask", {"annotator": "Z", "window": "z"}, host=name, origin=f"http://{name}")
    assert question.status == 200
    assert client.post("api/ask", {"annotator": "Z", "window": "z"}, host=name).status == 403  # another origin


CROSS_SITE = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": None},
    {"origin": "http://localhost:1"},
    {"origin": "https://{address}"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"content_type": "text/plain"},
    {"content_type": "application/x-www-form-urlencoded"},
    {"content_type": "multipart/form-data; boundary=x"},
    {"content_type": None},
]


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_cross_site_posts(client: Client, session: LabelingSession, headers: dict[str, str | None]) -> None:
    """What forms and scripts of other pages can send changes nothing, even with the secret, and is not answered."""
    sent = {name: value and value.format(address=client.address) for name, value in headers.items()}
    requests = writes(client)
    before = session.answers.log()
    for path, body in requests:
        reply = client.post(path, body, **sent)
        assert reply.status in (403, 415)
        assert not any(name.startswith("access-control") for name in reply.headers)
    assert session.answers.log() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_read_nothing(client: Client, site: str) -> None:
    """Not as script, style, image or fetch; a link that is followed opens the page, in a window of its own."""
    for path in READS:
        for kind in ("script", "style", "image", "empty", "iframe"):
            assert client.get(path, sec_fetch_site=site, sec_fetch_dest=kind).status == 403
        opened = client.get(path, sec_fetch_site=site, sec_fetch_dest="document", sec_fetch_mode="navigate")
        assert opened.status == (200 if path == "" else 403)
        assert client.get(path, origin="http://evil.example").status == 403


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
def test_no_other_method(client: Client, method: str) -> None:
    """A browser that asks beforehand whether it may is told that it may not."""
    preflight = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    reply = client.send(method, "api/answer", origin=f"http://{client.address}", **preflight)
    assert reply.status == 405
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_without_the_secret_there_is_nothing(client: Client) -> None:
    for path in (
        "/",
        "/label.js",
        "/api/begin",
        f"/{client.token[:-1]}/",
        f"/{client.token}x/",
        f"/{client.token}",
        "//",
    ):
        reply = client.send("GET", path, raw=True)
        assert reply.status == 404
        assert reply.body == b"There is nothing here."
        assert client.send("POST", path, {}, raw=True).status == 404


def test_every_server_has_another_secret(session: LabelingSession, client: Client) -> None:
    """Of 192 bits, as long as the link is the only way in."""
    other = LabelingServer(session)
    other._socket.close()
    assert Client(other.link).token != client.token
    assert len(client.token) >= 32


def test_the_port_that_browsers_leave_out() -> None:
    """At port 80 a browser names the host alone; at any other that is another server."""
    assert "127.0.0.1" in hosts_at(80)
    assert hosts_at(8080) == ("127.0.0.1:8080", "localhost:8080")


def test_no_other_protocol(client: Client) -> None:
    """Nobody gets a WebSocket, and a request as to a proxy is for nothing that is here."""
    key = {"upgrade": "websocket", "sec_websocket_key": "x" * 22 + "==", "sec_websocket_version": "13"}
    for origin in (None, "http://evil.example"):
        assert client.get("api/begin", origin=origin, **key).status in (200, 403)
    assert client.send("GET", f"http://{client.address}{client.base}api/begin", raw=True).status == 404


def test_the_secret_is_not_passed_on(capsys: pytest.CaptureFixture[str], begin: Callable[..., LabelingSession]) -> None:
    """Not to where a link leads, nor to what the server writes, even where it fails."""
    assert HEADERS["referrer-policy"] == "no-referrer"
    session = begin()
    session.question_for = lambda *_, **__: 1 / 0
    with serving(session) as server:
        client = Client(server.link)
        assert client.post("api/look", {"annotator": "Ann", "window": "w", "row": 1}).status == 500
        assert client.get("api/begin", upgrade="websocket").status == 200
        assert client.get("nothing").status == 404
    written = capsys.readouterr()
    assert "ZeroDivisionError" in written.err
    assert client.token not in written.err + written.out
