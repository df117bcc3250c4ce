"""Names in the code are the terms of the field, one name has one meaning, and the spelling is American."""

import ast
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("src/oneof", "reproduction", "benchmarks")
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))

BANNED = {
    "account": "distractor model",
    "bend": "hvp or curvature",
    "bends": "hvp or curvature",
    "bent": "curvature",
    "climb": "trust region or Newton-CG",
    "foretell": "predictive gain",
    "foretelling": "predictive gain",
    "foretells": "predictive gain",
    "heights": "objective",
    "leap": "step",
    "leaps": "pseudo-transient continuation",
    "learnt": "fitted",
    "lonely": "isolated",
    "openings": "null space",
    "rivals": "runner-up",
    "settle": "disambiguate or resolve",
    "slopes": "gradient",
    "told": "labeled",
    "unfold": "inflate",
    "vouch": "influence",
    "voucher": "influence",
    "vouchers": "influences",
    "wanted": "requested",
}
"""Words that no identifier contains, and the terms to use."""
BRITISH = re.compile(
    r"\b(?:un)?labell(?:ed|ing)\b|neighbour|\bcolours?\b|behaviour|judgement|\blearnt\b|\bfavour"
    r"|(?:penal|minim|maxim|standard|normal|regular|optim|factor|recogn|summar|initial)is(?:e|ed|es|ing|ation)\b",
    re.IGNORECASE,
)
TEXTS = (".py", ".md", ".rst", ".js", ".html", ".css", ".toml")


def words_of(identifier: str) -> list[str]:
    """Return the words of an identifier in snake case, camel case or capitals, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)]


def identifiers(tree: ast.AST) -> set[tuple[str, int]]:
    """Return the names that a module defines or assigns, with their lines."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add((node.name, node.lineno))
        elif isinstance(node, ast.arg):
            names.add((node.arg, node.lineno))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((node.id, node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add((node.attr, node.lineno))
    return names


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_identifiers_are_terms_of_the_field(file: Path) -> None:
    """No name of a module, class, function, argument or variable contains a banned word."""
    names = identifiers(ast.parse(file.read_text(encoding="utf-8"))) | {(file.stem, 1)}
    faults = [
        f"line {line}: {name}, use {BANNED[word]}"
        for name, line in sorted(names, key=lambda item: item[1])
        for word in words_of(name)
        if word in BANNED
    ]
    assert not faults, f"{file.relative_to(ROOT)}: " + "; ".join(faults)


def test_one_class_name_has_one_meaning() -> None:
    """No two classes of the package share a name."""
    homes = defaultdict(list)
    for file in (ROOT / "src" / "oneof").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(str(file.relative_to(ROOT)))
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert shared == {}


def test_spelling_is_american() -> None:
    """No text of the project has the British spelling of a word that it uses, in code or in prose."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    files = [ROOT / name for name in listed] or [file for file in ROOT.rglob("*") if file.is_file()]
    faults = []
    for file in files:
        if file.suffix not in TEXTS or not file.is_file() or file == Path(__file__):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if (match := BRITISH.search(line)) and "British spelling" not in line:
                faults.append(f"{file.relative_to(ROOT)}:{number}: {match[0]}")
    assert not faults
