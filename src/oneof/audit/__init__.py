"""Wrong labels: the rows whose candidate sets probably exclude the true class, and how many there are.

Reading order: `detection` (held-out predictions and `find_label_issues`), `label_issues` (the model of noise fitted to
them, its result, and weights for a refit), `accuracy` (the accuracy of held-out predictions), and the model of noise
itself in `oneof.solvers.noise`.
"""

from oneof.audit.detection import find_label_issues
from oneof.audit.label_issues import LabelIssue, LabelIssues

__all__ = ["LabelIssue", "LabelIssues", "find_label_issues"]
