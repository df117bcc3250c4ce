"""Folders of the image and audio files that the page may show, and features of these files."""

import io
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from oneof.errors import DataError, InputError, MissingExtraError
from oneof.typing import Floats

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
}
"""Raster images only, since an SVG can contain scripts."""
AUDIO_TYPES = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".weba": "audio/webm",
}
"""Formats of the common browsers."""
_MAX_FILE_BYTES = 100 * 2**20
"""Maximum size of a file."""
_THUMBNAIL_SIDE = 16
_N_BANDS, _WINDOW, _MAX_SECONDS = 24, 0.032, 60
"""Frequency bands of audio features, seconds of a window, and seconds of a file that are read."""
_MIN_FREQUENCY = 60.0
_MIN_ENERGY = 1e-10


class MediaFolder:
    """Folder of the files that may be shown.

    Parameters
    ----------
    root : Path
        File names are relative to this folder. The files must be inside it, even after following links.

    Attributes
    ----------
    kind : str
        "image" or "audio".
    types : dict of str to str
        Media types by file name extension.

    Raises
    ------
    DataError
        If it is not a folder.
    """

    kind: ClassVar[str]
    types: ClassVar[Mapping[str, str]]

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DataError(f"the {self.kind} folder {root} does not exist. Name a folder (--images).")
        self.root = root.resolve()

    def find(self, name: str) -> Path:
        """Return the path of a file.

        Raises
        ------
        InputError
            If the file is outside the folder, has an unsupported type, does not exist, or is too large.
        """
        try:
            path = (self.root / name).resolve()
            inside = path.is_relative_to(self.root) and path.is_file()
        except (OSError, ValueError):  # invalid file names
            inside = False
        if not inside:
            raise InputError(f"{self.kind} {name!r} not found in the folder {self.root}.")
        if path.suffix.lower() not in self.types:
            raise InputError(f"{self.kind} files must be {', '.join(self.types)}; got {name!r}.")
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(f"{self.kind} files must be at most {_MAX_FILE_BYTES // 2**20} MiB; {name!r} is larger.")
        return path

    def features(self, names: Sequence[str | None]) -> Floats:
        """Return features of the files, one row each."""
        raise NotImplementedError

    def media_type(self, path: Path) -> str:
        """Return the media type of a file of the folder."""
        return self.types[path.suffix.lower()]

    def _paths(self, names: Sequence[str | None]) -> list[Path]:
        """Return the paths of all rows."""
        paths = []
        for row, name in enumerate(names):
            if name is None:
                raise InputError(f"row {row} has no {self.kind} name. Name a file, or remove the row.")
            paths.append(self.find(name))
        return paths


class ImageFolder(MediaFolder):
    """Folder of images; see `MediaFolder`."""

    kind = "image"
    types = IMAGE_TYPES

    def features(self, names: Sequence[str | None]) -> Floats:
        """Return the images as features: 16 by 16 pixels with three colors, in [0, 1].

        Parameters
        ----------
        names : sequence of str of length n

        Returns
        -------
        ndarray of shape (n, 768)

        Raises
        ------
        InputError
            If an image does not exist or cannot be read; the message has the row.
        MissingExtraError
            If Pillow is not installed.
        """
        try:
            from PIL import Image
        except ImportError:
            raise MissingExtraError("Pillow", "labeling") from None
        features = np.empty((len(names), 3 * _THUMBNAIL_SIDE**2))
        for row, path in enumerate(self._paths(names)):
            try:
                with Image.open(path) as image:
                    small = image.convert("RGB").resize((_THUMBNAIL_SIDE, _THUMBNAIL_SIDE), Image.Resampling.BOX)
            except (OSError, ValueError, Image.DecompressionBombError) as error:
                raise InputError(f"row {row}: the image {names[row]!r} cannot be read ({error}).") from None
            features[row] = np.asarray(small, dtype=np.float64).ravel() / 255
        return features


class AudioFolder(MediaFolder):
    """Folder of audio files; see `MediaFolder`."""

    kind = "audio"
    types = AUDIO_TYPES

    def features(self, names: Sequence[str | None]) -> Floats:
        """Return audio files as features: mean and standard deviation of the log energy of 24 frequency bands.

        The first 60 seconds are divided into windows of 32 ms. The bands have equal widths on a logarithmic scale,
        from 60 Hz to half the sampling rate.

        Parameters
        ----------
        names : sequence of str of length n
            Files of uncompressed WAV.

        Returns
        -------
        ndarray of shape (n, 48)

        Raises
        ------
        InputError
            If a file does not exist, or is not uncompressed WAV; the message has the row.
        """
        features = np.empty((len(names), 2 * _N_BANDS))
        for row, path in enumerate(self._paths(names)):
            try:
                samples, rate = read_wav(path.read_bytes())
            except (OSError, EOFError, ValueError, wave.Error) as error:
                raise InputError(
                    f"row {row}: features of {names[row]!r} need uncompressed WAV ({error}). Convert the file, or add "
                    "feature columns to the table."
                ) from None
            features[row] = band_energies(samples, rate)
        return features


def read_wav(content: bytes) -> tuple[Floats, int]:
    """Return the samples of uncompressed WAV in [-1, 1], mean of its channels, and the sampling rate in Hz.

    Raises
    ------
    ValueError
        If the file has no samples or an unsupported sample size.
    EOFError, wave.Error
        If it is not uncompressed WAV.
    """
    with wave.open(io.BytesIO(content)) as file:
        rate, width, n_channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
        data = file.readframes(_MAX_SECONDS * rate)
    data = data[: len(data) // (width * n_channels) * (width * n_channels)]
    if not data:
        raise ValueError("it has no samples")
    octets = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
    if width == 1:  # the only unsigned format
        samples = octets[:, 0] / 128 - 1
    else:
        padded = np.zeros((len(octets), 8), dtype=np.uint8)
        padded[:, 8 - width :] = octets
        samples = padded.view("<i8")[:, 0] / 2.0**63
    return samples.reshape(-1, n_channels).mean(axis=1), rate


def band_energies(samples: Floats, rate: int) -> Floats:
    """Return means and standard deviations over time of the log energies of frequency bands, shape (48,)."""
    size = max(16, int(_WINDOW * rate))
    padded = np.pad(samples, (0, -len(samples) % size))
    power = np.abs(np.fft.rfft(padded.reshape(-1, size) * np.hanning(size), axis=1)) ** 2 / size
    edges = np.geomspace(min(_MIN_FREQUENCY, rate / 8), rate / 2, _N_BANDS + 1)
    band = np.clip(np.searchsorted(edges, np.fft.rfftfreq(size, 1 / rate), side="right") - 1, 0, _N_BANDS - 1)
    energies = np.log(power @ np.eye(_N_BANDS)[band] + _MIN_ENERGY)
    return np.concatenate([energies.mean(axis=0), energies.std(axis=0)])
