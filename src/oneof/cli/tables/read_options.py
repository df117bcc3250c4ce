"""Options of commands for reading a table: columns of labels, truth, groups and answers, and their cells."""

from dataclasses import dataclass, replace

from oneof.cli.options import read_names
from oneof.io import Overrides, TableOptions
from oneof.io.answers import ROW, AnswerOptions


@dataclass(frozen=True)
class WeightArguments:
    """Options of weighted labels, as arguments of `oneof.io.read_labels` and of `oneof.stream.StreamOptions`."""

    weighted: bool = False
    weights: str | None = None
    kind: str = "likelihood"
    rest: bool | str = False


@dataclass(frozen=True)
class ReadOptions:
    """Options of `fit` and `compare` for reading a table."""

    labels: tuple[str, ...]
    truth: str | None = None
    groups: str | None = None
    gold: str | None = None
    separator: str | None = None
    classes: tuple[str, ...] | None = None
    overrides: Overrides = Overrides()  # noqa: RUF009 - frozen
    stop_words: str = "none"
    stem: str = "none"
    weights: WeightArguments = WeightArguments()
    answers: AnswerOptions | None = None
    table: TableOptions = TableOptions()  # noqa: RUF009 - frozen
    lists_unreadable: bool = False
    """Whether rows whose labels cannot be read are only listed, by a command that does not use their labels."""

    @property
    def text_columns(self) -> set[str]:
        """Columns read as text: labels, weights, true and checked labels, groups, and names of rows in answers."""
        names = [*self.weight_columns, self.truth, self.gold, self.groups]
        names += [] if self.answers is None else [self.answers.row or ROW, *(self.answers.candidate_columns or ())]
        return {*self.labels, *(name for name in names if name is not None)}

    @property
    def weight_columns(self) -> tuple[str, ...]:
        """Columns of weights: one, or one for each of several label columns."""
        weights = self.weights.weights
        if weights is None:
            return ()
        return read_names("--weights", [weights]) if len(self.labels) > 1 else (weights,)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Columns of labels of the table; with answers, that of the checked labels."""
        if self.answers is not None and self.answers.candidate_columns is not None:
            return self.answers.candidate_columns[:1]
        return self.labels if self.answers is None or self.gold is None else (self.gold,)

    def with_candidate_columns(self) -> "ReadOptions":
        """Return the options of a table that has the candidates and confidences of a file of answers as columns."""
        if self.answers is None or self.answers.candidate_columns is None:
            return self
        label, weight = self.answers.candidate_columns
        row = () if self.answers.row is None else (self.answers.row,)
        return replace(
            self,
            labels=(label,),
            weights=replace(self.weights, weighted=True, weights=weight),
            answers=None,
            overrides=replace(self.overrides, drop=(*self.overrides.drop, *row)),
        )
