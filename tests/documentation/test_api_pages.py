"""Every public name is on an API page and has a complete docstring."""

import ast
import inspect
import re
import textwrap
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.documentation.public import Public, methods, names

pytest.importorskip("numpydoc", reason="numpydoc is in the extra `docs`")

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

PAGES = Path(__file__).parents[2] / "docs" / "api"
NAMES = names()
CALLABLES = [public for public in NAMES if inspect.isclass(public.value) or inspect.isroutine(public.value)]
CALLABLES = [public for public in CALLABLES if not getattr(public.value, "_is_protocol", False)]
CLASSES = [public for public in CALLABLES if inspect.isclass(public.value)]
# Inherited methods are tested once.
METHODS = list({method.value: method for public in CALLABLES for method in methods(public)}.values())

FAULTS = {
    "GL08": "has no docstring",
    "PR01": "omits a parameter",
    "PR02": "documents a parameter that does not exist",
    "PR03": "lists parameters in another order",
    "RT01": "does not document what it returns",
    "YD01": "does not document what it yields",
}


@pytest.mark.skipif(not PAGES.is_dir(), reason="the pages are not part of what is installed")
def test_each_public_name_is_on_an_api_page_once():
    """Every public name is in exactly one autosummary table, under the module that it is imported from."""
    listed = [name for page in sorted(PAGES.glob("*.md")) for name in _listed(page.read_text())]
    # make_partial_labels and the graph kernels are public in the package and in their module.
    values: dict[int, set[str]] = {}
    for public in NAMES:
        values.setdefault(id(public.value), set()).add(public.name)
    missing = [sorted(aliases) for aliases in values.values() if not aliases & set(listed)]
    assert not missing
    assert len(listed) == len(set(listed))
    assert set(listed) <= {public.name for public in NAMES}


@pytest.mark.parametrize("public", CALLABLES, ids=lambda public: public.name)
def test_each_public_name_is_documented(public: Public):
    """A public name has a docstring with all parameters or fields, returned values, errors, and an example."""
    faults = _faults(public)
    doc = get_doc_object(public.value)
    if not any(line.startswith(">>>") for line in doc["Examples"]):
        faults.append("has no doctest")
    assert not faults, f"{public.name}: {'; '.join(faults)}"


@pytest.mark.parametrize("public", CLASSES, ids=lambda public: public.name)
def test_each_property_is_documented(public: Public):
    """Every public property that oneof defines is in a section of its class, the only place where a page shows it."""
    properties = {
        name
        for name, value in inspect.getmembers_static(public.value)
        if isinstance(value, property | cached_property) and not name.startswith("_") and _is_own(value)
    }
    doc = get_doc_object(public.value)
    documented = {
        name.strip() for part in ("Parameters", "Attributes") for p in doc[part] for name in p.name.split(",")
    }
    assert properties <= documented


@pytest.mark.parametrize("public", METHODS, ids=lambda public: public.name)
def test_each_method_is_documented(public: Public):
    """A public method of a public class has a docstring with all parameters, returned values and errors."""
    faults = _faults(public)
    assert not faults, f"{public.name}: {'; '.join(faults)}"


def test_missing_sections_are_detected():
    """A function without sections is reported to have no documented parameters and errors."""

    def bare(value):
        """Do something."""
        if value is None:
            raise ValueError("no value")
        return value

    assert _raises(bare)
    assert not get_doc_object(bare)["Parameters"]


def _is_own(value: property | cached_property) -> bool:
    getter = value.fget if isinstance(value, property) else value.func
    return getattr(getter, "__module__", "").startswith("oneof")


def _listed(page: str) -> list[str]:
    """Return the full names of the autosummary tables of a page."""
    public = []
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)
        public += [f"{module[1]}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    return public


def _faults(public: Public) -> list[str]:
    doc = get_doc_object(public.value)
    fields = _fields(public.value)
    codes = {code: text for code, text in validate(public.name)["errors"] if code in FAULTS}
    if fields is not None:
        # The fields of a record are its parameters, and are documented once, in either section.
        documented = {
            name.strip() for part in ("Parameters", "Attributes") for p in doc[part] for name in p.name.split(",")
        }
        if fields - documented:
            codes["PR01"] = f"fields {sorted(fields - documented)} are not documented"
        else:
            codes.pop("PR01", None)
    if _returns_itself(public.value):
        codes.pop("RT01", None)
    faults = [f"{FAULTS[code]} ({text})" for code, text in sorted(codes.items())]
    if _raises(public.value) and not doc["Raises"]:
        faults.append("does not document its errors")
    return faults


def _fields(value: Any) -> set[str] | None:
    if inspect.isclass(value) and hasattr(value, "__dataclass_fields__"):
        return {name for name in value.__dataclass_fields__ if not name.startswith("_")}
    return set(value._fields) if hasattr(value, "_fields") else None


def _returns_itself(value: Any) -> bool:
    """Return whether a method is annotated to return None."""
    return getattr(inspect.unwrap(value), "__annotations__", {}).get("return") is None


def _raises(value: Any) -> bool:
    """Return whether the body of a function raises an error other than NotImplementedError."""
    if inspect.isclass(value):
        return False
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value))))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    return any("NotImplementedError" not in ast.unparse(exc) for exc in raised)
