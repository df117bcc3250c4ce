"""A figure as SVG that stands inside a page: no ids that clash, nothing fetched, the page's own colors and font."""

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from oneof.plots.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIABLE = {value: f"var(--{name})" for name, value in PALETTE.items()}
_PIXELS = 1.15
"""Pixels of the page for a point of the figure: its text is then a little smaller than the page's own."""
_SMALLEST = 0.66
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_LONG_DECIMAL = re.compile(r"(\.\d\d)\d+")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def to_svg(figure: "Figure", *, prefix: str, title: str, description: str) -> str:
    """Return a figure as an inline ``<svg>`` element.

    The colors of the palette become CSS variables (``var(--ink)``, ...), which the page must define. Text stays text,
    in the page's font. Equal figures give equal text.

    Parameters
    ----------
    figure : matplotlib Figure
    prefix : str
        Put before every id; give each picture of a page its own.
    title, description : str
        What a screen reader says of the picture.

    Returns
    -------
    str
    """
    import matplotlib as mpl

    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "oneof"}), warnings.catch_warnings():
        # The browser's fonts, not matplotlib's, will draw the text: a glyph matplotlib lacks is no loss.
        warnings.filterwarnings("ignore", message=".*Glyph .* missing from", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*Matplotlib currently does not support", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied", category=UserWarning)
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
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
    _name(root, prefix, title, description)
    return ET.tostring(root, encoding="unicode")


def _strip_namespaces(root: ET.Element) -> None:
    # Within HTML an <svg> needs none, and no address of any kind stays in the page.
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in list(element.attrib):
            if "}" in key:
                element.set(key.rpartition("}")[2], element.attrib.pop(key))


def _drop_invisible(root: ET.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            style = re.sub(r"\s", "", child.get("style", ""))
            # A frame without paint, and a blank cell of a heat map, of which only the gap around it would be drawn.
            blank = child.tag == "path" and style in ("fill:none", f"fill:none;stroke:{PALETTE['paper']}")
            # matplotlib's own style sheet says `*`, which would hold for the whole page: page.css says it for svg.
            if blank or child.tag in ("style", "metadata"):
                parent.remove(child)


def _rename_ids(root: ET.Element, prefix: str) -> None:
    used = {element.get("href", "")[1:] for element in root.iter()}
    for element in root.iter():
        used.update(match for value in element.attrib.values() for match in _REFERENCE.findall(value))
    names: dict[str, str] = {}
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used and identity is not None:
            names[identity] = f"{prefix}-{len(names)}"
            element.set("id", names[identity])
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "href":
                element.set(key, "#" + names[value[1:]])
            elif "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", value))


def _page_style(style: str) -> str:
    kept = (part.strip() for part in style.split(";") if not part.strip().startswith("font-family"))
    return _HEX.sub(lambda match: _VARIABLE.get(match[0], match[0]), "; ".join(kept))


def _name(root: ET.Element, prefix: str, title: str, description: str) -> None:
    width, height = (float(root.get(side, "0").removesuffix("pt")) for side in ("width", "height"))
    root.attrib.clear()
    root.attrib.update({"viewBox": f"0 0 {width:g} {height:g}", "role": "img"})
    root.attrib.update({"width": f"{_PIXELS * width:.0f}", "height": f"{_PIXELS * height:.0f}"})
    # On a narrow screen a picture shrinks, but scrolls rather than becoming too small to read.
    root.set("style", f"min-width: {_SMALLEST * _PIXELS * width:.0f}px")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(position, element)
