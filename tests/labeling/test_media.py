"""Images and audio files are served from their folder only, audio in parts on request, and give features."""

import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
from oneof.labeling.content import media as media_module
from oneof.labeling.content.media import AudioFolder, ImageFolder, read_wav
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, needs_browser
from tests.labeling.conftest import CLASSES, NAMES, SECRET
from tests.labeling.page_states import showing
from tests.labeling.serving import Client, serving


@pytest.mark.parametrize("row", range(len(NAMES)))
def test_images_come_from_their_folder(client: Client, row: int) -> None:
    """Files outside the folder (by dots, links or absolute paths) and of other types are not found.

    HTML or SVG with an image extension is served as an image, with content sniffing disabled.
    """
    reply = client.get(f"image/{row}")
    assert reply.status == (200 if row < 2 else 404)
    assert SECRET not in reply.body
    if row < 2:
        assert reply.headers["content-type"] == "image/png"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in reply.headers["content-security-policy"]


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


def test_large_images_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file above the size limit is an error."""
    assert ImageFolder(folder).find("red.png").is_file()
    monkeypatch.setattr(media_module, "_MAX_FILE_BYTES", 10)
    with pytest.raises(InputError, match="must be at most"):
        ImageFolder(folder).find("red.png")


RATE = 8000
SOUNDS = ["low.wav", "../secret.wav", "link.wav", "note.txt", "high.wav", "absent.wav"]


def write_tone(
    path: Path, frequency: float, *, width: int = 2, n_channels: int = 1, seconds: float = 0.5
) -> np.ndarray:
    """Write a tone and return its samples."""
    tone = 0.5 * np.sin(2 * np.pi * frequency * np.arange(int(RATE * seconds)) / RATE)
    whole = np.round(tone * 2.0 ** (8 * width - 1)).astype("<i8") + (128 if width == 1 else 0)
    octets = whole.view(np.uint8).reshape(-1, 8)[:, :width]
    with wave.open(str(path), "wb") as file:
        file.setparams((n_channels, width, RATE, 0, "NONE", "not compressed"))
        file.writeframes(np.repeat(octets[:, None], n_channels, axis=1).tobytes())
    return tone


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """Make a folder of two tones, with a file outside it and a link to that file."""
    folder = tmp_path / "sounds"
    folder.mkdir()
    write_tone(tmp_path / "secret.wav", 100)
    write_tone(folder / "low.wav", 200)
    write_tone(folder / "high.wav", 2000)
    (folder / "note.txt").write_text("no audio")
    (folder / "link.wav").symlink_to(tmp_path / "secret.wav")
    return folder


@pytest.fixture
def heard() -> Iterator[LabelingSession]:
    """Yield a session of audio files."""
    table = LabelTable(pl.DataFrame({"file": SOUNDS}), "kind", "audio", "file")
    with LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random", random_state=0) as session:
        yield session


def test_audio_comes_from_its_folder(heard: LabelingSession, sounds: Path) -> None:
    """Only files of the folder are served; a range is a part of the file; no audio is served as an image."""
    content = (sounds / "low.wav").read_bytes()
    with serving(heard, images=AudioFolder(sounds)) as server:
        client = Client(server.link)
        whole = client.get("audio/0")
        assert (whole.status, whole.body, whole.headers["content-type"]) == (200, content, "audio/wav")
        assert whole.headers["accept-ranges"] == "bytes"
        assert whole.headers["cache-control"] == "no-store"
        part = client.get("audio/0", range="bytes=100-299")
        assert (part.status, part.body) == (206, content[100:300])
        assert part.headers["content-range"] == f"bytes 100-299/{len(content)}"
        assert part.headers["x-content-type-options"] == "nosniff"
        assert client.get("audio/0", range="bytes=999999-").status == 416
        assert client.get("audio/0", sec_fetch_site="cross-site").status == 403
        assert [client.get(f"audio/{row}").status for row in range(7)] == [200, 404, 404, 404, 200, 404, 404]
        assert client.get("image/0").status == 404
        assert "media-src 'self'" in client.get().headers["content-security-policy"]


@pytest.mark.parametrize(("width", "n_channels"), [(1, 1), (2, 1), (3, 2), (4, 1)])
def test_samples(tmp_path: Path, width: int, n_channels: int) -> None:
    """Samples of every size are read within their precision."""
    tone = write_tone(tmp_path / "a.wav", 440, width=width, n_channels=n_channels)
    samples, rate = read_wav((tmp_path / "a.wav").read_bytes())
    assert rate == RATE
    assert np.abs(samples - tone).max() <= 2.0 ** (1 - 8 * width)


def test_audio_features(sounds: Path) -> None:
    """The band of largest energy of a higher tone is higher; another file is an error with its row and a remedy."""
    folder = AudioFolder(sounds)
    features = folder.features(["low.wav", "high.wav", "low.wav"])
    assert features.shape == (3, 48)
    assert (features[0] == features[2]).all()
    assert features[0, :24].argmax() < features[1, :24].argmax()
    (sounds / "no.wav").write_bytes(b"RIFF")
    (sounds / "no.mp3").write_bytes(b"ID3")
    for name in ("no.wav", "no.mp3"):
        with pytest.raises(InputError, match=r"row 1: .*uncompressed WAV.*Convert"):
            folder.features(["low.wav", name])
    with pytest.raises(InputError, match="row 0 has no audio name"):
        folder.features([None])


class TestInBrowser:
    """Audio in a real browser."""

    pytestmark = needs_browser

    def test_audio_is_played_by_the_keyboard(self, page: Page, heard: LabelingSession, sounds: Path) -> None:
        """The element has controls, a name and a duration; a missing file is a sentence."""
        with showing(page, heard, images=AudioFolder(sounds)):
            seen = set()
            while len(seen) < 2:
                row = page.row()
                if row in (0, 4):
                    audio = page.one("#item audio")
                    page.until(lambda audio=audio: audio.get_property("duration"))
                    assert abs(audio.get_property("duration") - 0.5) < 0.01
                    assert audio.get_attribute("aria-label") == f"Row {row}: sound {SOUNDS[row]}"
                    assert audio.get_property("controls")
                    assert audio.get_property("preload") == "metadata"
                    seen.add("audio")
                else:
                    page.until(lambda: page.all("#item .alert"))
                    assert page.one("#item .alert").text == f"The file {SOUNDS[row]} cannot be displayed."
                    seen.add("missing")
                page.settle(lambda: page.press("1", "\ue007"))
        page.browser.get_log("browser")  # messages about the missing files
