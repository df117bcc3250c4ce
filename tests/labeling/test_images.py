"""Images are served from their folder only."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.labeling.content import media as media_module
from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
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
def test_path_traversal(client: Client, path: str) -> None:
    """A request names a row or a file of the page; no file name of a request reaches the disk."""
    reply = client.get(path)
    assert reply.status == 404
    assert b"root:" not in reply.body
    assert SECRET not in reply.body


@pytest.mark.parametrize("row", range(len(NAMES)))
def test_images_come_from_their_folder(client: Client, row: int) -> None:
    """Files outside the folder (by dots, links or absolute paths) and of other types are not found."""
    reply = client.get(f"image/{row}")
    assert reply.status == (200 if row == 0 else 404)
    assert SECRET not in reply.body
    if row == 0:
        assert reply.headers["content-type"] == "image/png"


def test_images_as_features(folder: Path, tmp_path: Path) -> None:
    """Features are 16 by 16 pixels of three colors, in [0, 1]; an invalid image is an error with its row."""
    images = ImageFolder(folder)
    features = images.features(["red.png", "red.png"])
    assert features.shape == (2, 768)
    assert np.allclose(features.reshape(2, 256, 3), np.array([200, 0, 0]) / 255)
    (folder / "text.png").write_text("no image")
    for names, sentence in ((["red.png", "text.png"], "row 1"), ([None], "row 0"), (["../secret.png"], "not found")):
        with pytest.raises(InputError, match=sentence):
            images.features(names)
    with pytest.raises(DataError, match="does not exist"):
        ImageFolder(tmp_path / "absent")


def test_a_script_with_an_image_name_is_not_executed(begin: Callable[..., LabelingSession], tmp_path: Path) -> None:
    """HTML or SVG with an image extension is served as an image, with content sniffing disabled."""
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
    """A file above the size limit is an error."""
    assert ImageFolder(folder).find("red.png").is_file()
    monkeypatch.setattr(media_module, "_MAX_FILE_BYTES", 10)
    with pytest.raises(InputError, match="must be at most"):
        ImageFolder(folder).find("red.png")
