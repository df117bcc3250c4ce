"""Models of annotators: the labels of rows and the errors of the sources of answers, by EM.

Reading order:

1. `answers`: the answers as a sparse matrix of rows and (source, answer) pairs.
2. `pooling`: priors at the mean of all sources, and their strength.
3. `vote_rates`: the rates of the votes of rules in the rows of each class.
4. `dawid_skene`: EM for the labels, the confusion matrices and the coins of the sources.
5. `held_out`: choice between models by the likelihood of held-out answers.
6. `accuracy`: the accuracy of each source, with an interval.
7. `class_accuracy`: the accuracy of each source in each class, and a test of equal accuracies.
8. `copies`: pairs of sources that agree more often than the model expects, and the fit in which they count as one.
9. `krippendorff`, `kappa`: Krippendorff's alpha, and Cohen's kappa of each pair.
10. `questions`: the expected information of an answer.
11. `reliability`: the reliability of answers that state how certain the annotator is.
"""

from oneof.solvers.annotators.accuracy import SourceAccuracies, chance_accuracies, estimate_accuracies
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.class_accuracy import equal_accuracy_p_values, estimate_class_accuracies
from oneof.solvers.annotators.copies import CopiedPairs, find_copies, group_copies, solve_independent
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, SourceModel, solve_annotators, vote_shares
from oneof.solvers.annotators.held_out import held_out_log_likelihoods
from oneof.solvers.annotators.kappa import pair_kappas
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
