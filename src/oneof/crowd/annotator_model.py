"""Probabilities of the labels, and the errors of each annotator, from the answers alone."""

import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.crowd.arguments import as_answers, check_answers, read_gold
from oneof.crowd.results import (
    MIN_ANSWERS,
    MIN_SOURCES,
    N_CHECKED,
    ClassAccuracies,
    CopiedPair,
    DisputedRows,
    Questions,
    describe_annotators,
    name_copies,
    positions_of,
    rank_questions,
    select_disputed,
)
from oneof.errors import InputError
from oneof.messages import warn
from oneof.solvers.annotators import (
    AnnotatorSolution,
    AnswerColumns,
    SourceModel,
    chance_accuracies,
    equal_accuracy_p_values,
    estimate_accuracies,
    estimate_class_accuracies,
    find_copies,
    identified_sources,
    solve_annotators,
    vote_shares,
)
from oneof.typing import Floats, Ints, Labels
from oneof.validation import (
    as_float_array,
    check_choice,
    check_coverage,
    check_memory,
    check_positive,
)

MIN_WEIGHT = float(np.finfo(np.float64).tiny)
TEST_LEVEL = 0.05
"""Level of the test that accuracies are equal in all classes, for all annotators and classes together."""


class AnnotatorModel(BaseEstimator):
    """Labels with probabilities, and the accuracy and confusion of each annotator, by EM.

    An answer is a label, a set of labels ("finch or wren"), or nothing. Each form of answers has one model:

    * *Labels*: given the true class k of the row, annotator j answers a with a probability theta_jka, a confusion
      matrix (Dawid & Skene 1979). It has a Dirichlet prior at the accuracy of the annotator and the errors of all
      annotators together, so an annotator with few answers is like the others.
    * *Sets*: the annotator has one accuracy; all sets of one size that contain the true class, or do not, have equal
      probability.
    * *Rules*: sources that vote for one class, in rows that they choose, such as labeling functions. Their votes have
      one rate in the rows of this class and another rate in other rows, with a prior by which all votes count the same.

    Parameters
    ----------
    model : {"confusion", "one_coin"}, default="confusion"
        The model of labels: confusion matrices, or one accuracy for each annotator, as for sets.
    class_prior : {"auto", "uniform", "fitted"} or array-like of shape (n_classes,), default="auto"
        Class frequencies: equal, those of the labels, or given. "auto" fits them, with a Dirichlet prior at those of
        the answers that counts for ten rows of each class. Votes of rules alone do not determine them: they are equal.
    strength : float, default=4.0
        Number of answers that the priors of the annotators count for, in all and in the rows of each class. 0 is no
        prior: the model of Dawid & Skene. Rules have a prior of their own.
    classes : array-like of shape (n_classes,), optional
        The classes; by default those of the answers.
    coverage : float, default=0.9
        Probability of ``accuracy_interval_``, above 0 and below 1.
    max_iter : int, default=500
        Maximum number of EM iterations; if they are not sufficient, a ConvergenceWarning is issued.
    tol : float, default=1e-4
        EM ends when the labels change by at most this on average over the rows with answers, in total
        variation; above 0.

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
    confusion_ : ndarray of shape (n_annotators, n_classes, n_classes)
        Probability of each answer (last axis) for each true class, by annotator; rows sum to 1. An annotator with one
        coin, and a rule, have the accuracy on the diagonal, and equal probabilities elsewhere.
    accuracy_ : ndarray of shape (n_annotators,)
        Probability that an answer of the annotator contains the true class. NaN if the answers do not identify it;
        `notes_` has the reason. For rules it is the precision of votes on rows with known labels (`gold`).
    accuracy_interval_ : ndarray of shape (n_annotators, 2)
        Lower and upper ends of intervals of the accuracies, of probability `coverage`; NaN like the accuracies.
    n_answers_ : ndarray of shape (n_annotators,)
        Number of answers, without those that name all classes.
    are_rules_ : bool
        Whether the sources are rules; see `Answers`.
    class_prior_ : ndarray of shape (n_classes,)
        The class frequencies of the posterior.
    copied_pairs_ : list of CopiedPair
        Pairs of annotators who agree far more often than the model expects, in decreasing order of the z-score. Their
        answers count as independent ones. Rules have none, and fewer than eight annotators without 50 known labels.
    no_better_than_chance_ : list
        Names of the annotators whose accuracy interval contains, or is below, the accuracy of the same answers given
        at random.
    few_answers_ : list
        Names of the annotators with fewer than 10 answers, whose accuracies are uncertain.
    notes_ : list of str
        Sentences on rules, accuracies that are not identified, careless annotators, those with few answers, accuracies
        that differ between classes, and copies.
    n_iter_ : int
        Number of EM iterations.

    See Also
    --------
    oneof.crowd.CrowdClassifier : Fits a classifier as well. Its `label_distributions_` correspond to `posterior_`.

    Notes
    -----
    All priors have a fixed strength, so the estimates of labels and sets converge to those of the model as rows grow.
    The precisions of rules are not estimated from the votes alone, which do not determine the class frequencies. They
    need ten votes on rows with known labels.

    The answers identify accuracies only by comparison. Without ten answers to rows with known labels, an accuracy is
    NaN in three cases:

    * fewer than ten answers of the annotator, and not all, are to rows with another answer;
    * the annotators are only two, or their pairs with common rows have no odd cycle;
    * one class explains all answers, although they name several.

    The model cannot detect errors that most annotators share, such as those on difficult rows. Two annotators who copy
    one another confirm each other; among fewer than eight annotators, they are not reported without known labels.

    The intervals take into account that the true labels are uncertain (Louis 1982), and not errors of the model.

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
    >>> model = AnnotatorModel().fit(table * 3)
    >>> model.transduction_[:6].tolist()
    ['finch', 'wren', 'wren', 'finch', 'finch', 'wren']
    >>> model.accuracy_.round(1)
    array([1. , 1. , 0.5])
    """

    annotators_: Labels
    classes_: Labels
    rows_: Labels
    posterior_: Floats
    accuracy_: Floats
    accuracy_interval_: Floats
    copied_pairs_: list[CopiedPair]
    n_answers_: Ints
    are_rules_: bool
    _log_likelihood: Floats
    _source_model: SourceModel
    _answer_columns: AnswerColumns
    _contradiction: str = ""
    """Sentence on an annotator about whom the answers and a classifier disagree."""

    def __init__(
        self,
        model: Literal["confusion", "one_coin"] = "confusion",
        class_prior: Any = "auto",
        *,
        strength: float = 4.0,
        classes: Any = None,
        coverage: float = 0.9,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:
        self.model = model
        self.class_prior = class_prior
        self.strength = strength
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
            rows to labels, such as a Series of pandas with the names of some rows.

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
        evidence, columns, self.are_rules_ = read_gold(gold, given), given._columns(), given.are_rules
        solution = self._solve(columns, self._prior(len(given.classes)), evidence, max_iter=int(self.max_iter))
        if not solution.converged:
            warn(
                f"The labels did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        self.n_iter_ = solution.n_iter
        self._read_rules = given.select_rows == "auto" and self.are_rules_
        self.rows_, self.annotators_, self._contradiction = given.rows, given.annotators, ""
        self._answered, self._answer_columns = (given._row, given._source), columns
        self._set_solution(solution, given.classes, evidence)
        self.copied_pairs_ = []
        # Rules vote on the same words. Among few annotators, copies outvote the others, who then seem to be the copies.
        if not self.are_rules_ and (len(given.annotators) >= MIN_SOURCES or self._n_known >= N_CHECKED):
            pairs = find_copies(columns, solution.log_joint, solution.model.log_likelihoods)
            self.copied_pairs_ = name_copies(pairs, given.annotators)
        self.classes_ = given.classes
        return self

    def _updated(self, prior: Floats, evidence: Floats | None, *, power: float, max_iter: int) -> "AnnotatorModel":
        """Return the annotators given present labels, with a prior for each row and a power of the likelihoods."""
        model = copy.copy(self)
        solution = self._solve(self._answer_columns, prior, evidence, self.posterior_, power=power, max_iter=max_iter)
        model._set_solution(solution, self.classes_, evidence)
        model._log_likelihood = model._log_likelihood / power
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    # -- steps of fit ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("model", self.model, ("confusion", "one_coin"))
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("auto", "uniform", "fitted"), ", or an array")
        check_positive("strength", self.strength, allow_zero=True)
        check_coverage(self.coverage)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)

    def _prior(self, n_classes: int) -> Floats | None:
        """Return the class frequencies, None if they are fitted."""
        if isinstance(self.class_prior, str):
            is_uniform = self.class_prior == "uniform" or (self.class_prior == "auto" and self.are_rules_)
            return np.full(n_classes, 1.0 / n_classes) if is_uniform else None
        prior = as_float_array(self.class_prior, "class_prior")
        if prior.shape != (n_classes,) or not np.isfinite(prior).all() or not (prior > 0).all():
            raise InputError(
                f"`class_prior` must have {n_classes} numbers above 0, one for each class; got {self.class_prior!r}."
            )
        return np.asarray(prior / prior.sum())

    def _solve(
        self,
        columns: AnswerColumns,
        prior: Floats | None,
        evidence: Floats | None,
        start: Floats | None = None,
        **options: Any,
    ) -> AnnotatorSolution:
        return solve_annotators(
            columns,
            vote_shares(columns, evidence) if start is None else start,
            uses_confusion=columns.is_label & (self.model != "one_coin" and not self.are_rules_),
            are_rules=self.are_rules_,
            prior=prior,
            evidence=evidence,
            strength=float(self.strength),
            tol=float(self.tol),
            **options,
        )

    def _set_solution(self, solution: AnnotatorSolution, classes: Labels, evidence: Floats | None) -> None:
        """Set the attributes of the labels and the accuracies."""
        columns, posterior = self._answer_columns, solution.posterior
        self._source_model, self._log_likelihood = solution.model, solution.log_likelihood
        likelihood = np.exp(solution.log_likelihood - solution.log_likelihood.max(axis=1, keepdims=True))
        likelihood = np.maximum(likelihood, MIN_WEIGHT) * (1.0 if evidence is None else evidence)
        self.candidates_ = CandidateSets.from_weights(likelihood, classes)
        self.posterior_, self.transduction_ = posterior, classes[posterior.argmax(axis=1)]
        self.class_prior_ = np.atleast_2d(solution.prior).mean(axis=0)
        self.class_prior_ /= self.class_prior_.sum()
        known = np.zeros(len(posterior), dtype=bool) if evidence is None else ~(evidence == 1).all(axis=1)
        counted = None if solution.prior.ndim == 2 else columns.answer_counts(evidence)
        if self.are_rules_:
            counted = known[columns.row].astype(np.float64)
        options = {"coverage": float(self.coverage), "strength": float(self.strength)}
        estimates = estimate_accuracies(columns, posterior, counted=counted, **options)
        self.n_answers_ = estimates.n_answers.astype(np.int64)
        identified = identified_sources(columns, posterior, known)
        if self.are_rules_:
            n_known = np.bincount(columns.answer_source[known[columns.row]], minlength=columns.n_sources)
            identified = n_known >= MIN_ANSWERS
        self._accuracy = estimates.accuracy
        self.accuracy_ = np.where(identified, estimates.accuracy, np.nan)
        self.accuracy_interval_ = np.where(identified[:, None], estimates.interval, np.nan)
        self._n_known = int(known.sum())
        self._chance = chance_accuracies(columns, posterior)

    # -- results --------------------------------------------------------------------------------------------------

    @property
    def no_better_than_chance_(self) -> list[Any]:
        """Names of the annotators whose accuracy interval contains, or is below, that of answers at random."""
        check_is_fitted(self)
        return list(self.annotators_[self.accuracy_interval_[:, 0] <= self._chance].tolist())

    @property
    def few_answers_(self) -> list[Any]:
        """Names of the annotators with fewer than 10 answers."""
        check_is_fitted(self)
        return list(self.annotators_[self.n_answers_ < MIN_ANSWERS].tolist())

    @property
    def confusion_(self) -> Floats:
        """Confusion matrices, (n_annotators, n_classes, n_classes): the probability of [annotator, true class, answer].

        An annotator with one coin, and a rule, have the accuracy on the diagonal, and equal probabilities elsewhere.
        """
        check_is_fitted(self)
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(8.0 * J * K * K, "The confusion matrices of all annotators", 'use model="one_coin"')
        return self._source_model.confusion(self._answer_columns)

    @property
    def notes_(self) -> list[str]:
        """Sentences on the annotators."""
        check_is_fitted(self)
        return describe_annotators(self)

    def class_accuracies(self) -> ClassAccuracies:
        """Return the accuracy of each annotator in the rows of each class, with intervals.

        Returns
        -------
        ClassAccuracies
            NaN for annotators whose accuracy is not identified. For rules, no difference is reported.

        Raises
        ------
        InputError
            If the memory is not sufficient.
        NotFittedError
            If the model is not fitted.

        Notes
        -----
        An annotator with few answers to rows of a class has about the accuracy of the annotator in all classes.
        With one coin, the labels are estimated as if the accuracies were equal, so that large differences are
        underestimated. Differences are tested by Fisher's exact test of each annotator and class, with Bonferroni's
        correction.
        """
        check_is_fitted(self)
        columns, posterior = self._answer_columns, self.posterior_
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(64.0 * J * K, "The accuracies of all annotators in all classes", "use fewer annotators")
        options = {"coverage": float(self.coverage), "strength": float(self.strength)}
        estimates = estimate_class_accuracies(columns, posterior, self._accuracy, **options)
        unknown = np.isnan(self.accuracy_)
        differs = equal_accuracy_p_values(columns, posterior) * (J * K) < TEST_LEVEL
        differs &= ~unknown[:, None] & (not self.are_rules_)
        accuracy = np.where(unknown[:, None], np.nan, estimates.accuracy)
        interval = np.where(unknown[:, None, None], np.nan, estimates.interval)
        values = (accuracy, interval, estimates.n_answers, differs)
        return ClassAccuracies(self.annotators_, self.classes_, *values)

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
        rows, ranked, uncertainty, disagreement = select_disputed(self._answer_columns, self.posterior_, int(n_rows))
        labels, runner_up = self.classes_[ranked[:, 0]], self.classes_[ranked[:, 1]]
        return DisputedRows(self.rows_[rows], labels, runner_up, uncertainty, disagreement)

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
        J = len(self.annotators_)
        asked = np.arange(J) if annotators is None else positions_of(annotators, self.annotators_)
        confusion = self.confusion_[asked]
        rows, asked, gain = rank_questions(self.posterior_, confusion, asked, self._answered, J, int(n_questions))
        return Questions(self.rows_[rows], self.annotators_[asked], gain)
