"""Dependencies: docs/reliability/supply.md from pyproject.toml, imports and installed packages."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import oneof
from benchmarks.common import DOCS, ROOT

PAGE = DOCS / "reliability" / "supply.md"
MAX_LISTED = 6
"""Maximum number of modules, or of required packages, that a cell lists; otherwise it has their number."""

PACKAGE = Path(oneof.__file__).parent
PURPOSES = {
    "numpy": "arrays",
    "scipy": "sparse rows, optimizers, linear algebra",
    "scikit-learn": "the conventions, kernels, neighbors and folds of our estimators",
    "joblib": "parallel comparisons and neighbors",
    "numba": "sequential loops: online learners, dual solvers, diffusion",
    "threadpoolctl": "one BLAS thread in parallel threads and processes",
    "array-api-compat": "kernels written once for NumPy and torch (decision 0013)",
    "typer": "the command line",
    "rich": "its tables and progress",
    "polars": "tables and streams (decision 0027)",
    "skops": "model files without pickles",
    "jinja2": "the report and the pages of the experiments",
    "matplotlib": "figures of the report",
    "torch": "Gaussian processes on a GPU; only imported if tensors are given",
    "snowballstemmer": "word stems (decision 0020)",
    "dask": "blocks of rows on many machines (decision 0026)",
    "fastexcel": "spreadsheets (decision 0043)",
    "starlette": "the labeling page, predictions over HTTP (decision 0043)",
    "uvicorn": "their server",
    "pillow": "its pictures: resized, without metadata",
    "atheris": "fuzzing of the readers of files",
}
"""The purpose of each package that users may install."""
IMPORTED_AS = {"scikit-learn": "sklearn", "pillow": "PIL"}
PROVIDED_BY = {"distributed": "dask", "markupsafe": "jinja2", "llvmlite": "numba"}
"""Modules that another package provides: by its extra, or as a documented part."""
DEVELOPMENT_GROUPS = ("test", "typing", "dev", "docs", "fuzz")
_NAME = re.compile(r"[\w.-]+")


def declared():
    """Return the packages of each group of pyproject.toml; "" is the core."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"]} | project["optional-dependencies"]
    return {group: [line for line in lines if not line.startswith("oneof[")] for group, lines in groups.items()}


@cache
def imports():
    """Return pairs of an imported module outside the standard library and the importing file."""
    pairs = []
    for file in sorted(PACKAGE.rglob("*.py")):
        packages = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                packages |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                packages.add(node.module.split(".")[0])
        pairs += [(module, file) for module in sorted(packages - sys.stdlib_module_names - {"oneof"})]
    return pairs


def module_name(package):
    """Return the import name of a package."""
    return IMPORTED_AS.get(package, package.replace("-", "_"))


def undeclared():
    """Return the imported modules that pyproject.toml does not declare."""
    named = {module_name(_NAME.match(line)[0]) for lines in declared().values() for line in lines}
    return sorted({module for module, _ in imports() if PROVIDED_BY.get(module, module) not in named})


def importers(package):
    """Return the subpackages that import a package, and the number of files."""
    files = [file for module, file in imports() if module == module_name(package)]
    subpackages = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in files}
    return sorted(subpackages), len(files)


def required_packages(package):
    """Return all packages that a package requires, without extras; None if it is not installed."""
    packages, queue = set(), [package]
    while queue:
        name = queue.pop()
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            if name == package:
                return None
            continue  # of another system or Python
        for line in required:
            other = _NAME.match(line)[0].lower().replace("_", "-")
            if "extra ==" not in line and other not in packages:
                packages.add(other)
                queue.append(other)
    return sorted(packages - {package})


def make_page():
    """Return the text of docs/reliability/supply.md."""
    groups = declared()
    core = {_NAME.match(line)[0] for line in groups[""]}
    core |= {name for package in core for name in required_packages(package) or ()}
    lines = [
        "# Dependencies",
        "",
        "The installed packages, their purposes and the modules that import them, for users who review dependencies.",
        "Written by `python -m benchmarks reliability supply` from `pyproject.toml`, the imports of `src/oneof` and",
        "the requirements of the packages. Everything is installed from the package registry.",
        "",
        "| package | extra | purpose | imported by | requires, beyond the core |",
        "|---|---|---|---|---|",
    ]
    extras = {}
    for group, required in groups.items():
        if group not in DEVELOPMENT_GROUPS:
            for line in required:
                extras.setdefault(line, []).append(group or "core")
    for line, named in extras.items():
        name = _NAME.match(line)[0]
        subpackages, count = importers(name)
        requires = required_packages(name)
        beyond = [n for n in requires or () if n not in core]
        text = "not installed here" if requires is None else ", ".join(beyond) or "nothing"
        if requires is not None and len(beyond) > MAX_LISTED:
            text = f"{len(beyond)} packages"
        users = ", ".join(subpackages) if len(subpackages) <= MAX_LISTED else f"{count} files"
        lines.append(f"| `{line}` | {', '.join(named)} | {PURPOSES[name]} | {users or 'no file'} | {text} |")
    lines += ["", "Developers of oneof also install:", ""]
    for group in DEVELOPMENT_GROUPS:
        if groups.get(group):
            lines.append(f"* `{group}`: {', '.join(f'`{line}`' for line in groups[group])}")
    return "\n".join(lines) + "\n"


def supply():
    """Write docs/reliability/supply.md."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(make_page(), encoding="utf-8")
