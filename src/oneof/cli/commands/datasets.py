"""`oneof datasets`: list the data sets that can be loaded.

oneof datasets
ONEOF_DATA=~/data oneof datasets --json
"""

from oneof.cli import options, terminal


def run(*, json: options.Json = False) -> None:
    """List the data sets that oneof.datasets.load can load."""
    from oneof.datasets import dataset_info

    listed = dataset_info()
    if json:
        names = ("name", "n_samples", "n_features", "n_classes", "source", "available", "note")
        terminal.print_json({"datasets": [{name: getattr(info, name) for name in names} for info in listed]})
        return
    rows = []
    for info in listed:
        counts = ("-" if count is None else str(count) for count in (info.n_samples, info.n_features, info.n_classes))
        rows.append([info.name, info.source, "yes" if info.available else "no", *counts])
    columns = ["name", "source", "available", "rows", "features", "classes"]
    terminal.print_table("Data sets for oneof.datasets.load(name)", columns, rows, text_columns=3)
