"""A process that serves a session whose answers are in a file: what the tests kill.

Run with `python -m tests.web.labeller FILE [N_ROWS]`; it writes its link to standard output.
"""

import sys

from oneof.web.server import LabellingServer
from oneof.web.session import LabellingSession
from tests.web.conftest import CLASSES, make_rows


def main() -> None:
    """Serve until killed."""
    rows, _ = make_rows(int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    session = LabellingSession(rows, classes=CLASSES, path=sys.argv[1], background=True, random_state=0)
    server = LabellingServer(session, title="Birds", annotator="Ann")
    sys.stdout.write(server.link + "\n")
    sys.stdout.flush()
    server.run()


if __name__ == "__main__":
    main()
