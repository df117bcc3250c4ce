"""Conversion of a figure to inline SVG: unique ids, no external resources, colors and font of the page."""

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from oneof.plots.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIABLE = {value: f"var(--{name})" for name, value in PALETTE.items()}
_PIXELS_PER_POINT = 1.15
"""Scale of the figure; its text is then slightly smaller than the text of the page."""
_MIN_SCALE = 0.62
"""A curve then fits the width of a phone of 390 pixels."""
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_LONG_DECIMAL = re.compile(r"(\.\d\d)\d+")
_REFERENCE = re.compile(r"(^#|url\(#)([^)]*)")


def to_svg(figure: "Figure", *, prefix: str, title: str, description: str) -> str:
    """Return a figure as an inline ``<svg>`` element.

    The colors of the palette become CSS variables (``var(--ink)``, ...), which the page must define. Text stays text,
    in the page's font. Equal figures give equal text.

    Parameters
    ----------
    figure : matplotlib Figure
    prefix : str
        Prefix of every id, unique within the page.
    title, description : str
        Texts for screen readers.

    Returns
    -------
    str
    """
    import matplotlib as mpl

    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "oneof"}), warnings.catch_warnings():
        # The browser draws the text with its own fonts, so a glyph missing in matplotlib's fonts is harmless.
        harmless = "Glyph .* missing from|Matplotlib currently does not support|constrained_layout not applied"
        warnings.filterwarnings("ignore", message=f".*({harmless})", category=UserWarning)
        figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    root = ET.fromstring(buffer.getvalue())
    _strip_namespaces(root)
    _drop_invisible(root)
    _rename_ids(root, prefix)
    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", _page_style(element.attrib["style"]))
        for name in ("d", "x", "y", "transform"):
            if name in element.attrib:
                element.set(name, _LONG_DECIMAL.sub(r"\1", " ".join(element.attrib[name].split())))
        if element.tag not in ("text", "tspan"):
            element.text = None
        element.tail = None
    _set_title(root, prefix, title, description)
    return ET.tostring(root, encoding="unicode")


def _strip_namespaces(root: ET.Element) -> None:
    # An <svg> within HTML needs no namespaces, and the page must not contain URLs.
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}


def _drop_invisible(root: ET.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            style = re.sub(r"\s", "", child.get("style", ""))
            # An unpainted frame, or a blank cell of a heat map, whose border alone would be drawn.
            blank = child.tag == "path" and style in ("fill:none", f"fill:none;stroke:{PALETTE['paper']}")
            # The style sheet of matplotlib selects `*`, which would apply to the whole page; page.css has its own.
            if blank or child.tag in ("style", "metadata"):
                parent.remove(child)


def _rename_ids(root: ET.Element, prefix: str) -> None:
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = {name for value in values for _, name in _REFERENCE.findall(value)}
    names: dict[str, str] = {}
    for element in root.iter():
        identity = element.attrib.pop("id", "")
        if identity in used:
            names[identity] = f"{prefix}-{len(names)}"
            element.set("id", names[identity])
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, _REFERENCE.sub(lambda match: match[1] + names.get(match[2], match[2]), value))


def _page_style(style: str) -> str:
    declarations = (text.strip() for text in style.split(";") if not text.strip().startswith("font-family"))
    return _HEX.sub(lambda match: _VARIABLE.get(match[0], match[0]), "; ".join(declarations))


def _set_title(root: ET.Element, prefix: str, title: str, description: str) -> None:
    width, height = (float(root.get(side, "0").removesuffix("pt")) for side in ("width", "height"))
    root.attrib.clear()
    root.attrib.update({"viewBox": f"0 0 {width:g} {height:g}", "role": "img"})
    root.attrib.update({"width": f"{_PIXELS_PER_POINT * width:.0f}", "height": f"{_PIXELS_PER_POINT * height:.0f}"})
    # On a narrow screen a figure shrinks to a minimum size and then scrolls.
    root.set("style", f"min-width: {_MIN_SCALE * _PIXELS_PER_POINT * width:.0f}px")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(position, element)
