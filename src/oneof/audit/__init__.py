"""Wrong labels: the rows whose candidate sets probably exclude the true class, and how many there are.

Reading order: `detection` (held-out predictions and `find_label_issues`), `inference` (the model of noise fitted to
them), `label_issues` (its result, and weights for a refit), `accuracy` (the accuracy of held-out predictions), and the
model of noise itself in `oneof.solvers.noise`.
"""

from oneof.audit.detection import find_label_issues
from oneof.audit.inference import issues_from_scores as issues_from_scores
from oneof.audit.label_issues import LabelIssue, LabelIssues

__all__ = ["LabelIssue", "LabelIssues", "find_label_issues"]
