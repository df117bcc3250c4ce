"""What both drawings share: colours that hold on light and on dark pages, and the frame of an SVG file."""

STYLE = """
  .paper { fill: #fbfcfd; stroke: #d3dae1 }
  .card { fill: #ffffff; stroke: #d3dae1 }
  .first { fill: #e8f1f9; stroke: #2166ac }
  .ask { fill: #fdf1e6; stroke: #c8610a }
  .accent { fill: #2166ac }
  .soft { fill: #b9c6d2 }
  .pixel { fill: #24313d; shape-rendering: crispEdges }
  .line { stroke: #8a97a3; fill: none; stroke-width: 1.6 }
  .tip { fill: #8a97a3 }
  text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #1b2733 }
  .muted { fill: #5c6975 }
  .strong { font-weight: 600 }
  .name { font-weight: 600; fill: #1c588f }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #171c22; stroke: #36414c }
    .card { fill: #20272f; stroke: #3d4955 }
    .first { fill: #16324a; stroke: #5ba3dc }
    .ask { fill: #3a2a1a; stroke: #d98a3d }
    .accent { fill: #5ba3dc }
    .soft { fill: #55626f }
    .pixel { fill: #dfe6ed }
    .line { stroke: #7d8a97 }
    .tip { fill: #7d8a97 }
    text { fill: #e6ebf0 }
    .muted { fill: #a5b1bd }
    .name { fill: #8cc4f0 }
  }
"""


def frame(width: int, height: int, title: str, body: list[str]) -> str:
    """Return an SVG file with a paper of its own, so that it can lie on any page."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{title}</title>",
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
