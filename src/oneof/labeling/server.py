"""Serving a session to this machine."""

import secrets
import socket
from typing import TYPE_CHECKING, Any

from oneof.errors import InputError, InputTypeError, MissingExtraError
from oneof.labeling.session import LabelingSession

if TYPE_CHECKING:
    from oneof.labeling.images import ImageFolder

HOST = "127.0.0.1"
_LAST_PORT = 65_535


class LabelingServer:
    """The labeling page of a session, for this machine alone.

    Parameters
    ----------
    session : LabelingSession
    title : str
    annotator : str
        The name that is offered to who opens the page.
    images : ImageFolder, optional
        From which the images of the session's table are shown.
    port : int, default=0
        0 takes one that is free.

    Attributes
    ----------
    link : str
        Where the page is. It holds a secret that is new for each server; whoever has the link may label.

    Raises
    ------
    InputError
        If the port is taken, or is none.
    InputTypeError
        If there is no session.
    MissingExtraError
        If starlette or uvicorn is not installed.
    """

    def __init__(
        self,
        session: LabelingSession,
        *,
        title: str = "Labeling",
        annotator: str = "me",
        images: "ImageFolder | None" = None,
        port: int = 0,
    ) -> None:
        try:
            import starlette  # noqa: F401 - asked for here, so that its absence is one sentence
            import uvicorn
        except ImportError as error:
            raise MissingExtraError(error.name or "uvicorn", "web") from None
        from oneof.labeling.app import Shown, make_app
        from oneof.labeling.guard import Guard, hosts_at

        if not isinstance(session, LabelingSession):
            raise InputTypeError(f"session is a {type(session).__name__}: give a oneof.labeling.LabelingSession.")
        self._socket = _listen(port)
        try:
            port = self._socket.getsockname()[1]
            token = secrets.token_urlsafe(24)
            self.link = f"http://{HOST}:{port}/{token}/"
            app = Guard(make_app(session, Shown(title, annotator, images)), token, hosts_at(port))
            config = uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,  # which would hold the secret
                lifespan="off",
                ws="none",
                http="h11",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
            self._server = uvicorn.Server(config)
        except BaseException:  # nobody has the server, who could run it to its end
            self._socket.close()
            raise

    def run(self) -> None:
        """Serve until `stop` is called, or the process is interrupted; a KeyboardInterrupt is passed on."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Have `run` end, from another thread."""
        self._server.should_exit = True


def serve(
    session: LabelingSession,
    *,
    title: str = "Labeling",
    annotator: str = "me",
    images: "ImageFolder | None" = None,
    port: int = 0,
    open_browser: bool = True,
) -> None:
    """Serve the labeling page of a session until the process is interrupted.

    Parameters
    ----------
    session : LabelingSession
        One that learns in the background (``background=True``), or else each answer waits for the model.
    title : str, default="Labeling"
    annotator : str, default="me"
        The name that is offered to who opens the page.
    images : ImageFolder, optional
        From which the images of the session's table are shown.
    port : int, default=0
        0 takes one that is free.
    open_browser : bool, default=True
        Whether the page is opened at once; the link is written in any case.

    Raises
    ------
    InputError
        If the port is taken, or is none.
    InputTypeError
        If there is no session.
    MissingExtraError
        If starlette or uvicorn is not installed.

    Examples
    --------
    >>> from oneof.labeling import LabelingSession, serve
    >>> session = LabelingSession([[0.0], [1.0]], classes=["finch", "wren"], background=True)
    >>> serve(session)  # doctest: +SKIP
    http://127.0.0.1:40123/4dT9.../
    >>> session.close()
    """
    import webbrowser

    server = LabelingServer(session, title=title, annotator=annotator, images=images, port=port)
    print(server.link)  # noqa: T201 - what it is for
    if open_browser:
        webbrowser.open(server.link)
    server.run()


def _listen(port: Any) -> socket.socket:
    """Return a socket of this machine that listens, so that who opens the link before `run` waits for it."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _LAST_PORT:
        raise InputError(f"`port` must be an integer from 0 to {_LAST_PORT}; got {port!r}.")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, int(port)))
        found.listen()
    except OSError as error:
        found.close()
        raise InputError(f"port {port} cannot be used ({error.strerror}): choose another.") from None
    except BaseException:
        found.close()
        raise
    return found
