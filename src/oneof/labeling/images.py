"""Images of one folder, and of no other place; and what a model sees of them where there is nothing else."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oneof.errors import DataError, InputError, MissingExtraError
from oneof.typing import Floats

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
}
"""Images of points only: an SVG can hold a program."""
_LARGEST = 100 * 2**20
"""Bytes of a file that is shown."""
_SIDE = 16


class ImageFolder:
    """A folder whose images may be shown.

    Parameters
    ----------
    root : path-like
        Names are relative to it, and must lead to files within it, also when all links are followed.

    Raises
    ------
    DataError
        If it is no folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DataError(f"there is no folder {root} of images.")
        self.root = root.resolve()

    def find(self, name: str) -> Path:
        """Return the file of an image.

        Raises
        ------
        InputError
            If it lies outside the folder, is of no type that is shown, is not there, or is too large.
        """
        try:
            path = (self.root / name).resolve()
            inside = path.is_relative_to(self.root) and path.is_file()
        except (OSError, ValueError):  # names that no file can have
            inside = False
        if not inside:
            raise InputError(f"there is no image {name!r} in the folder {self.root}.")
        if path.suffix.lower() not in TYPES:
            raise InputError(f"{name!r} is no image that is shown: {', '.join(TYPES)} are.")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"the image {name!r} is too large: {_LARGEST // 2**20} MiB are shown at most.")
        return path

    def features(self, names: Sequence[str | None]) -> Floats:
        """Return images as numbers: 16 by 16 points of three colors, from 0 to 1.

        Parameters
        ----------
        names : sequence of str of length n

        Returns
        -------
        ndarray of shape (n, 768)

        Raises
        ------
        InputError
            If an image is not there or cannot be read; the message names the row.
        MissingExtraError
            If Pillow is not installed.
        """
        try:
            from PIL import Image
        except ImportError:
            raise MissingExtraError("Pillow", "web") from None
        found = np.empty((len(names), 3 * _SIDE**2))
        for row, name in enumerate(names):
            if name is None:
                raise InputError(f"row {row} names no image.")
            path = self.find(name)
            try:
                with Image.open(path) as image:
                    small = image.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.BOX)
            except (OSError, ValueError, Image.DecompressionBombError) as error:
                raise InputError(f"row {row}: the image {name!r} cannot be read ({error}).") from None
            found[row] = np.asarray(small, dtype=np.float64).ravel() / 255
        return found
