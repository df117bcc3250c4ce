"""Models of annotators: the labels of rows and the errors of the sources of answers, by EM.

Reading order:

1. `answers`: the answers as a sparse matrix of rows and (source, answer) pairs.
2. `pooling`: priors at the mean of all sources, and their strength.
3. `vote_rates`: the rates of the votes of rules in the rows of each class.
4. `copying`: groups of sources whose answers are in part copies: weights, and a mixture of copies and own answers.
5. `dawid_skene`: EM for the labels, the confusion matrices and the coins of the sources.
6. `held_out`: choice between models by the likelihood of held-out answers.
7. `accuracy`: the accuracy of each source, and in each class, with intervals, and a test of equal accuracies.
8. `copies`: pairs of sources that agree more often than the model expects, and the fit without copied answers.
9. `agreement`: Krippendorff's alpha, and Cohen's kappa of each pair.
10. `questions`: the expected information of an answer.
11. `reliability`: the reliability of answers that state how certain the annotator is.
12. `temper`: powers that calibrate a classifier and the answers by each other.
"""

from oneof.solvers.annotators.accuracy import (
    SourceAccuracies,
    chance_accuracies,
    equal_accuracy_p_values,
    estimate_accuracies,
    estimate_class_accuracies,
)
from oneof.solvers.annotators.agreement import alpha_interval, alpha_of, masi_distances, nominal_distances, pair_kappas
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.copies import CopiedPairs, find_copies, group_copies, solve_independent
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, SourceModel, solve_annotators, vote_shares
from oneof.solvers.annotators.held_out import held_out_log_likelihoods
from oneof.solvers.annotators.questions import answer_information

__all__ = [
    "AnnotatorSolution",
    "AnswerColumns",
    "CopiedPairs",
    "SourceAccuracies",
    "SourceModel",
    "alpha_interval",
    "alpha_of",
    "answer_information",
    "chance_accuracies",
    "equal_accuracy_p_values",
    "estimate_accuracies",
    "estimate_class_accuracies",
    "find_copies",
    "group_copies",
    "held_out_log_likelihoods",
    "masi_distances",
    "nominal_distances",
    "pair_kappas",
    "solve_annotators",
    "solve_independent",
    "vote_shares",
]
