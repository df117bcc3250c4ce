"""Audio files are served from their folder only, in parts on request, and give features."""

import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import InputError
from oneof.labeling.content.media import AudioFolder, read_wav
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, needs_browser
from tests.labeling.conftest import CLASSES
from tests.labeling.serving import Client, serving

RATE = 8000
NAMES = ["low.wav", "../secret.wav", "link.wav", "note.txt", "high.wav", "absent.wav"]


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
    table = LabelTable(pl.DataFrame({"file": NAMES}), "kind", "audio", "file")
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
        with serving(heard, annotator="Ann", images=AudioFolder(sounds)) as server:
            page.open(server.link)
            seen = set()
            while len(seen) < 2:
                row = page.row()
                if row in (0, 4):
                    audio = page.one("#item audio")
                    page.until(lambda audio=audio: audio.get_property("duration"))
                    assert abs(audio.get_property("duration") - 0.5) < 0.01
                    assert audio.get_attribute("aria-label") == f"Row {row}: sound {NAMES[row]}"
                    assert audio.get_property("controls")
                    assert audio.get_property("preload") == "metadata"
                    seen.add("audio")
                else:
                    page.until(lambda: page.all("#item .alert"))
                    assert page.one("#item .alert").text == f"The file {NAMES[row]} cannot be displayed."
                    seen.add("missing")
                page.settle(lambda: page.press("1", "\ue007"))
        page.browser.get_log("browser")  # messages about the missing files
