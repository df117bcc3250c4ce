"""Labels from the answers of many annotators, or from rules that vote for labels.

Reading order:

1. `encoding`: names of rows and annotators, and their positions among other names.
   `answers`: a table, records or an export of answers, each a label, a set of labels, or nothing.
2. `rules`: functions that vote for labels, as sources of answers.
3. `arguments`: answers in any form, their rows among those of a data set, and known labels, as arguments of `fit`.
4. `results`: accuracies by class, copies, disputed rows, questions, and notes.
5. `annotator_model`: probabilities of the labels, and the accuracy and confusion of each annotator.
6. `agreement`: Krippendorff's alpha, and Cohen's kappa of each pair.
7. `learners`: classifiers that are fitted to the labels of a round, and the labels that calibrate their sets.
8. `crowd_classifier`: a classifier and the model of the annotators, fitted in turn.
"""

from oneof.crowd.agreement import PairAgreements, krippendorff_alpha, krippendorff_interval, pairwise_agreement
from oneof.crowd.annotator_model import AnnotatorModel
from oneof.crowd.answers import Answers
from oneof.crowd.crowd_classifier import CrowdClassifier
from oneof.crowd.results import ClassAccuracies, CopiedPair, DisputedRows, Questions
from oneof.crowd.rules import apply_rules

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
