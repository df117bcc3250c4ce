"""Types of the names that `oneof.labeling` imports on first use; `__init__.py` reads them here."""

from oneof.labeling.content.table import LabelTable as LabelTable
from oneof.labeling.http.server import serve as serve
from oneof.labeling.session import LabelingSession as LabelingSession
