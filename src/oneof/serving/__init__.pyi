"""Types of the names that `oneof.serving` imports on first use; `__init__.py` reads them here."""

from oneof.serving.app import make_app as make_app
from oneof.serving.predictor import RowPredictor as RowPredictor
from oneof.serving.server import serve as serve
