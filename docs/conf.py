"""Sphinx configuration of the site: `make docs`, without a network."""

import logging
import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
# The style of the gallery uses `reproduction`, which is not installed.
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
# One BLAS thread, as in the tests, so that a build gives the same results on every machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "oneof"
author = "the developers of oneof"
copyright = f"2026, {author}"  # noqa: A001 - the name that Sphinx requires
version = release = installed("oneof")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "last_lines",
    "plain_formulas",
    "internal_links",
]

# Pages that others include, and pages whose source is missing in this checkout.
exclude_patterns = ["decisions/README.md"]
if not (HERE.parent / "CHANGELOG.md").exists():
    exclude_patterns.append("changelog.md")
# Toctrees list optional pages by patterns; the warning for an empty pattern has no name.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda record: "glob pattern" not in str(record.msg))
nitpicky = True
# Attributes that are properties have no page; the inventories of other libraries need a network.
nitpick_ignore_regex = [
    ("py:obj", r"\w+_"),
    ("py:obj", r"sklearn\..*"),
    # Properties of results, answers, sessions, options and sources, in the order of their classes.
    ("py:obj", r"n_wrong|n_wrong_interval|n_changed|is_issue|is_rate_given|posterior"),
    ("py:obj", r"evaluation|note|n_true|truth_note|classes|n_answers|has_sets|are_rules|n_rows|snapshot|last_error"),
    ("py:obj", r"height|can_be_read_again|display_name|has_weights|label_columns|rows_per_second"),
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {
    # Pages name decisions by their numbers, which the titles do not have.
    "decisions": "\n".join(
        f"* [{page.name[:4]}: {page.read_text(encoding='utf-8').splitlines()[0][2:]}](decisions/{page.name})"
        for page in sorted((HERE / "decisions").glob("0*.md"))
    ),
    "tutorial": "[**Tutorial**\\\nTen minutes, from a table to a model](tutorial.md)"
    if (HERE / "tutorial.md").exists()
    else "[**First steps**\\\nYour first fit on candidate sets](gallery/plot_first_steps)",
}

# Single backquotes in docstrings are code; types are in the sections, so that signatures stay short.
default_role = "code"
autodoc_typehints = "none"
autosummary_generate = True
templates_path = ["_templates"]
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_style.ReadingOrder",
    "download_all_examples": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "min_reported_time": 5,
}

html_theme = "furo"
html_title = "oneof"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2166ac", "color-brand-content": "#2166ac"},
    "dark_css_variables": {"color-brand-primary": "#7fb8e6", "color-brand-content": "#7fb8e6"},
}
