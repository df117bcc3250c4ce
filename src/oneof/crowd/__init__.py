"""Labels from the answers of many annotators, or from rules that vote for labels.

Reading order:

1. `answers`: a table, records or an export of answers, each a label, a set of labels, or nothing; their rows among
   those of a data set; known labels.
2. `rules`: functions that vote for labels, as sources of answers.
3. `annotator_model`: probabilities of the labels, the accuracy and confusion of each annotator, and notes.
4. `agreement`: Krippendorff's alpha, and Cohen's kappa of each pair.
5. `learners`: classifiers that are fitted to the labels of a round, and the labels that calibrate their sets.
6. `crowd_classifier`: a classifier and the model of the annotators, fitted in turn.
"""

from oneof.crowd.agreement import krippendorff_alpha, krippendorff_interval, pairwise_agreement
from oneof.crowd.annotator_model import AnnotatorModel, ClassAccuracies, DisputedRows, Questions
from oneof.crowd.answers import Answers
from oneof.crowd.crowd_classifier import CrowdClassifier
from oneof.crowd.rules import apply_rules
from oneof.solvers.annotators.accuracy import CopiedPair
from oneof.solvers.annotators.agreement import PairAgreements

__all__ = [
    "AnnotatorModel",
    "Answers",
    "ClassAccuracies",
    "CopiedPair",
    "CrowdClassifier",
    "DisputedRows",
    "PairAgreements",
    "Questions",
    "apply_rules",
    "krippendorff_alpha",
    "krippendorff_interval",
    "pairwise_agreement",
]
