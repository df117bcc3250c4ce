"""Probabilities of the labels, and the errors of each annotator, from the answers alone."""

import copy
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.crowd.answers import annotator_vector, as_answers, positions_in, read_gold
from oneof.errors import InputError, LabelError
from oneof.likelihoods import entropy
from oneof.messages import enumerate_items, warn
from oneof.solvers.annotators import accuracy as solvers
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, solve_annotators
from oneof.typing import Floats, Labels, Mask
from oneof.validation import as_float_array, check_choice, check_coverage, check_memory, check_positive

MIN_WEIGHT = float(np.finfo(np.float64).tiny)
TEST_LEVEL = 0.05
"""Level of the test that accuracies are equal in all classes, for all annotators and classes together."""
MIN_ANSWERS = 10
"""Number of answers below which a note says that the accuracy is uncertain: its standard error is then above .1."""
MIN_SOURCES = 8
"""Number of annotators from which copies are reported without known labels. In simulations of 20 crowds with a copy,
honest pairs were reported in 8 to 17 with five annotators, in 3 to 11 with six, and in none with eight."""
N_CHECKED = 50
"""Number of known labels that notes ask for: the standard error of an accuracy is then at most .07."""
MAX_NAMED = 5
RULES = (
    "The sources are read as rules, which choose their rows, since some give one label only. If they were asked about "
    "given rows, "
)
"""The beginning of a note, which is followed by the remedy: an argument in Python, or an option."""
RULES_NOTE = f"{RULES}pass Answers.from_table(..., select_rows=False). If people are among them, leave out the rules."
MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES = 1000, 20_000_000
"""Limits of the rows, and of the rows times annotators, among which questions are selected."""


class ClassAccuracies(NamedTuple):
    """The accuracy of each annotator in the rows of each class.

    Attributes
    ----------
    annotators : ndarray of shape (n_annotators,)
    classes : ndarray of shape (n_classes,)
    accuracy : ndarray of shape (n_annotators, n_classes)
        Probability that an answer to a row of the class contains the class.
    interval : ndarray of shape (n_annotators, n_classes, 2)
        Lower and upper ends of intervals of the accuracies, of the probability `coverage` of the model.
    n_answers : ndarray of shape (n_annotators, n_classes)
        Expected number of answers to rows of the class.
    differs : ndarray of shape (n_annotators, n_classes)
        True if the accuracy differs from that in the other classes beyond chance. If all annotators have one accuracy,
        all values are False with probability 0.95.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.crowd import AnnotatorModel
    >>> labels = np.arange(90) % 3
    >>> table = np.stack([labels, labels, labels, np.where(labels == 2, np.arange(90) % 2, labels)], axis=1)
    >>> accuracies = AnnotatorModel().fit(table).class_accuracies()
    >>> accuracies.accuracy[3].round(1).tolist()
    [1.0, 1.0, 0.1]
    >>> accuracies.differs.any(axis=1).tolist()
    [False, False, False, True]
    """

    annotators: Labels
    classes: Labels
    accuracy: Floats
    interval: Floats
    n_answers: Floats
    differs: Mask


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
        without answers, or with votes against few classes alone, are unlabeled; rows with known labels have these.
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

    accuracy_: Floats
    accuracy_interval_: Floats
    copied_pairs_: list[solvers.CopiedPair]
    _alone: "AnnotatorModel | None" = None
    """The model of the answers alone, if the labels have the predictions of a classifier as their prior."""

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
        given = as_answers(answers, self.classes)
        if len(given.classes) < 2:
            raise LabelError(
                f"the answers must contain at least two classes; got {given.classes.tolist()!r}. Name all classes "
                "(`classes` in Python, --classes on the command line)."
            )
        if not given.n_answers:
            raise InputError("`answers` must contain at least one answer.")
        self._answers, self._columns = given, given._columns(read_gold(gold, given))
        self.rows_, self.annotators_, self.are_rules_ = given.rows, given.annotators, given.are_rules
        solution = self._solve(prior=self._prior(len(given.classes)), max_iter=int(self.max_iter))
        if not solution.converged:
            warn(
                f"The labels did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        self.n_iter_, self._alone, self.copied_pairs_ = solution.n_iter, None, []
        self._set_solution(solution)
        # Rules vote on the same words. Among few annotators, copies outvote the others, who then seem to be the copies.
        n_known = np.count_nonzero(self._columns.is_known)
        if not self.are_rules_ and (len(given.annotators) >= MIN_SOURCES or n_known >= N_CHECKED):
            pairs = solvers.find_copies(self._columns, solution.log_joint, solution.model.log_likelihoods)
            names = given.annotators.tolist()
            self.copied_pairs_ = [pair._replace(annotators=tuple(names[j] for j in pair.annotators)) for pair in pairs]
        self.classes_ = given.classes
        return self

    def _updated(self, prior: Floats, *, power: float, max_iter: int) -> "AnnotatorModel":
        """Return the annotators given present labels, with a prior for each row and a power of the likelihoods."""
        model = copy.copy(self)
        model._alone = self._alone or self
        model._set_solution(self._solve(self.posterior_, prior=prior, power=power, max_iter=max_iter))
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

    def _solve(self, start: Floats | None = None, **options: Any) -> AnnotatorSolution:
        return solve_annotators(
            self._columns,
            start,
            uses_confusion=self._columns.is_label & (self.model != "one_coin" and not self.are_rules_),
            are_rules=self.are_rules_,
            strength=float(self.strength),
            tol=float(self.tol),
            **options,
        )

    def _set_solution(self, solution: AnnotatorSolution) -> None:
        """Set the attributes of the labels and the accuracies."""
        columns, posterior, classes = self._columns, solution.posterior, self._answers.classes
        self._source_model, self._log_likelihood = solution.model, solution.log_likelihood
        likelihood = np.exp(solution.log_likelihood - solution.log_likelihood.max(axis=1, keepdims=True))
        self.candidates_ = CandidateSets.from_weights(np.maximum(likelihood, MIN_WEIGHT) * columns.evidence, classes)
        self.posterior_, self.transduction_ = posterior, classes[posterior.argmax(axis=1)]
        self.class_prior_ = np.atleast_2d(solution.prior).mean(axis=0)
        self.class_prior_ /= self.class_prior_.sum()
        counted = None if solution.prior.ndim == 2 else columns.answer_counts()
        if self.are_rules_:
            counted = columns.is_known[columns.row].astype(np.float64)
        estimates = solvers.estimate_accuracies(columns, posterior, counted=counted, **self._estimation())
        self.n_answers_ = estimates.n_answers.astype(np.int64)
        identified = solvers.identified_sources(columns, posterior, are_rules=self.are_rules_)
        self._accuracy = estimates.accuracy
        self.accuracy_ = np.where(identified, estimates.accuracy, np.nan)
        self.accuracy_interval_ = np.where(identified[:, None], estimates.interval, np.nan)

    def _estimation(self) -> dict[str, float]:
        return {"coverage": float(self.coverage), "strength": float(self.strength)}

    # -- results --------------------------------------------------------------------------------------------------

    @property
    def no_better_than_chance_(self) -> list[Any]:
        """Names of the annotators whose accuracy interval contains, or is below, that of answers at random."""
        check_is_fitted(self)
        chance = solvers.chance_accuracies(self._columns, self.posterior_)
        return list(self.annotators_[self.accuracy_interval_[:, 0] <= chance].tolist())

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
        return self._source_model.confusion(self._columns)

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
        columns, posterior = self._columns, self.posterior_
        J, K = len(self.annotators_), len(self.classes_)
        check_memory(64.0 * J * K, "The accuracies of all annotators in all classes", "use fewer annotators")
        estimates = solvers.estimate_class_accuracies(columns, posterior, self._accuracy, **self._estimation())
        unknown = np.isnan(self.accuracy_)
        differs = solvers.equal_accuracy_p_values(columns, posterior) * (J * K) < TEST_LEVEL
        differs &= ~unknown[:, None] & (not self.are_rules_)
        estimates.accuracy[unknown], estimates.interval[unknown] = np.nan, np.nan
        return ClassAccuracies(self.annotators_, self.classes_, *estimates, differs)

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
        columns, uncertainty = self._columns, np.asarray(entropy(self.posterior_))
        several = (columns.n_answers >= 2) & ~self.candidates_.is_unlabeled
        rows = np.argsort(np.where(several, -uncertainty, np.inf), kind="stable")[: min(n_rows, several.sum())]
        labels = self.classes_[np.argsort(-self.posterior_[rows], axis=1, kind="stable")]
        disagreement = np.empty(len(rows))
        for n, i in enumerate(rows):
            sets = columns.sets[columns.column[columns.row == i]].astype(np.int64)
            disagreement[n] = (sets @ sets.T == 0).sum() / (len(sets) * (len(sets) - 1))
        return DisputedRows(self.rows_[rows], labels[:, 0], labels[:, 1], uncertainty[rows], disagreement)

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
        asked = np.arange(len(self.annotators_))
        if annotators is not None:
            listed = annotator_vector([annotators] if isinstance(annotators, str) else annotators).tolist()
            asked = positions_in(self.annotators_, listed, "annotators")
            if not listed or (asked < 0).any():
                wrong = repr(listed[int((asked < 0).argmax())]) if listed else "none"
                raise InputError(f"`annotators` must be names of annotators; got {wrong}.")
        limit = max(n_questions, min(MAX_QUESTION_ROWS, MAX_QUESTION_ENTRIES // len(asked)))
        rows = np.argsort(-np.asarray(entropy(self.posterior_)), kind="stable")[:limit]
        information = solvers.answer_information(self.posterior_[rows], self.confusion_[asked])
        codes = self._answers.to_codes()
        answered = sp.csr_array((np.ones(len(codes.row), dtype=bool), (codes.row, codes.annotator)), shape=codes.shape)
        information[answered[rows][:, asked].toarray()] = -1.0
        best = information.argmax(axis=1)
        gain = information[np.arange(len(rows)), best]
        order = np.argsort(-gain, kind="stable")[:n_questions]
        order = order[gain[order] >= 0]
        return Questions(self.rows_[rows[order]], self.annotators_[asked[best[order]]], gain[order])


# -- notes ------------------------------------------------------------------------------------------------------------


def describe_annotators(model: AnnotatorModel) -> list[str]:
    """Return sentences on rules, unknown accuracies, careless annotators, few answers, differences and copies."""
    names, n_answers = model.annotators_, model.n_answers_
    unknown = np.isnan(model.accuracy_) & (n_answers > 0)
    is_few = n_answers < MIN_ANSWERS
    few = names[is_few & ~unknown & (n_answers > 0)].tolist()
    careless = [name for name in model.no_better_than_chance_ if name not in few]
    n_full = np.bincount(model._answers.to_codes().annotator, minlength=len(names)) - n_answers
    differing = names[model.class_accuracies().differs.any(axis=1)].tolist()
    is_against = model.candidates_.is_unlabeled & (model._columns.n_answers > 0)
    return [
        *([RULES_NOTE] if model.are_rules_ and isinstance(model._answers.select_rows, str) else []),
        *([_describe_unknown(model, unknown)] if unknown.any() else []),
        *_describe(
            careless,
            "The accuracy of these annotators may be no better than chance, since their intervals are not above the "
            "accuracy of answers at random: {}. Check the answers.",
        ),
        *(
            f"{n_full[j]:,} answers of {names.tolist()[j]!r} name all classes, and say nothing about the label."
            for j in np.flatnonzero(is_few & (n_full > 0))
        ),
        *_describe(few, f"These annotators have fewer than {MIN_ANSWERS} answers, and uncertain accuracies: {{}}."),
        *[f"{is_against.sum():,} rows have votes against classes alone, and no label."] * bool(is_against.any()),
        *([] if model._alone is None else _describe_contradiction(model, model._alone)),
        *_describe(differing, "The accuracy of these annotators differs between classes beyond chance: {}."),
        *map(_describe_copies, model.copied_pairs_[:MAX_NAMED]),
    ]


def _describe(names: Iterable[Any], sentence: str) -> list[str]:
    """Return a sentence on the names, if there are any."""
    listed = list(map(str, names))
    return [sentence.format(enumerate_items(listed, MAX_NAMED))] if listed else []


def _describe_unknown(model: AnnotatorModel, unknown: Mask) -> str:
    """Return a note on annotators whose accuracies the answers do not identify, and the reason."""
    columns = model._columns
    explained = model.transduction_[columns.n_answers > 0]
    shared = columns.count_by_source(columns.n_answers > 1) >= MIN_ANSWERS
    if model.are_rules_:
        reason = "votes of rules do not determine the class frequencies"
    elif (explained == explained[0]).all() and unknown.all():
        reason = f"one class, {explained[0]}, explains all answers"
    elif np.count_nonzero(shared) == 2 and shared[unknown].any():
        reason = "the agreement of two annotators does not show which one is right"
    else:
        reason = "too few of their rows have answers of several other annotators, or a known label"
    names = enumerate_items(list(map(str, model.annotators_[unknown].tolist())), MAX_NAMED)
    return (
        f"The answers do not identify the accuracy of {names}: {reason}. Give the true labels of at least {N_CHECKED} "
        f"rows (`gold`, or --gold on the command line), and of {MIN_ANSWERS} that each of them answered."
    )


def _describe_contradiction(model: AnnotatorModel, alone: AnnotatorModel) -> list[str]:
    """Return a note on the annotators whose accuracy a classifier changes, if the intervals are disjoint."""
    (low, high), (own_low, own_high) = model.accuracy_interval_.T, alone.accuracy_interval_.T
    is_disjoint = (own_low > high) | (own_high < low)
    if not is_disjoint.any():
        return []
    j = int(np.argmax(np.where(is_disjoint, np.abs(alone.accuracy_ - model.accuracy_), -1.0)))
    name, n_known = model.annotators_.tolist()[j], np.count_nonzero(model._columns.is_known)
    remedy = f"Give the true labels of at least {N_CHECKED} rows (`gold`, or --gold on the command line)"
    if n_known >= N_CHECKED:
        remedy = f"Compare the answers with the {n_known:,} known labels, which decide between these"
    return [
        f"The answers and the features contradict each other about {np.count_nonzero(is_disjoint)} of {len(low)} "
        f"annotators: {name} is right in {alone.accuracy_[j]:.0%} by the answers alone, and in "
        f"{model.accuracy_[j]:.0%} with the predictions. Either annotators make the same mistakes, or many rows have "
        f"the features of another class. {remedy}, or compare another estimator, such as PLEM."
    ]


def _describe_copies(pair: solvers.CopiedPair) -> str:
    """Return a note on two annotators of whom one may copy the other."""
    one, other = pair.annotators
    return (
        f"{one} and {other} agree on {pair.agreement:.0%} of {pair.n_shared:,} common rows; the model "
        f"expects {pair.expected_agreement:.0%}. One may copy the other, or both make the same mistakes. Their answers "
        "count as independent. If one copies, remove the answers of one."
    )
