"""Models of annotators: the labels of rows and the errors of the sources of answers, by EM.

Reading order:

1. `answers`: the answers as a sparse matrix of rows and (source, answer) pairs.
2. `pooling`: priors at the mean of all sources, and their strength.
3. `vote_rates`: the rates of the votes of rules in the rows of each class.
4. `dawid_skene`: EM for the labels, the confusion matrices and the coins of the sources.
5. `held_out`: choice between models by the likelihood of held-out answers.
6. `accuracy`: the accuracy of each source, with an interval.
7. `copies`: pairs of sources that agree more often than the model expects.
8. `krippendorff`: Krippendorff's alpha.
9. `questions`: the expected information of an answer.
10. `reliability`: the reliability of answers that state how certain the annotator is.
"""

from oneof.solvers.annotators.accuracy import SourceAccuracies, chance_accuracies, estimate_accuracies
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.copies import CopiedPairs, find_copies, group_copies
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, SourceModel, solve_annotators, vote_shares
from oneof.solvers.annotators.held_out import held_out_log_likelihoods
from oneof.solvers.annotators.krippendorff import alpha_interval, alpha_of, masi_distances, nominal_distances
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
    "estimate_accuracies",
    "find_copies",
    "group_copies",
    "held_out_log_likelihoods",
    "masi_distances",
    "nominal_distances",
    "solve_annotators",
    "vote_shares",
]
