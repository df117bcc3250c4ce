"""What oneof is installed with, and why: docs/reliability/supply.md, from pyproject.toml and what is installed here.

python benchmarks/supply.py
"""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import oneof

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability" / "supply.md"
PACKAGE = Path(oneof.__file__).parent
WHY = {
    "numpy": "arrays",
    "scipy": "sparse rows, optimizers, linear algebra",
    "scikit-learn": "the conventions, kernels, neighbors and folds that our estimators keep to and use",
    "joblib": "side by side: comparisons, experiments, neighbors (decision 0006)",
    "numba": "loops that must be sequential: online learners, dual solvers, diffusion",
    "threadpoolctl": "one thread of BLAS where threads or processes work side by side",
    "array-api-compat": "kernels written once for NumPy and torch (decision 0013)",
    "typer": "the command line",
    "rich": "its tables and progress",
    "polars": "tables and streams (decision 0027)",
    "skops": "model files without pickles",
    "jinja2": "the report and the pages of experiments",
    "matplotlib": "pictures of the report",
    "torch": "Gaussian processes on a graphics card; never imported unless tensors are given",
    "faiss-cpu": "approximate neighbors (decision 0016)",
    "snowballstemmer": "stems of words (decision 0020)",
    "dask": "blocks of rows on many machines (decision 0026)",
    "starlette": "the labeling page",
    "uvicorn": "its server",
    "pillow": "its pictures, made small and without what cameras write into them",
    "atheris": "fuzzing of the readers of files",
}
"""Of each package that users may install; those of the extra `dev` are for who works on oneof."""
IMPORTED_AS = {"scikit-learn": "sklearn", "faiss-cpu": "faiss", "pillow": "PIL"}
COMES_WITH = {"distributed": "dask", "markupsafe": "jinja2"}
"""Modules that are asked for with another package: by its extra, and as part of what it documents."""
FOR_WORK = ("dev", "docs", "fuzz")
_NAME = re.compile(r"[\w.-]+")


def declared():
    """Return the packages of each group of pyproject.toml; "" is what everyone installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"]} | project["optional-dependencies"]
    return {group: [line for line in lines if not line.startswith("oneof[")] for group, lines in groups.items()}


@cache
def imports():
    """Return each module outside the standard library that the library imports, and the file that does."""
    pairs = []
    for file in sorted(PACKAGE.rglob("*.py")):
        found = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
        pairs += [(module, file) for module in sorted(found - sys.stdlib_module_names - {"oneof"})]
    return pairs


def module_of(package):
    """Return what a package is imported as."""
    return IMPORTED_AS.get(package, package.replace("-", "_"))


def undeclared():
    """Return the modules that are imported, but not named in pyproject.toml."""
    named = {module_of(_NAME.match(line)[0]) for lines in declared().values() for line in lines}
    return sorted({module for module, _ in imports() if COMES_WITH.get(module, module) not in named})


def importers(package):
    """Return the rooms of the library that import a package, and in how many files."""
    files = [file for module, file in imports() if module == module_of(package)]
    rooms = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in files}
    return sorted(rooms), len(files)


def brings(package):
    """Return all that installing a package brings along, without its own extras; None where it is not installed."""
    found, waiting = set(), [package]
    while waiting:
        name = waiting.pop()
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            if name == package:
                return None
            continue  # of another system or Python
        for line in required:
            other = _NAME.match(line)[0].lower().replace("_", "-")
            if "extra ==" not in line and other not in found:
                found.add(other)
                waiting.append(other)
    return sorted(found - {package})


def page():
    """Return the page."""
    groups = declared()
    core = {_NAME.match(line)[0] for line in groups[""]}
    core |= {name for package in core for name in brings(package) or ()}
    lines = [
        "# What oneof is installed with",
        "",
        "Written by `python benchmarks/supply.py` from `pyproject.toml`, the imports of `src/oneof` and what the",
        "packages say that they need. Nothing is fetched from elsewhere than the package registry.",
        "",
        "| package | of the extra | why | imported by | brings along, beyond the core |",
        "|---|---|---|---|---|",
    ]
    for group, required in groups.items():
        if group in FOR_WORK:
            continue
        for line in required:
            name = _NAME.match(line)[0]
            rooms, count = importers(name)
            along = brings(name)
            told = "not installed here" if along is None else ", ".join(n for n in along if n not in core) or "nothing"
            if along is not None and name == "torch":
                told = f"{len([n for n in along if n not in core])} packages"
            users = f"{', '.join(rooms)} ({count} files)" if rooms else "no file"
            lines.append(f"| `{line}` | {group or 'core'} | {WHY[name]} | {users} | {told} |")
    lines += ["", "Who works on oneof installs besides:", ""]
    for group in FOR_WORK:
        if group in groups:
            lines.append(f"* `{group}`: {', '.join(f'`{line}`' for line in groups[group])}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
