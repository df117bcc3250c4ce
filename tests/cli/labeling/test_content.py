"""Contents of rows on the page of `oneof label`: text, images, audio, and pinned columns."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.tables.read_options import ReadOptions
from tests.cli.conftest import Run, make_birds
from tests.cli.labeling.conftest import CLASSES, LABEL, open_birds
from tests.labeling.test_media import write_tone


def test_a_text_column(bare: Path) -> None:
    """A text column is read as text even if its texts are short, and is shown alone on the page."""
    read_options = ReadOptions(("species",), classes=("finch", "owl", "wren"), drop=("span", "mass"))
    with open_birds(bare, read_options, show=("text", "remark")).session as session:
        assert session.table.item(3) == {"kind": "text", "text": make_birds()["remark"][3]}


def test_images_as_features(run: Run) -> None:
    """With a table of file names, images of two colors are classified after a few answers."""
    Image = pytest.importorskip("PIL.Image")
    names = []
    for i in range(20):
        names.append(f"{i}.png")
        Image.new("RGB", (20, 20), (200 + i, 0, 0) if i % 2 else (0, 0, 200 + i)).save(names[-1])
    pl.DataFrame({"file": names}).write_csv("images.csv")
    read_options = ReadOptions(("color",), classes=("blue", "red"))
    opened = open_birds("images.csv", read_options, show=("image", "file"), hide=())
    with opened.session as session:
        for _ in range(6):
            question = session.ask()
            session.answer(question, ["blue", "red"][question.row % 2])
        session.train()
        assert np.array_equal(session.snapshot.proba.argmax(axis=1), np.arange(20) % 2)
    assert opened.images is not None
    assert opened.images.find("3.png").is_file()


def test_pinned_columns_are_shown_first(run: Run, bare: Path, served: Any) -> None:
    """Columns of --pin are the first cells, in the order of the option."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    assert run("label", bare, *LABEL, *CLASSES, "--pin", "remark,mass", "--no-browser").code == 0
    assert [name for name, _ in seen["item"]["cells"]] == ["remark", "mass", "id", "span", "migrates", "color"]
    assert seen["item"]["n_pinned"] == 2


def test_audio_without_other_columns(run: Run, served: Any) -> None:
    """A table of WAV files gets features of the sounds, and the page plays them."""
    for name, frequency in (("a.wav", 200), ("b.wav", 2000)):
        write_tone(Path(name), frequency)
    Path("sounds.csv").write_text("file\n" + "a.wav\nb.wav\n" * 5)
    replies: list[Any] = []
    served(lambda client: replies.extend((client.ask(), client.get("audio/1"))))
    result = run("label", "sounds.csv", *LABEL[:2], *CLASSES, "--show", "audio", "file", "--no-browser")
    assert result.code == 0, result.err
    assert replies[0]["item"]["kind"] == "audio"
    assert replies[1].body == Path("b.wav").read_bytes()
