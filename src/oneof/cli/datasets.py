"""`oneof datasets`: the data sets that can be loaded."""

from oneof.cli import options
from oneof.cli.guard import guarded

NAME = "datasets"
EXAMPLES = """\b
Examples:
  oneof datasets
  ONEOF_DATA=~/data oneof datasets --json
"""


def run(*, json: options.Json = False, debug: options.Debug = False) -> None:
    """List the data sets that oneof.datasets.load knows."""
    with guarded(debug=debug):
        from oneof.cli import terminal
        from oneof.datasets import dataset_info

        listed = dataset_info()
        if json:
            names = ("name", "n_samples", "n_features", "n_classes", "source", "available", "note")
            terminal.show_json({"datasets": [{name: getattr(info, name) for name in names} for info in listed]})
            return
        rows = [
            [
                info.name,
                info.source,
                "yes" if info.available else "no",
                *("-" if count is None else str(count) for count in (info.n_samples, info.n_features, info.n_classes)),
            ]
            for info in listed
        ]
        columns = ["name", "from", "at hand", "rows", "features", "classes"]
        terminal.show_table("Data sets for oneof.datasets.load(name)", columns, rows, text_columns=3)
