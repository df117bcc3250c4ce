"""The server answers its own page, and nobody else: not another page, name, path or origin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.web.guard import HEADERS, LONGEST_BODY
from oneof.web.images import ImageFolder
from oneof.web.server import LabellingServer
from oneof.web.session import LabellingSession
from oneof.web.table import LabelTable
from tests.web.conftest import CLASSES, make_rows
from tests.web.serving import Client, serving

Image = pytest.importorskip("PIL.Image")
SECRET = b"not for everyone"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of images, with things beside it, and links that lead out of it."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.png").write_bytes(SECRET)
    images = outside / "images"
    images.mkdir()
    Image.new("RGB", (4, 4), (200, 0, 0)).save(images / "red.png")
    (images / "drawing.svg").write_text("<svg onload='alert(1)'/>")
    (images / "link.png").symlink_to(outside / "secret.png")
    return images


NAMES = [
    "red.png",
    "../secret.png",
    "link.png",
    "drawing.svg",
    "absent.png",
    "/etc/passwd",
    "..\\secret.png",
    "%2e%2e/secret.png",
    "images/../../secret.png",
    "",
    "a\0.png",
    "x" * 5000 + ".png",
]
"""Of which the first alone may be shown."""


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[LabellingSession]:
    rows, _ = make_rows()
    names = NAMES + [NAMES[0]] * (len(rows) - len(NAMES))
    table = LabelTable(pl.DataFrame({"file": [*names[:9], None, *names[10:]]}), "kind", "image", "file")
    with LabellingSession(rows, classes=CLASSES, table=table, random_state=0) as session:
        yield session


@pytest.fixture(scope="module")
def client(session: LabellingSession, folder: Path) -> Iterator[Client]:
    with serving(session, title="Birds", annotator="Ann", images=ImageFolder(folder)) as server:
        yield Client(server.link)


def writes(client: Client) -> list[tuple[str, Any]]:
    """Return a request of every kind that changes something."""
    question = client.ask()
    return [
        ("api/answer", {"question": question["id"], "kind": "one of", "labels": [0], "key": "k"}),
        ("api/undo", {"annotator": "Ann", "window": "w", "key": "k"}),
        ("api/ask", {"annotator": "Ann", "window": "w"}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": 1}),
    ]


READS = ["", "label.css", "label.js", "api/begin", "api/export.csv", "api/export.parquet", "image/0"]


def test_the_page_and_its_files(client: Client) -> None:
    """They are served with their types under the link, and every answer forbids what the page does not need."""
    kinds = {"": "text/html", "label.css": "text/css", "label.js": "text/javascript"}
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
    page = Path(__file__).parents[2] / "src" / "oneof" / "web" / "page"
    assert sorted(file.name for file in page.iterdir()) == ["icon.svg", "index.html", "label.css", "label.js"]
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
def test_dns_rebinding(client: Client, session: LabellingSession, host: str | None) -> None:
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
def test_cross_site_posts(client: Client, session: LabellingSession, headers: dict[str, str | None]) -> None:
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


def test_every_server_has_another_secret(session: LabellingSession, client: Client) -> None:
    """Of 192 bits, as long as the link is the only way in."""
    other = LabellingServer(session)
    other._socket.close()
    assert Client(other.link).token != client.token
    assert len(client.token) >= 32


PATHS = [
    "../session.py",
    "..%2fsession.py",
    "%2e%2e/session.py",
    "page/index.html",
    "label.js/../../session.py",
    "....//session.py",
    "label.js%00.css",
    "image/../../../etc/passwd",
    "image/..%2f..%2fsecret.png",
    "image/%2e%2e%2fsecret.png",
    "image/red.png",
    "image/-1",
    "image/60",
    "image/99999999999999999999999",
    "api/export.db",
    "api/export.csv/../../../../etc/passwd",
    "api/export.%2e%2e%2fetc%2fpasswd",
    "/etc/passwd",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_nowhere_else(client: Client, path: str) -> None:
    """A request names a row or one of three files; no name of a file goes from it to the disk."""
    reply = client.get(path)
    assert reply.status == 404
    assert b"root:" not in reply.body
    assert SECRET not in reply.body


@pytest.mark.parametrize("row", range(len(NAMES)))
def test_images_come_from_their_folder(client: Client, row: int) -> None:
    """A table may name files outside it, by dots, links or from the root, and of other kinds: they are not there."""
    reply = client.get(f"image/{row}")
    assert reply.status == (200 if row == 0 else 404)
    assert SECRET not in reply.body
    if row == 0:
        assert reply.headers["content-type"] == "image/png"


def test_images_as_features(folder: Path, tmp_path: Path) -> None:
    """16 by 16 points of three colours, from 0 to 1; what is no image is told with its row."""
    images = ImageFolder(folder)
    found = images.features(["red.png", "red.png"])
    assert found.shape == (2, 768)
    assert np.allclose(found.reshape(2, 256, 3), np.array([200, 0, 0]) / 255)
    (folder / "text.png").write_text("no image")
    for names, sentence in ((["red.png", "text.png"], "row 1"), ([None], "row 0"), (["../secret.png"], "no image")):
        with pytest.raises(InputError, match=sentence):
            images.features(names)
    with pytest.raises(DataError, match="no folder"):
        ImageFolder(tmp_path / "absent")


def test_a_question_is_answered_over_http(client: Client, session: LabellingSession) -> None:
    """The answer is in the log when it is acknowledged; the next question comes with it; undo shows the row again."""
    question = client.ask(window="x")
    reply = client.answer(question, "none of", [1])
    told = reply.json()
    assert reply.status == 200
    entry = session.answers.log()[-1]
    assert (entry.number, entry.row, entry.kind, entry.labels) == (told["written"], question["row"], "none of", (1,))
    assert told["question"]["row"] != question["row"]
    assert told["state"]["history"][0]["number"] == entry.number
    undone = client.post("api/undo", {"annotator": "Ann", "window": "x", "key": "undo", "number": entry.number}).json()
    assert undone["question"]["row"] == question["row"]
    assert undone["undone"]["labels"] == [1]
    assert session.answers.standing(question["row"], "Ann") is None


def test_an_answer_sent_twice_is_written_once(client: Client, session: LabellingSession) -> None:
    """As when its acknowledgement was lost."""
    question, before = client.ask(window="y"), len(session.answers.log())
    replies = [client.answer(question, "one of", [0, 2], key="same") for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].json()["written"] == replies[1].json()["written"]
    assert len(session.answers.log()) == before + 1


def test_two_windows_of_one_annotator(client: Client, session: LabellingSession) -> None:
    """The same row open in both: who answers second is told, and the first answer stays."""
    looks = [client.post("api/look", {"annotator": "Eve", "window": w, "row": 40}).json()["question"] for w in "12"]
    assert client.answer(looks[0], "one of", [0]).status == 200
    refused = client.answer(looks[1], "one of", [1])
    assert refused.status == 409
    assert "another window" in refused.json()["error"]
    assert session.answers.standing(40, "Eve").labels == (0,)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("api/answer", {"question": "x", "kind": "one of", "labels": [0]}),
        ("api/answer", b"{"),
        ("api/answer", b"[]"),
        ("api/answer", b"\xff"),
        ("api/answer", b"[" * 50_000),
        ("api/ask", {"annotator": "", "window": "w"}),
        ("api/ask", {"annotator": "x" * 101, "window": "w"}),
        ("api/ask", {"annotator": ["Ann"], "window": "w"}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": "1"}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": True}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": 60}),
        ("api/look", {"annotator": "Ann", "window": "w", "row": -1}),
    ],
)
def test_bad_requests_are_told_so(client: Client, path: str, body: Any) -> None:
    reply = client.post(path, body)
    assert reply.status == 400
    assert reply.json()["error"]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("one of", []),
        ("one of", [3]),
        ("one of", [-1]),
        ("one of", ["0"]),
        ("one of", [True]),
        ("none of", [0, 1, 2]),
        ("one of", None),
        ("undo", []),
    ],
)
def test_bad_answers_are_not_written(client: Client, session: LabellingSession, kind: str, labels: Any) -> None:
    question, before = client.ask(window="bad"), session.answers.log()
    assert client.answer(question, kind, labels).status == 400
    assert session.answers.log() == before


def test_a_question_of_another_run_is_refused(client: Client) -> None:
    reply = client.answer({"id": "of-long-ago"}, "one of", [0])
    assert reply.status == 409


def test_long_requests_are_cut(client: Client) -> None:
    """By the length that they say, and by what they send."""
    assert client.post("api/ask", b" " * (LONGEST_BODY + 1)).status == 413
    assert client.post("api/ask", b"", content_length="99999999").status == 413
    part = b"%x\r\n" % LONGEST_BODY + b" " * LONGEST_BODY + b"\r\n"
    sent = {"content_length": None, "transfer_encoding": "chunked"}
    assert client.post("api/ask", part + part + b"0\r\n\r\n", **sent).status == 413


def test_a_port_that_is_taken(session: LabellingSession, client: Client) -> None:
    with pytest.raises(InputError, match=r"port .* cannot be used"):
        LabellingServer(session, port=int(client.address.split(":")[1]))


def test_it_listens_to_this_machine_alone(client: Client) -> None:
    assert client.address.startswith("127.0.0.1:")
