"""Images come from their folder, and no path leads elsewhere."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.labeling import table
from oneof.labeling.table import ImageFolder
from oneof.labeling.session import LabelingSession
from oneof.labeling.table import LabelTable
from tests.labeling.conftest import NAMES, SECRET
from tests.labeling.serving import Client, serving

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
    """16 by 16 points of three colors, from 0 to 1; what is no image is told with its row."""
    shown = ImageFolder(folder)
    found = shown.features(["red.png", "red.png"])
    assert found.shape == (2, 768)
    assert np.allclose(found.reshape(2, 256, 3), np.array([200, 0, 0]) / 255)
    (folder / "text.png").write_text("no image")
    for names, sentence in ((["red.png", "text.png"], "row 1"), ([None], "row 0"), (["../secret.png"], "no image")):
        with pytest.raises(InputError, match=sentence):
            shown.features(names)
    with pytest.raises(DataError, match="no folder"):
        ImageFolder(tmp_path / "absent")


def test_what_pretends_to_be_an_image_is_not_run(begin: Callable[..., LabelingSession], tmp_path: Path) -> None:
    """A page or a drawing with a program, named as an image, goes out as one, which no browser may doubt."""
    (tmp_path / "page.png").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/><script>alert(1)</script>"
    )
    table = LabelTable(pl.DataFrame({"file": ["page.png"] * 60}), "kind", "image", "file")
    with serving(begin(table=table), images=ImageFolder(tmp_path)) as server:
        reply = Client(server.link).get("image/0")
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in reply.headers["content-security-policy"]


def test_large_images_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of many gigabytes would fill the memory of the server."""
    assert ImageFolder(folder).find("red.png").is_file()
    monkeypatch.setattr(images, "_LARGEST", 10)
    with pytest.raises(InputError, match="too large"):
        ImageFolder(folder).find("red.png")
