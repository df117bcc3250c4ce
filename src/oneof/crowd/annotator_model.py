"""Probabilities of the labels, and the errors of each annotator, from the answers alone."""

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.crowd.annotator_results import MIN_ANSWERS, N_CHECKED, AnnotatorResults
from oneof.crowd.answers import Answers
from oneof.crowd.arguments import as_answers, check_answers, read_gold
from oneof.crowd.results import ModelSelection, name_closest_pair, name_copies, rests_on_agreement
from oneof.crowd.selection import class_priors, confusion_columns, select_model
from oneof.messages import warn
from oneof.solvers.annotators import (
    AnnotatorSolution,
    AnswerColumns,
    chance_accuracies,
    estimate_accuracies,
    solve_annotators,
    solve_independent,
    vote_shares,
)
from oneof.solvers.annotators.copies import CopiedPairs
from oneof.solvers.annotators.copying import FollowingAnswers
from oneof.typing import Floats
from oneof.validation import check_bool, check_choice, check_coverage, check_positive

MIN_WEIGHT = float(np.finfo(np.float64).tiny)
MIN_COMPARED = 10
"""Number of answers that can be compared from which an accuracy is known.

In simulations of two annotators with 100 answers each, intervals of .9 covered .69 to .88 of the accuracies with three
to five common rows, and .98 or more with ten."""


class AnnotatorModel(AnnotatorResults, BaseEstimator):
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
        "confusion": label answers have a confusion matrix for each annotator (Dawid & Skene 1979), so an annotator may
        be accurate in some classes only. "one_coin": they have one accuracy, as sets do. "auto" selects matrices if the
        likelihood of held-out answers is larger by more than one standard error (`selection_`). With few answers, it
        selects one coin although accuracies differ between classes, with a sentence in `notes_`.
    class_prior : {"auto", "uniform", "fitted"} or array-like of shape (n_classes,), default="auto"
        Class frequencies: equal, those of the labels, or given. "auto" selects equal ones, fitted ones, or one of three
        mixtures of both, by the likelihood of held-out answers. For rules it is "uniform". Equal frequencies together
        with confusion matrices give wrong labels if a class is rare.
    strength : "auto" or float, default="auto"
        Strength of the priors of the annotators: the number of answers that they count for. 0 is no prior. "auto" is
        the most likely strength. For rules it is the number of rows, and "auto" is half of all rows.
    merge_copies : bool, default=True
        Do not count copied answers as evidence. An answer that equals one of a copy was copied with a probability that
        is fitted, about 1 if most answers are copied; an answer in which copies differ counts in full. Copies among
        rules are not detected.
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
        coin has the accuracy on the diagonal, and equal probabilities elsewhere.
    accuracy_ : ndarray of shape (n_annotators,)
        Probability that an answer of the annotator contains the true class.
    accuracy_interval_ : ndarray of shape (n_annotators, 2)
        Lower and upper ends of intervals of the accuracies, of probability `coverage`.
    n_answers_ : ndarray of shape (n_annotators,)
        Number of answers, without those that name all classes.
    class_prior_ : ndarray of shape (n_classes,)
        The class frequencies of the posterior.
    copies_ : list of list
        Groups of names of annotators who are copies of one another. Copies of less than half of the answers, or in
        few common rows, may not be found.
    copied_pairs_ : list of CopiedPair
        The pairs on which the groups are based, in decreasing order of the z-score.
    closest_pair_ : tuple of two names, or None
        With fewer than 8 annotators, two who are not in `copies_` and agree far more often than every other pair. They
        are copies, or more accurate than the others.
    no_better_than_chance_ : list
        Names of the annotators whose accuracy interval contains, or is below, the accuracy of the same answers given
        at random.
    few_answers_ : list
        Names of the annotators with fewer than 10 answers, whose accuracies are uncertain.
    notes_ : list of str
        Sentences on careless annotators, on those with few answers, on two annotators whose accuracies rest on their
        agreement, on accuracies that differ between classes, and on copies.
    model_ : {"confusion", "one_coin"}
        The model of label answers.
    selection_ : ModelSelection
        The reason for the model, with the gain of confusion matrices in the likelihood of held-out answers.
    strength_ : float
        Strength of the prior of the confusion matrices, or of the accuracies with one coin.
    n_iter_ : int
        Number of EM iterations.

    See Also
    --------
    oneof.crowd.CrowdClassifier : Fits a classifier as well. Its `label_distributions_` correspond to `posterior_`.

    Notes
    -----
    Annotators who choose the rows that they answer, as rules do (`Answers.select_rows`), have another model: each vote
    of a rule has a rate in the rows whose class it contains, and another one in the other rows. The rates have a strong
    prior at those of all rules together, which are not worse than chance. If the votes have few rows in common, the
    labels are therefore close to those of votes. The votes do not determine the class frequencies, which are then
    uniform by default.

    The model cannot detect errors that most annotators share. Copies are detected if a pair has at least 10 common rows
    and about half of the answers of one are copied; see `oneof.solvers.annotators.copies`. If both are far more
    accurate than the others, 60 % of copies are found in about a third of the crowds.

    If only two annotators have answers to common rows, and labels are known of fewer than 50 of their rows and of fewer
    than half, their accuracies rest on their agreement and on independent errors. Copies then have too high accuracies
    and too narrow intervals, and may not be detected; `notes_` says so. Known labels of 50 rows (`gold`) determine both
    the accuracies and the fraction of copied answers.

    The agreements of three annotators determine three accuracies, so copies cannot be distinguished from accuracy
    without known labels. If one copies 80 % of the answers of another one, it is mostly not found, and their accuracies
    are too high by .1 to .2; the pair is then `closest_pair_`, and `notes_` says so. With 50 known labels, or among
    four annotators, such copies are found.

    The intervals of copies are conservative with known labels: for two annotators with 50 known labels of 600 rows,
    they are about .25 wide, and the root mean squared error is about .04.

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
    >>> model.accuracy_.round(1)
    array([0.9, 0.9, 0.6])
    """

    selection_: ModelSelection
    _copying: FollowingAnswers | None
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
        evidence = read_gold(gold, given)
        columns = given._columns()
        priors = class_priors(self.class_prior, given)
        self.selection_, prior = select_model(given, columns, self.model, priors, evidence, float(self.tol))
        self.model_ = self.selection_.model
        solution, pairs, copying = self._solve(given, columns, prior, evidence)
        if not solution.converged:
            warn(
                f"The labels did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        self.n_iter_ = solution.n_iter
        self._alone = None
        self._set_attributes(given, columns, solution, evidence, copying)
        self.copied_pairs_, self.copies_ = ([], []) if pairs is None else name_copies(pairs, given.annotators)
        self.closest_pair_ = None if pairs is None or self.copies_ else name_closest_pair(columns, given.annotators)
        self.classes_ = given.classes
        return self

    def _update(self, answers: Answers, prior: Floats, evidence: Floats | None, *, power: float, max_iter: int) -> None:
        """Fit the annotators from the present labels, with a prior for each row; the copies are those of `fit`.

        The fractions of copied answers are those of the last fit at first. The likelihoods of answers get a power.
        """
        source, columns = self._source_model, self._answer_columns
        solution = solve_annotators(
            columns,
            self.posterior_,
            uses_confusion=source.uses_confusion,
            prior=prior,
            evidence=evidence,
            strength=None if isinstance(self.strength, str) else float(self.strength),
            initial_model=source,
            copying=self._copying,
            power=power,
            selects_rows=answers.select_rows,
            max_iter=max_iter,
            tol=float(self.tol),
        )
        copying = self._copying
        if copying is not None:
            copying = replace(copying, copied=np.asarray(solution.copied))
        self._set_attributes(answers, columns, solution, evidence, copying)
        self._log_likelihood = self._log_likelihood / power

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

    def _solve(
        self, answers: Answers, columns: AnswerColumns, prior: Floats | float, evidence: Floats | None
    ) -> tuple[AnnotatorSolution, CopiedPairs | None, FollowingAnswers | None]:
        """Fit the model; copied answers do not count. Copies among rules are not detected."""
        start = vote_shares(columns, evidence)
        options: dict[str, Any] = {
            "uses_confusion": confusion_columns(answers, columns, self.model_), "prior": prior, "evidence": evidence,
            "strength": None if isinstance(self.strength, str) else float(self.strength),
            "max_iter": int(self.max_iter), "tol": float(self.tol),
        }  # fmt: skip
        if answers.select_rows:
            solution = solve_annotators(columns, start, selects_rows=True, **options)
            return solution, None, None
        return solve_independent(columns, start, merge_copies=self.merge_copies, **options)

    def _set_attributes(
        self, answers: Answers, columns: AnswerColumns, solution: AnnotatorSolution, evidence: Any, copying: Any
    ) -> None:
        self._log_likelihood = solution.log_likelihood
        likelihood = np.exp(solution.log_likelihood - solution.log_likelihood.max(axis=1, keepdims=True))
        likelihood = np.maximum(likelihood, MIN_WEIGHT)
        if evidence is not None:
            likelihood *= evidence
        self.candidates_ = CandidateSets.from_weights(likelihood, answers.classes)
        self.posterior_ = solution.posterior
        self.transduction_ = answers.classes[solution.posterior.argmax(axis=1)]
        self.rows_, self.annotators_ = answers.rows, answers.annotators
        self._answered = (answers._row, answers._source)
        self.class_prior_ = np.atleast_2d(solution.prior).mean(axis=0)
        self.class_prior_ /= self.class_prior_.sum()
        source = solution.model
        self.strength_ = source.strength if source.uses_confusion.any() else source.coin_strength
        self._source_model, self._answer_columns, self._copying = solution.model, columns, copying
        counted: Floats | None = columns.answer_counts(evidence)
        n_compared = columns.n_compared(evidence)
        if answers.select_rows or solution.prior.ndim == 2:
            counted, n_compared = None, np.bincount(columns.answer_source, minlength=columns.n_sources)
        estimates = estimate_accuracies(
            columns, solution.posterior, coverage=float(self.coverage), counted=counted, n_compared=n_compared
        )
        n_answers = np.bincount(columns.answer_source, minlength=columns.n_sources)
        compared = n_compared >= np.minimum(MIN_COMPARED, np.maximum(n_answers, 1))
        self.accuracy_, self.accuracy_interval_ = estimates.accuracy, estimates.interval
        self._n_known = 0 if evidence is None else int(np.count_nonzero(~evidence.all(axis=1)))
        self.n_answers_ = estimates.n_answers.astype(np.int64)
        chance = chance_accuracies(columns, solution.posterior)
        is_chance = estimates.interval[:, 0] <= chance
        self._is_below_chance = (estimates.interval[:, 1] < chance) & compared
        self._is_unknown = ~compared & (self.n_answers_ > 0)
        self._rests_on_agreement = np.zeros(columns.n_sources, dtype=bool)
        if not answers.select_rows:
            # A classifier that is fitted to the answers repeats the errors of copies.
            self._rests_on_agreement = rests_on_agreement(columns, evidence, MIN_COMPARED, N_CHECKED)
        self.no_better_than_chance_ = answers.annotators[is_chance & compared & (self.n_answers_ > 0)].tolist()
        self.few_answers_ = answers.annotators[self.n_answers_ < MIN_ANSWERS].tolist()
