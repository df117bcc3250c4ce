"""How a stream is read and learned from."""

from dataclasses import dataclass

from oneof.errors import InputError, InputTypeError
from oneof.stream.batches import BATCH_ROWS
from oneof.stream.indexed import MOST_BITS
from oneof.tables import Overrides, Words
from oneof.validation import check_instance, check_positive


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is read and learned from.

    Attributes
    ----------
    labels : tuple of str
        The column of labels, or several of 0 and 1; none for svmlight files.
    separator : str
        What stands between two labels in text.
    classes : tuple of str, optional
        All classes. By default those that occur: in a first pass over the labels, or, of what cannot be read twice, in
        the first batch.
    overrides : Overrides
        What the columns are, against what those of the first batch look like.
    words : Words
        Stop words and stems of texts.
    batch_rows : int
        Most rows that are in memory at once.
    hash_bits : int
        Words and categories share 2 ** hash_bits columns; indices of svmlight files lie below it.
    n_epochs : int
        Passes over the stream, in its order.

    Examples
    --------
    >>> from oneof.stream import StreamOptions
    >>> StreamOptions(labels=("species",), batch_rows=1_000).hash_bits
    18
    """

    labels: tuple[str, ...] = ()
    separator: str = "|"
    classes: tuple[str, ...] | None = None
    overrides: Overrides = Overrides()  # noqa: RUF009 - frozen
    words: Words = Words()  # noqa: RUF009 - frozen
    batch_rows: int = BATCH_ROWS
    hash_bits: int = 18
    n_epochs: int = 1

    def __post_init__(self) -> None:
        for name in ("labels", "classes"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InputTypeError(f"{name}={value!r} is text: give a tuple of names.")
            if name == "classes" and value is None:
                continue
            if not isinstance(value, tuple | list) or not all(isinstance(part, str) for part in value):
                raise InputTypeError(f"`{name}` must be a tuple of names; got {value!r}.")
        if not isinstance(self.separator, str) or not self.separator:
            raise InputError(f"`separator` must be the text between two labels; got {self.separator!r}.")
        check_instance("overrides", self.overrides, Overrides)
        check_instance("words", self.words, Words)
        for name, most in (("batch_rows", 2**30), ("hash_bits", MOST_BITS), ("n_epochs", 2**30)):
            value = getattr(self, name)
            check_positive(name, value, integer=True, max_value=most)
            object.__setattr__(self, name, int(value))  # a checkpoint is JSON, which has no numbers of NumPy
