"""Sessions of `oneof label`: a table without labels, a page that is served, and options."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oneof.cli.labeling import OpenedSession, open_session
from oneof.cli.options import AnnotatorGroup, LabelOptions, PageGroup, ReadOptions, SessionGroup
from oneof.labeling.http.server import LabelingServer
from tests.cli.conftest import Run, make_birds
from tests.labeling.serving import Client

CLASSES = ("--classes", "finch,owl,wren")
LABEL = ("--labels", "species", "--hide", "truth")


@pytest.fixture
def bare(run: Run) -> Path:
    """Write the table of birds without labels."""
    path = Path("birds.csv")
    make_birds().drop("species").write_csv(path)
    return path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Client], None]], None]:
    """Run actions on the page as soon as it is served, and then raise KeyboardInterrupt."""

    def label(person: Callable[[Client], None]) -> None:
        def run(server: LabelingServer) -> None:
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            person(Client(server.link))
            server.stop()
            thread.join()
            raise KeyboardInterrupt

        monkeypatch.setattr(LabelingServer, "run", run)

    serve = LabelingServer.run
    return label


def answer_rightly(client: Client) -> None:
    """Label 20 rows, every other one with two labels."""
    classes = client.get("api/session").json()["classes"]
    truth = make_birds()["truth"].to_list()
    question = client.ask()
    for n in range(20):
        k = classes.index(truth[question["row"]])
        question = client.answer(question, "one of", sorted({k, (k + n % 2) % 3})).json()["question"]


def open_birds(
    path: Path | str,
    read_options: ReadOptions,
    *,
    hide: tuple[str, ...] = ("truth",),
    show: tuple[str, str] | None = None,
    gold: str | None = None,
    serves: bool = False,
    **session: Any,
) -> OpenedSession:
    """Open a session of a table, with the options of the command line."""
    page = PageGroup(show=show, hide=hide)
    options = LabelOptions(page, SessionGroup(**session), AnnotatorGroup(gold=gold))
    return open_session(Path(path), read_options, options, Path("answers.sqlite"), serves=serves)


READ_OPTIONS = ReadOptions(("species",), classes=("finch", "owl", "wren"))
