"""Scikit-learn-compatible classifiers for partial, complementary, crowd and missing labels.

Each row has a candidate set of which its true label is a member: one label, several, or all of them. Every estimator
accepts any mixture of these. Names are imported on first use, so that ``import oneof`` is fast; type checkers and
editors read `__init__.pyi`, which is the list of the names.
"""

from oneof.lazy import import_on_use, read_stub

_PUBLIC = read_stub(__name__)
_LAZY_NAMES = [name for name, module in _PUBLIC.items() if module != "oneof"]
_SUBMODULES = [name for name, module in _PUBLIC.items() if module == "oneof"]

__all__ = [*_LAZY_NAMES, *_SUBMODULES]  # noqa: PLE0604 - as the stub file lists them
__getattr__, __dir__ = import_on_use(__name__, _PUBLIC)
