"""Models of annotators: the labels of rows and the errors of the sources of answers, by EM.

Reading order:

1. `answers`: the answers as a sparse matrix of rows and (source, answer) pairs.
2. `rules`: whether sources are rules, and the rates of their votes in the rows of each class.
3. `dawid_skene`: EM for the labels, the confusion matrices, the coins and the rules.
4. `accuracy`: the accuracy of each source, and in each class, with intervals, a test of equal accuracies, and the
   sources whose accuracy the answers identify.
5. `copies`: pairs of sources that agree more often than the model expects.
6. `agreement`: Krippendorff's alpha, and Cohen's kappa of each pair.
7. `questions`: the expected information of an answer.
8. `reliability`: the reliability of answers that state how certain the annotator is.
9. `temper`: powers that calibrate a classifier and the answers by each other.
"""

from oneof.solvers.annotators.accuracy import (
    SourceAccuracies,
    chance_accuracies,
    equal_accuracy_p_values,
    estimate_accuracies,
    estimate_class_accuracies,
    identified_sources,
)
from oneof.solvers.annotators.agreement import (
    PairAgreements,
    alpha_interval,
    alpha_of,
    masi_distances,
    nominal_distances,
    pair_kappas,
)
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.copies import CopiedPair, find_copies
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, SourceModel, solve_annotators, vote_shares
from oneof.solvers.annotators.questions import answer_information
from oneof.solvers.annotators.rules import are_rules

__all__ = [
    "AnnotatorSolution",
    "AnswerColumns",
    "CopiedPair",
    "PairAgreements",
    "SourceAccuracies",
    "SourceModel",
    "alpha_interval",
    "alpha_of",
    "answer_information",
    "are_rules",
    "chance_accuracies",
    "equal_accuracy_p_values",
    "estimate_accuracies",
    "estimate_class_accuracies",
    "find_copies",
    "identified_sources",
    "masi_distances",
    "nominal_distances",
    "pair_kappas",
    "solve_annotators",
    "vote_shares",
]
