"""Options of a fit to a stream, and the checks of them with the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneof.candidates.cells import LabelFormat
from oneof.candidates.columns import LabelColumns
from oneof.errors import InputError, InputTypeError
from oneof.estimators.online import check_online
from oneof.io import CellFormat, Column, Dialect, Overrides, TableOptions, TextOptions
from oneof.io.batches import BATCH_ROWS
from oneof.io.features import BatchSpec
from oneof.io.formats.source import Source
from oneof.io.formats.svmlight import MAX_INDEX_BITS
from oneof.validation import as_float_array, check_bool, check_instance, check_positive


@dataclass(frozen=True)
class StreamOptions:
    """Options for reading and learning a stream.

    Attributes
    ----------
    labels : tuple of str
        The column of labels, or several columns of 0 and 1, or of weights; none for svmlight files.
    separator : str
        The text between two labels.
    classes : tuple of str, optional
        All classes. By default they are collected in a first pass over the labels, or from the first batch if the
        stream cannot be read twice.
    weighted : bool
        The labels have weights: text such as ``"finch:0.7|wren:0.3"``, or mappings from labels to weights (objects of
        JSON lines, structs of Parquet and Arrow). Not for svmlight files.
    weights : str, optional
        The column of the weights of one label column: text such as ``"0.7|0.3"``, or lists. It implies `weighted`.
    kind : {"likelihood", "posterior"}
        Meaning of the weights. Posteriors are divided by their prior, see `oneof.CandidateSets.from_weights`.
    prior : tuple of float, optional
        The prior of posteriors, one number for each of `classes`. By default the mean of the posteriors, for which the
        labels are read once more beforehand.
    rest : bool or str
        See `oneof.CandidateSets.from_weights`.
    overrides : Overrides
        Kinds of columns, which take precedence over those inferred from the first batch.
    text_options : TextOptions
        Stop words and stemmer of texts.
    table : TableOptions
        The format, the dialect and the cells of the files, as of a table. Properties of CSV and TSV files that it does
        not have are detected from the first bytes of each file.
    batch_rows : int
        Maximum number of rows in memory.
    hash_bits : int
        Words and categories are hashed into 2 ** hash_bits columns; indices of svmlight files are less than that.
    n_epochs : int
        Number of passes over the stream, in its order.
    has_weights : bool
        Whether the labels have weights.
    label_columns : tuple of str
        The columns of labels and weights, which are never features.

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
    text_options: TextOptions = TextOptions()  # noqa: RUF009 - frozen
    batch_rows: int = BATCH_ROWS
    hash_bits: int = 18
    n_epochs: int = 1
    weighted: bool = False
    weights: str | None = None
    kind: str = "likelihood"
    prior: tuple[float, ...] | None = None
    rest: bool | str = False
    table: TableOptions = TableOptions()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        for name in ("labels", "classes"):
            value = getattr(self, name)
            is_names = isinstance(value, tuple | list) and all(isinstance(item, str) for item in value)
            if not is_names and (name == "labels" or value is not None):
                raise InputTypeError(f"`{name}` must be a tuple of names; got {value!r}.")
        if self.weights is not None and not isinstance(self.weights, str):
            raise InputTypeError(f"`weights` must be the name of a column, or None; got {self.weights!r}.")
        check_bool("weighted", self.weighted)
        for name, kind in (("overrides", Overrides), ("text_options", TextOptions), ("table", TableOptions)):
            check_instance(name, getattr(self, name), kind)
        check_instance("dialect", self.table.dialect, Dialect)
        check_instance("cell_format", self.table.cell_format, CellFormat)
        check_bool("strict", self.table.strict)
        # Raises if one of the options of the labels is invalid.
        LabelColumns(self.labels, label_format(self), self.weights, self.kind, self.prior)
        if (self.kind != "likelihood" or self.rest) and not self.has_weights:
            raise InputError("`kind` and `rest` apply to weights only. Add `weighted=True`.")
        if self.prior is not None:
            if self.classes is None:
                raise InputError("`prior` requires `classes`, which give the order of its numbers.")
            prior = as_float_array(self.prior, "prior")
            if prior.ndim != 1:
                raise InputError(f"`prior` must have one number for each class; got {self.prior!r}.")
            object.__setattr__(self, "prior", tuple(prior.tolist()))
        for name, max_value in (("batch_rows", 2**30), ("hash_bits", MAX_INDEX_BITS), ("n_epochs", 2**30)):
            check_positive(name, getattr(self, name), integer=True, max_value=max_value)
            object.__setattr__(self, name, int(getattr(self, name)))  # the powers of NumPy's small integers overflow

    @property
    def has_weights(self) -> bool:
        """Whether the labels have weights."""
        return self.weighted or self.weights is not None

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of labels and weights, which are never features."""
        return self.labels if self.weights is None else (*self.labels, self.weights)


def label_format(options: StreamOptions, classes: Sequence[str] | None = None) -> LabelFormat:
    """Return the form of the labels."""
    cells = options.table.cell_format
    return LabelFormat(options.separator, classes, options.weighted, options.rest, cells.folds_labels, cells.missing)


def batch_spec(options: StreamOptions, features: Sequence[Column] | None) -> BatchSpec:
    """Return the columns to read: the labels and the features, which are all other columns by default."""
    return BatchSpec(
        options.label_columns,
        None if features is None else tuple(features),
        {*options.overrides.texts, *options.overrides.categories} - set(options.label_columns),
        separator=options.separator,
        n_columns=2**options.hash_bits,
        dialect=options.table.dialect,
        cell_format=options.table.cell_format,
    )


def check_arguments(source: Source, estimator: Any, options: StreamOptions) -> None:
    """Raise unless the estimator is online, and the options are valid for the source."""
    check_online(estimator)
    if options.n_epochs > 1 and not source.can_be_read_again:
        raise InputError("standard input can be read only once. Use a file for several epochs.")
    if options.kind == "posterior" and options.prior is None and not source.can_be_read_again:
        raise InputError(
            "posteriors are divided by their mean over all rows, but standard input can be read only once. Use a file, "
            "or divide the weights by the class frequencies and use --kind likelihood."
        )
    is_svmlight = source.format == "svmlight"
    has_columns = options.labels or options.overrides != Overrides() or options.text_options != TextOptions()
    if is_svmlight and (has_columns or options.has_weights):
        raise InputError(
            "svmlight files have no weights of labels and no named columns: each line begins with its labels. Omit "
            "--labels and the options for weights, columns and words, or use another format."
        )
    if not is_svmlight and not options.labels:
        raise InputError("--labels must name the label column; got none. Add --labels COLUMN.")
