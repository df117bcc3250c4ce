"""Check that every internal link of the built site has a target: pages, files, and anchors, also in drawings and code.

Sphinx checks the references of the sources, but neither the links of inlined SVG files nor those that themes and other
extensions write.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


class _Page(HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect identifiers and links; `tag` does not matter."""
        del tag
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif name in {"href", "src", "xlink:href"} and value:
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    """Return a sentence for each internal link without a target, by page."""
    pages = {}
    for file in sorted(site.resolve().rglob("*.html")):
        pages[file] = _Page()
        pages[file].feed(file.read_text(encoding="utf-8"))
    broken = []
    for file, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (file.parent / unquote(url.path)).resolve() if url.path else file
            anchor = unquote(url.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{file.relative_to(site.resolve())}: no target for {link}")
    return broken


def check(app: Sphinx, exception: Exception | None) -> None:
    """Warn about each link without a target, so that a build with --fail-on-warning fails."""
    if exception is None and app.builder.name == "html":
        for sentence in broken_links(Path(app.outdir)):
            logger.warning(sentence)


def setup(app: Sphinx) -> dict[str, Any]:
    """Check the site when it is complete."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
