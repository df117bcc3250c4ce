"""Another page in the same browser can neither read nor write the labeling page."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, needs_browser
from tests.labeling.serving import serving

pytestmark = needs_browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    """File server without log output."""

    def log_message(self, *_: Any) -> None:
        pass


def test_another_page_in_the_same_browser(page: Page, noted: LabelingSession, tmp_path: Path) -> None:
    """A page of another origin that has the link reads no answer, embeds no frame and writes no answer."""
    with serving(noted, annotator="Ann") as server:
        attack = (Path(__file__).parent / "attack.html").read_text().replace("LINK", server.link)
        (tmp_path / "other.html").write_text(attack)
        handler = functools.partial(Quiet, directory=str(tmp_path))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            page.browser.get(f"http://127.0.0.1:{other.server_port}/other.html")
            page.until(lambda: page.browser.execute_script("return window.results"))
            assert page.browser.execute_script("return window.results") == ["rejected"] * 5
            assert page.browser.execute_script("return [window.ran === true, image.naturalWidth]") == [False, 0]
            page.browser.switch_to.frame(0)
            assert "Which label?" not in page.browser.page_source
            page.browser.switch_to.default_content()
            page.browser.get("about:blank")  # closes its connection
            other.shutdown()
            thread.join()
        assert noted.answers.log() == []
        assert not noted._scheduler._leases
    page.browser.get_log("browser")  # messages of the browser about the rejected requests
