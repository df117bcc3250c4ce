"""Colors for light and dark pages, and elements of the SVG drawings."""

from html import escape

LIGHT = {
    "paper": "#fbfcfd",
    "edge": "#d3dae1",
    "card": "#ffffff",
    "first": "#e8f1f9",
    "accent": "#2166ac",
    "ask": "#fdf1e6",
    "ask-edge": "#c8610a",
    "soft": "#b9c6d2",
    "pixel": "#24313d",
    "line": "#8a97a3",
    "ink": "#1b2733",
    "muted": "#5c6975",
    "name": "#1c588f",
}
DARK = {
    "paper": "#171c22",
    "edge": "#3d4955",
    "card": "#20272f",
    "first": "#16324a",
    "accent": "#5ba3dc",
    "ask": "#3a2a1a",
    "ask-edge": "#d98a3d",
    "soft": "#55626f",
    "pixel": "#dfe6ed",
    "line": "#7d8a97",
    "ink": "#e6ebf0",
    "muted": "#a5b1bd",
    "name": "#8cc4f0",
}
RULES = """
  .drawing .paper { fill: var(--paper); stroke: var(--edge) }
  .drawing .card { fill: var(--card); stroke: var(--edge) }
  .drawing .first { fill: var(--first); stroke: var(--accent) }
  .drawing .ask { fill: var(--ask); stroke: var(--ask-edge) }
  .drawing .accent { fill: var(--accent) }
  .drawing .soft { fill: var(--soft) }
  .drawing .pixel { fill: var(--pixel); shape-rendering: crispEdges }
  .drawing .line { stroke: var(--line); fill: none; stroke-width: 1.6 }
  .drawing text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: var(--ink) }
  .drawing .muted { fill: var(--muted) }
  .drawing .strong { font-weight: 600 }
  .drawing .name { font-weight: 600; fill: var(--name) }
  .drawing a .name { text-decoration: underline; text-underline-offset: 3px }
  .drawing a:hover rect, .drawing a:focus rect { stroke: var(--name); stroke-width: 2 }
  .drawing a:hover .name { fill: var(--ink) }
"""


def _colors(values: dict[str, str]) -> str:
    return "; ".join(f"--{name}: {value}" for name, value in values.items())


# A standalone drawing follows the theme of the system; within a page it follows the theme of the page.
STYLE = f"""
  .drawing {{ {_colors(LIGHT)} }}
  @media (prefers-color-scheme: dark) {{ .drawing:not([data-theme="light"] *) {{ {_colors(DARK)} }} }}
  [data-theme="dark"] .drawing {{ {_colors(DARK)} }}{RULES}"""


def frame(width: int, height: int, description: str, body: list[str]) -> str:
    """Return an SVG file with its own background; `description` is its text for screen readers."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {width} {height}" role="group" '
            f'aria-label="{escape(description)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>',
            *body,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, *, size: float = 14, kind: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "card") -> str:
    """Return a box with round corners."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7"/>'


def link(target: str, elements: list[str]) -> list[str]:
    """Return the elements as one link."""
    return [f'<a href="{target}">', *elements, "</a>"]
