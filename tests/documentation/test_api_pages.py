"""What the API pages promise: each public name has one, and says there all that a user must know to call it."""

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

from tests.documentation.public import Public, methods, names

PAGES = Path(__file__).parents[2] / "docs" / "api"
NAMES = names()
CALLABLES = [found for found in NAMES if inspect.isclass(found.value) or inspect.isroutine(found.value)]
CALLABLES = [found for found in CALLABLES if not getattr(found.value, "_is_protocol", False)]
# What several classes inherit is judged once.
METHODS = list({method.value: method for found in CALLABLES for method in methods(found)}.values())

WRONG = {
    "GL08": "has no docstring",
    "PR01": "leaves a parameter out",
    "PR02": "names a parameter that is not there",
    "PR03": "has parameters in another order",
    "RT01": "does not say what it returns",
    "YD01": "does not say what it yields",
}


@pytest.mark.skipif(not PAGES.is_dir(), reason="the pages are not part of what is installed")
def test_each_public_name_is_on_an_api_page_once():
    """Every name that a user can import is in one autosummary table, by the room that it is imported from."""
    listed = [name for page in sorted(PAGES.glob("*.md")) for name in _listed(page.read_text())]
    # make_partial_labels and the kernels of graphs are public twice, of the package and of their room.
    values: dict[int, set[str]] = {}
    for found in NAMES:
        values.setdefault(id(found.value), set()).add(found.name)
    missing = [sorted(known) for known in values.values() if not known & set(listed)]
    assert not missing
    assert len(listed) == len(set(listed))
    assert set(listed) <= {found.name for found in NAMES}


@pytest.mark.parametrize("found", CALLABLES, ids=lambda found: found.name)
def test_each_public_name_is_documented(found: Public):
    """A public name has a docstring with all parameters or fields, what is returned and raised, and an example."""
    wrong = _wrong(found)
    doc = get_doc_object(found.value)
    if not any(line.startswith(">>>") for line in doc["Examples"]):
        wrong.append("has no example that runs")
    assert not wrong, f"{found.name}: {'; '.join(wrong)}"


@pytest.mark.parametrize("found", METHODS, ids=lambda found: found.name)
def test_each_method_is_documented(found: Public):
    """A public method of a public class has a docstring with all parameters, what is returned, and what is raised."""
    wrong = _wrong(found)
    assert not wrong, f"{found.name}: {'; '.join(wrong)}"


def test_the_law_sees_what_is_missing():
    """A function without sections breaks the law in each of its articles."""

    def bare(value):
        """Do something."""
        if value is None:
            raise ValueError("no value")
        return value

    assert _raises(bare)
    assert not get_doc_object(bare)["Parameters"]


def _listed(page: str) -> list[str]:
    """Return the full names of the autosummary tables of a page."""
    found = []
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page, re.DOTALL):
        room = re.search(r"currentmodule:: (\S+)", block)
        found += [f"{room[1]}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    return found


def _wrong(found: Public) -> list[str]:
    doc = get_doc_object(found.value)
    fields = _fields(found.value)
    codes = {code: text for code, text in validate(found.name)["errors"] if code in WRONG}
    if fields is not None:
        # The fields of a record are its parameters, told once, as what they are of the result.
        told = {name.strip() for part in ("Parameters", "Attributes") for p in doc[part] for name in p.name.split(",")}
        if fields - told:
            codes["PR01"] = f"fields {sorted(fields - told)} are not documented"
        else:
            codes.pop("PR01", None)
    if _returns_itself(found.value):
        codes.pop("RT01", None)
    wrong = [f"{WRONG[code]} ({text})" for code, text in sorted(codes.items())]
    if _raises(found.value) and not doc["Raises"]:
        wrong.append("does not say what it raises")
    return wrong


def _fields(value: Any) -> set[str] | None:
    if inspect.isclass(value) and hasattr(value, "__dataclass_fields__"):
        return set(value.__dataclass_fields__)
    return set(value._fields) if hasattr(value, "_fields") else None


def _returns_itself(value: Any) -> bool:
    """Tell a method that returns what it belongs to: its name says all."""
    return getattr(inspect.unwrap(value), "__annotations__", {}).get("return") is None


def _raises(value: Any) -> bool:
    """Tell whether the body of a function has a raise of its own, other than for what a subclass must give."""
    if inspect.isclass(value):
        return False
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value))))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    return any("NotImplementedError" not in ast.unparse(exc) for exc in raised)
