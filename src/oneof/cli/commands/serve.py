"""`oneof serve`: serve the predictions of a model over HTTP.

oneof serve birds-oneof/model.skops
oneof serve birds-oneof/model.skops --port 9000 --max-rows 100
oneof serve birds-oneof/model.skops --coverage 0.9
curl http://127.0.0.1:8000/model
curl http://127.0.0.1:8000/predict --json '{"row": {"span": 21.5, "color": "gray"}}'
"""

from dataclasses import asdict, dataclass
from typing import ClassVar

from oneof.cli import options, terminal
from oneof.serving.limits import DEFAULT_PORT, MAX_BODY_BYTES, MAX_ROWS
from oneof.sockets import LOCALHOST


@dataclass(frozen=True)
class ServerOptions:
    """Options of the server, as arguments of `oneof.serving.server.PredictionServer`."""

    TITLE: ClassVar[str] = "Server"

    host: str = options.option(
        "ADDRESS",
        "Address of this machine that accepts connections. With another one than the default, other machines can "
        "connect: there is no password and no encryption.",
        LOCALHOST,
    )
    port: int = options.option("PORT", "Port of the server; 0 selects a free one.", DEFAULT_PORT, min=0, max=65535)
    allowed_hosts: list[str] | None = options.option(
        "NAME",
        "Host name that requests may have, such as model.example.org; may be repeated. IP addresses and localhost are "
        "accepted, other names only if they are listed; '*' accepts any.",
        name="--allowed-host",
    )
    max_rows: int = options.option("N", "Maximum number of rows of a request.", MAX_ROWS, min=1)
    max_body_bytes: int = options.option("N", "Maximum size of the body of a request.", MAX_BODY_BYTES, min=1)
    strict: bool = options.flag(
        "Refuse rows with cells that are not of the kind of their column, such as a word among numbers. By default "
        "they are missing values, and the response names them."
    )
    log: bool = options.flag("Write one line for each request to standard error: time, path and status.")


def run(
    model: options.ModelFile,
    *,
    server_options: ServerOptions,
    coverage_group: options.CoverageGroup,
    json: options.Json = False,
) -> None:
    """Serve the predictions of a model over HTTP, as JSON.

    POST /predict predicts the label of {"row": {...}}, or of {"rows": [{...}, ...]}. GET /model returns the columns and
    classes, GET /openapi.json the description for clients, and GET /health the status. Stop with Ctrl-C. A model of a
    sparse matrix cannot be served, since it has no columns.
    """
    from oneof.cli.prediction import load_model
    from oneof.persistence.saved_model import check_calibrated, check_stemmer
    from oneof.serving.server import PredictionServer
    from oneof.sockets import check_server_installed

    set_options = coverage_group.set_options()
    check_server_installed("serving")
    saved = load_model(model)
    if set_options is not None:
        check_calibrated(saved, "--coverage needs")
    terminal.print_note(*check_stemmer(saved))
    server = PredictionServer(saved, sets=asdict(coverage_group), **asdict(server_options))
    terminal.print_note(*server.predictor.set_notes)
    if not server.is_local:
        terminal.print_note("other machines can connect; there is no password and no encryption. A proxy can add both.")
    if json:
        terminal.print_json({"url": server.url, "model": str(model), "method": saved.method})
    else:
        terminal.print_line(f"{saved.method} predicts at {server.url}/predict. Stop with Ctrl-C.")
        if server.predictor.set_guarantee is not None:
            terminal.print_line(f"Prediction sets: {server.predictor.set_guarantee}")
    try:
        server.run()
    except KeyboardInterrupt:  # the documented way to stop
        return
