"""Probabilities of the labels, and the errors of each annotator, from the answers alone."""

import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.crowd.agreement import check_coverage
from oneof.crowd.answers import Answers
from oneof.crowd.arguments import as_answers, check_answers, read_gold
from oneof.errors import InputError
from oneof.likelihoods import entropy
from oneof.solvers.annotators import (
    AnnotatorSolution,
    AnswerColumns,
    SourceAccuracies,
    SourceModel,
    answer_information,
    estimate_accuracies,
    find_copies,
    group_copies,
    held_out_log_likelihoods,
    solve_annotators,
    vote_shares,
)
from oneof.solvers.annotators.copies import CopiedPairs, count_shared_answers, group_weights, groups_of_pairs
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_bool, check_choice, check_memory, check_positive

MAX_SELECTION_ANSWERS = 100_000
"""Number of answers, about evenly spaced rows, by which the model is selected."""
MIN_WEIGHT = float(np.finfo(np.float64).tiny)
MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES = 1000, 20_000_000
"""Limits of the rows, and of the rows times annotators, among which questions are selected."""


class CopiedPair(NamedTuple):
    """Two annotators who agree far more often than the model expects.

    Attributes
    ----------
    annotators : tuple of two names
    n_shared : int
        Number of rows that both answered.
    agreement : float
        The fraction of these rows with equal answers.
    expected_agreement : float
        The fraction that the model expects, given the answers of the others.
    copied : float
        Estimated fraction of the answers of one that are copies of the other, from 0.5 to 1.
    z_score : float
        The excess in standard errors.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [[k % 2, (k // 2) % 2, (k * 7 // 4) % 2, (k * 7 // 4) % 2, (k // 3) % 2] for k in range(60)]
    >>> [pair.annotators for pair in AnnotatorModel().fit(table).copied_pairs_]
    [(2, 3)]
    """

    annotators: tuple[Any, Any]
    n_shared: int
    agreement: float
    expected_agreement: float
    copied: float
    z_score: float


class DisputedRows(NamedTuple):
    """The rows whose labels are the least certain, of those with several answers.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Names of the rows.
    labels, runner_up : ndarray of shape (n,)
        The most probable and the second most probable class.
    entropy : ndarray of shape (n,)
        Entropy of the posterior in nats, in decreasing order.
    disagreement : ndarray of shape (n,)
        Fraction of pairs of answers to the row that have no class in common.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", None], ["b", "b", "b"]]
    >>> AnnotatorModel().fit(table).disputed_rows(1).rows.tolist()
    [2]
    """

    rows: Labels
    labels: Labels
    runner_up: Labels
    entropy: Floats
    disagreement: Floats


class Questions(NamedTuple):
    """Questions to ask next, in decreasing order of their expected information.

    Attributes
    ----------
    rows, annotators : ndarray of shape (n,)
        Names of the row and of the annotator of each question.
    information : ndarray of shape (n,)
        Expected reduction of the entropy of the row's label, in nats.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", None], ["b", "b", "b"]]
    >>> questions = AnnotatorModel().fit(table).next_questions()
    >>> questions.rows.tolist(), questions.annotators.tolist()
    ([2], [2])
    """

    rows: Labels
    annotators: Labels
    information: Floats


class AnnotatorModel(BaseEstimator):
    """Labels with probabilities, and the accuracy and confusion of each annotator, by EM.

    An answer is a label, a set of labels ("finch or wren"), or nothing. Given the true class k of the row, annotator j
    answers with the label a with probability theta_jka, a confusion matrix. For sets, and for labels with
    ``model="one_coin"``, the annotator has one accuracy r_j: the answer contains the true class with probability r_j,
    and all sets of its size that contain it, or do not, have equal probability. Annotators are independent given the
    true class. The confusion matrices have a Dirichlet prior at the matrix of all annotators together, and the
    accuracies a Beta prior; so an annotator with few answers is like the others.

    Parameters
    ----------
    model : {"auto", "confusion", "one_coin"}, default="auto"
        "confusion": label answers have a confusion matrix for each annotator (Dawid & Skene 1979). "one_coin": they
        have one accuracy, as sets do. "auto" selects by the likelihood of held-out answers.
    class_prior : {"auto", "uniform", "fitted"} or array-like of shape (n_classes,), default="auto"
        Class frequencies: equal, those of the labels, or given. "auto" selects the first or the second by the
        likelihood of held-out answers. Fitted frequencies are less accurate for balanced classes.
    strength : "auto" or float, default="auto"
        Strength of the priors of the annotators: the number of answers that they count for. 0 is no prior. "auto" is
        the most likely strength.
    merge_copies : bool, default=True
        Count annotators that are copies of one another as one: the weights of their answers sum to that of one.
    classes : array-like of shape (n_classes,), optional
        The classes; by default those of the answers.
    coverage : float, default=0.9
        Probability of ``accuracy_interval_``, above 0 and below 1.
    max_iter : int, default=500
        Maximum number of EM iterations; if they are not sufficient, a ConvergenceWarning is issued.
    tol : float, default=1e-4
        EM ends when the labels change by at most this on average over the rows, in total variation; above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    annotators_ : ndarray of shape (n_annotators,)
        Names of the annotators.
    rows_ : ndarray of shape (n_rows,)
        Names of the rows.
    candidates_ : CandidateSets of shape (n_rows, n_classes)
        The likelihood of the answers to each row, as weights for any estimator. It does not contain the prior. Rows
        without answers are unlabeled; rows with known labels have these.
    posterior_ : ndarray of shape (n_rows, n_classes)
        Probabilities of the classes, with the prior.
    transduction_ : ndarray of shape (n_rows,)
        The most probable class of each row.
    accuracy_ : ndarray of shape (n_annotators,)
        Probability that an answer of the annotator contains the true class.
    accuracy_interval_ : ndarray of shape (n_annotators, 2)
        Lower and upper ends of intervals of the accuracies, of probability `coverage`.
    n_answers_ : ndarray of shape (n_annotators,)
        Number of answers, without those that name all classes.
    class_prior_ : ndarray of shape (n_classes,)
        The class frequencies of the posterior.
    copies_ : list of list
        Groups of names of annotators who are copies of one another.
    copied_pairs_ : list of CopiedPair
        The pairs on which the groups are based, in decreasing order of the z-score.
    no_better_than_chance_ : list
        Names of the annotators whose accuracy interval contains, or is below, the accuracy of the same answers given
        at random.
    model_ : {"confusion", "one_coin"}
        The model of label answers.
    strength_ : float
        Strength of the prior of the confusion matrices, or of the accuracies with one coin.
    n_iter_ : int
        Number of EM iterations.

    Notes
    -----
    Annotators who choose the rows that they answer, as rules do, have one accuracy in any case (`Answers.select_rows`):
    a confusion matrix takes a rule that always votes for one label for an annotator who has no information. Their votes
    do not determine the class frequencies either, which are then uniform by default.

    The model cannot detect errors that most annotators share. Copies are detected if a pair has at least 10 common rows
    and at least half of the answers of one are copied; see `oneof.solvers.annotators.copies`.

    The intervals take into account that the true labels are uncertain (Louis 1982). They do not take into account
    errors of the model, such as difficult rows, on which all annotators are wrong.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28(1).

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> table = [
    ...     ["finch", "finch", "wren"],
    ...     ["wren", ["finch", "wren"], "finch"],
    ...     ["wren", "wren", "wren"],
    ...     ["finch", "finch", None],
    ...     ["finch", "finch", "finch"],
    ...     ["wren", "wren", "finch"],
    ... ]
    >>> model = AnnotatorModel().fit(table)
    >>> model.transduction_.tolist()
    ['finch', 'wren', 'wren', 'finch', 'finch', 'wren']
    >>> model.accuracy_.round(2)
    array([0.89, 0.89, 0.58])
    """

    posterior_: Floats
    _source_model: SourceModel
    _answered: tuple[Ints, Ints]
    _answer_columns: AnswerColumns
    _source_weight: Floats
    _log_likelihood: Floats

    def __init__(
        self,
        model: Literal["auto", "confusion", "one_coin"] = "auto",
        class_prior: Any = "auto",
        *,
        strength: Any = "auto",
        merge_copies: bool = True,
        classes: Any = None,
        coverage: float = 0.9,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:
        self.model = model
        self.class_prior = class_prior
        self.strength = strength
        self.merge_copies = merge_copies
        self.classes = classes
        self.coverage = coverage
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, answers: Any, gold: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        answers : Answers, array-like or DataFrame
            A (rows, annotators) table of labels, sets and missing answers, or a DataFrame of records with the columns
            row, annotator and answer. See `Answers`.
        gold : array-like of length n_rows or mapping, optional
            Known labels, or sets of labels: one for each row, missing if it is not known, or a mapping from names of
            rows to labels.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the answers, `gold` or a parameter are invalid.
        """
        self.__dict__.pop("classes_", None)
        self._check_parameters()
        given = check_answers(as_answers(answers, self.classes))
        evidence = read_gold(gold, given)
        columns = given._columns()
        prior = self._given_prior(given)
        names, prior = self._select(given, columns, prior, evidence)
        uses_confusion = _confusion_columns(given, columns, names)
        solution, pairs, weight = self._solve(columns, uses_confusion, prior, evidence)
        if not solution.converged:
            warnings.warn(
                f"The labels did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.model_, self.n_iter_ = names, solution.n_iter
        self._set_attributes(given, columns, solution, evidence, weight)
        self._set_copies(given, pairs)
        self.classes_ = given.classes
        return self

    def _update(self, answers: Answers, prior: Floats, evidence: Floats | None, *, power: float, max_iter: int) -> None:
        """Fit the annotators from the present labels, with a prior for each row; the copies are those of `fit`.

        The likelihoods of answers get a power.
        """
        source, columns = self._source_model, self._answer_columns
        solution = solve_annotators(
            columns,
            self.posterior_,
            uses_confusion=source.uses_confusion,
            prior=prior,
            evidence=evidence,
            strength=None if isinstance(self.strength, str) else float(self.strength),
            initial_strengths=(source.strength, source.coin_strength),
            source_weight=power * self._source_weight,
            max_iter=max_iter,
            tol=float(self.tol),
        )
        self._set_attributes(answers, columns, solution, evidence, self._source_weight)
        self._log_likelihood = self._log_likelihood / power

    @property
    def confusion_(self) -> Floats:
        """Confusion matrices, (n_annotators, n_classes, n_classes): the probability of [annotator, true class, answer].

        An annotator with one coin has the accuracy on the diagonal, and equal probabilities elsewhere.
        """
        check_is_fitted(self)
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(8.0 * J * K * K, "The confusion matrices of all annotators", 'use model="one_coin"')
        return self._source_model.confusion(self._answer_columns)

    def disputed_rows(self, n_rows: int = 10) -> DisputedRows:
        """Return the rows with at least two answers whose labels are the least certain.

        Parameters
        ----------
        n_rows : int, default=10
            Maximum number of rows.

        Returns
        -------
        DisputedRows

        Raises
        ------
        InputError
            If `n_rows` is not an integer above 0.
        NotFittedError
            If the model is not fitted.
        """
        check_is_fitted(self)
        check_positive("n_rows", n_rows, integer=True)
        columns = self._answer_columns
        uncertainty = np.asarray(entropy(self.posterior_))
        several = np.bincount(columns.row, minlength=columns.n_rows) >= 2
        order = np.argsort(np.where(several, -uncertainty, np.inf), kind="stable")[: min(int(n_rows), several.sum())]
        ranked = np.argsort(-self.posterior_[order], axis=1, kind="stable")
        disagreement = np.array([_disagreement(columns, i) for i in order])
        return DisputedRows(
            self.rows_[order],
            self.classes_[ranked[:, 0]],
            self.classes_[ranked[:, 1]],
            uncertainty[order],
            disagreement,
        )

    def next_questions(self, n_questions: int = 10, *, annotators: Any = None) -> Questions:
        """Return which annotator to ask next about which row: the answers with the most expected information.

        Parameters
        ----------
        n_questions : int, default=10
            Maximum number of questions, at most one for each row.
        annotators : array-like, optional
            Names of the annotators who can be asked; by default all.

        Returns
        -------
        Questions
            An annotator who has answered a row is not asked about it again.

        Raises
        ------
        InputError
            If `n_questions` is not an integer above 0, or an annotator is unknown.
        NotFittedError
            If the model is not fitted.

        Notes
        -----
        The information is that of a label answer. Only the 1,000 rows with the largest entropy, or as many as there are
        questions, are considered.
        """
        check_is_fitted(self)
        check_positive("n_questions", n_questions, integer=True)
        columns, J = self._answer_columns, len(self.annotators_)
        asked = np.arange(J) if annotators is None else self._positions(annotators)
        confusion = self.confusion_[asked]
        uncertainty = np.asarray(entropy(self.posterior_))
        limit = max(int(n_questions), min(MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES // max(len(asked), 1)))
        rows = np.argsort(-uncertainty, kind="stable")[:limit]
        information = answer_information(self.posterior_[rows], confusion)
        position = np.full(columns.n_rows, -1)
        position[rows] = np.arange(len(rows))
        column = np.full(J, -1)
        column[asked] = np.arange(len(asked))
        row, source = position[self._answered[0]], column[self._answered[1]]
        known = (row >= 0) & (source >= 0)
        information[row[known], source[known]] = -1.0
        best = information.argmax(axis=1)
        gain = information[np.arange(len(rows)), best]
        order = np.argsort(-gain, kind="stable")[: int(n_questions)]
        order = order[gain[order] >= 0]
        return Questions(self.rows_[rows[order]], self.annotators_[asked[best[order]]], gain[order])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    # -- steps of fit ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("model", self.model, ("auto", "confusion", "one_coin"))
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("auto", "uniform", "fitted"), ", or an array")
        if not (isinstance(self.strength, str) and self.strength == "auto"):
            check_positive("strength", self.strength, allow_zero=True, alternatives=', or "auto"')
        check_bool("merge_copies", self.merge_copies)
        check_coverage(self.coverage)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)

    def _given_prior(self, answers: Answers) -> Any:
        """Return the class prior, or the names of those to select from."""
        K = len(answers.classes)
        if isinstance(self.class_prior, str):
            uniform = np.full(K, 1.0 / K)
            automatic = [uniform] if answers.select_rows else [uniform, None]
            return {"auto": automatic, "uniform": [uniform], "fitted": [None]}[self.class_prior]
        prior = as_float_array(self.class_prior, "class_prior")
        if prior.shape != (K,) or not np.isfinite(prior).all() or not (prior > 0).all():
            raise InputError(
                f"`class_prior` must have {K} numbers above 0, one for each class; got {self.class_prior!r}."
            )
        return [prior / prior.sum()]

    def _select(
        self, answers: Answers, columns: AnswerColumns, priors: Any, evidence: Any
    ) -> tuple[str, Floats | None]:
        """Return the model and the prior with the largest likelihood of held-out answers."""
        names = ["confusion", "one_coin"] if self.model == "auto" else [self.model]
        if not _confusion_columns(answers, columns, "confusion").any():
            names = ["one_coin"]
        if len(names) * len(priors) == 1 or len(columns.row) < 2:
            return names[0], priors[0]
        if len(columns.row) > MAX_SELECTION_ANSWERS:
            step = -(-len(columns.row) // MAX_SELECTION_ANSWERS)
            part = slice(0, len(answers), step)
            answers, evidence = answers[part], None if evidence is None else evidence[part]
            columns = answers._columns()

        def score(name: str, prior: Floats | None) -> float:
            uses_confusion = _confusion_columns(answers, columns, name)
            return float(
                held_out_log_likelihoods(
                    columns, uses_confusion, prior=prior, evidence=evidence, tol=max(10 * self.tol, 1e-3)
                ).mean()
            )

        scores = [score(names[0], prior) for prior in priors]
        prior = priors[int(np.argmax(scores))]
        if len(names) == 2 and score("one_coin", prior) > max(scores):
            return "one_coin", prior
        return names[0], prior

    def _solve(
        self, columns: AnswerColumns, uses_confusion: Mask, prior: Floats | None, evidence: Floats | None
    ) -> tuple[AnnotatorSolution, CopiedPairs | None, Floats | None]:
        """Fit the model, with copies counted as one."""
        start = vote_shares(columns, evidence)

        def solve(weight: Floats | None) -> AnnotatorSolution:
            return solve_annotators(
                columns, start, uses_confusion=uses_confusion, prior=prior, evidence=evidence,
                strength=None if isinstance(self.strength, str) else float(self.strength),
                source_weight=weight, max_iter=int(self.max_iter), tol=float(self.tol),
            )  # fmt: skip

        shared = count_shared_answers(columns)
        weight = group_weights(group_copies(shared, columns.n_sources))
        solution = solve(weight)
        with np.errstate(divide="ignore"):
            joint = solution.log_likelihood + np.log(solution.prior)
            joint = joint if evidence is None else joint + np.log(evidence)
        pairs = find_copies(columns, shared, joint, solution.model.log_likelihoods(columns), weight)
        copies = group_weights(groups_of_pairs(pairs, columns.n_sources))
        if not self.merge_copies:
            copies[:] = 1.0
        if not np.array_equal(copies, weight):
            solution = solve(None if (copies == 1).all() else copies)
        return solution, pairs, copies

    def _set_attributes(
        self, answers: Answers, columns: AnswerColumns, solution: AnnotatorSolution, evidence: Any, weight: Any
    ) -> None:
        self._log_likelihood = solution.log_likelihood
        likelihood = np.exp(solution.log_likelihood - solution.log_likelihood.max(axis=1, keepdims=True))
        likelihood = np.maximum(likelihood, MIN_WEIGHT)
        if evidence is not None:
            likelihood *= evidence
        self.candidates_ = CandidateSets._from_likelihoods(likelihood, answers.classes)
        self.posterior_ = solution.posterior
        self.transduction_ = answers.classes[solution.posterior.argmax(axis=1)]
        self.rows_, self.annotators_ = answers.rows, answers.annotators
        self._answered = (answers._row, answers._source)
        self.class_prior_ = np.atleast_2d(solution.prior).mean(axis=0)
        self.class_prior_ /= self.class_prior_.sum()
        source = solution.model
        self.strength_ = source.strength if source.uses_confusion.any() else source.coin_strength
        self._source_model, self._answer_columns, self._source_weight = solution.model, columns, weight
        estimates = estimate_accuracies(columns, solution.posterior, coverage=float(self.coverage))
        self.accuracy_, self.accuracy_interval_ = estimates.accuracy, estimates.interval
        self.n_answers_ = estimates.n_answers.astype(np.int64)
        chance = _chance_accuracies(columns, solution.posterior)
        self.no_better_than_chance_ = answers.annotators[_is_below(estimates, chance)].tolist()

    def _set_copies(self, answers: Answers, pairs: CopiedPairs | None) -> None:
        self.copied_pairs_, self.copies_ = [], []
        if pairs is None:
            return
        names = answers.annotators.tolist()
        for j, h, n, observed, expected, copied, z in zip(*vars(pairs).values()):
            values = (int(n), float(observed), float(expected), float(min(copied, 1.0)), float(z))
            self.copied_pairs_.append(CopiedPair((names[j], names[h]), *values))
        group = groups_of_pairs(pairs, len(names))
        for g in np.flatnonzero(np.bincount(group) > 1):
            self.copies_.append([names[j] for j in np.flatnonzero(group == g)])

    def _positions(self, annotators: Any) -> Ints:
        position = {name: j for j, name in enumerate(self.annotators_.tolist())}
        listed = np.asarray(annotators).ravel().tolist()
        unknown = [name for name in listed if name not in position]
        if unknown or not listed:
            raise InputError(
                f"`annotators` must be names of annotators; got {unknown[0]!r}." if unknown
                else "`annotators` must contain at least one name; got none."
            )  # fmt: skip
        return np.array([position[name] for name in listed], dtype=np.int64)


def _confusion_columns(answers: Answers, columns: AnswerColumns, model: str) -> Mask:
    """Return the columns that have a confusion matrix."""
    if model == "one_coin" or answers.select_rows:
        return np.zeros(len(columns.source), dtype=bool)
    return columns.is_label


def _chance_accuracies(columns: AnswerColumns, posterior: Floats) -> Floats:
    """Return the accuracies of the sources if they gave their answers to rows at random, (J,)."""
    frequency = posterior.mean(axis=0) if len(posterior) else np.zeros(columns.n_classes)
    named = (columns.sets @ frequency)[columns.column]
    totals = np.bincount(columns.answer_source, minlength=columns.n_sources)
    return np.bincount(columns.answer_source, weights=named, minlength=columns.n_sources) / np.maximum(totals, 1)


def _is_below(estimates: SourceAccuracies, chance: Floats) -> Mask:
    return np.asarray((estimates.n_answers > 0) & (estimates.interval[:, 0] <= chance))


def _disagreement(columns: AnswerColumns, row: int) -> float:
    """Return the fraction of pairs of answers to a row that have no class in common."""
    sets = columns.sets[columns.column[columns.row == row]].astype(np.int64)
    disjoint = (sets @ sets.T) == 0
    return float(disjoint.sum() / (len(sets) * (len(sets) - 1)))
