"""Tables of `oneof` and other libraries: same data, same target, each library in its own environment.

Each part of the theme is a discipline with its section of benchmarks/RESULTS.md. Every peer is installed by pip into an
environment under build/peers on first use. Each library has one process, with one thread for BLAS; the runs of the two
sides alternate, so that other load affects both. A peer is tried in every form that its documentation offers, and its
fastest form is timed, warm, with its data in memory in its own structures, or in its own file format if it reads files.
Compilation, reading our arrays and the evaluation are not timed.
"""

import os
import shutil

import numpy as np

from benchmarks.common import describe_machine, load_average, write_section
from benchmarks.peers.race import Form, Race, run
from benchmarks.peers.races import DISCIPLINES
from benchmarks.peers.sides import HOME, PACKAGES, PeerError, Side

DATA = HOME / f"data{os.getpid()}"
HEAD = (
    "| task | target | `oneof` | peer | processor time: ours, theirs | ratio | wall clock | result | goal |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def format_number(value: float) -> str:
    """Format seconds or rates to three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def format_ratio(ours: Form, peer: Form, which: int) -> str:
    """Format the ratio of medians, and the lowest and highest ratio of a round."""
    a, b = ours.column(which), peer.column(which)
    return f"{np.median(b) / np.median(a):.1f} [{(b / a).min():.1f}, {(b / a).max():.1f}]"


def format_outcome(form: Form) -> str:
    """Format the result of a side."""
    words = ", ".join(f"{'' if name == 'accuracy' else name + ' '}{value:.5g}" for name, value in form.result.items())
    return words if form.reached else f"{words} (target not reached)"


def format_form(entrant: str, form: Form) -> str:
    """Format the options of a side."""
    options = ", ".join(f"{name}={value}" for name, value in form.options.items() if name not in ("length", "n_rows"))
    return f"{entrant}({options})"


def format_row(race: Race, ours: Form, peer: Form) -> str:
    """Format a line of the table."""
    spent = [np.median(form.column(0)) for form in (ours, peer)]
    times = " s, ".join(format_number(value) for value in spent) + " s"
    if race.n_rows:
        times += "; " + ", ".join(format_number(race.n_rows / value) for value in spent) + " rows/s"
    verdict = "won" if spent[1] >= race.asked * spent[0] else "ahead" if spent[1] >= spent[0] else "**behind**"
    cells = (
        race.task,
        race.target.words,
        format_form(race.ours.runner, ours),
        f"{race.peer.library}: {format_form(race.peer.runner, peer)}",
        times,
        f"**{format_ratio(ours, peer, 0)}**",
        format_ratio(ours, peer, 1),
        f"{format_outcome(ours)}; {format_outcome(peer)}",
        f"{race.asked:g}: {verdict}",
    )
    return "| " + " | ".join(cells) + " |"


def start_sides(libraries: list[str], given: dict[str, str]) -> tuple[dict[str, Side], dict[str, str]]:
    """Start a process for each library; return the processes, and the reason for each missing one."""
    sides, missing = {}, {}
    for library in libraries:
        try:
            sides[library] = Side(library, given)
        except PeerError as error:
            missing[library] = str(error)
    return sides, missing


def race_row(race: Race, sides: dict[str, Side], missing: dict[str, str], repeats: int) -> str:
    """Return the row of a race, with the reason if a peer is missing or fails."""
    reason = missing.get(race.peer.library)
    if reason is None:
        try:
            return format_row(race, *run(race, sides, DATA, repeats))
        except PeerError as error:
            reason = str(error)
    return f"| {race.task} | {race.target.words} | | {race.peer.library} | not run: {reason} | | | | |"


def run_discipline(
    name: str,
    races: list[Race],
    sides: dict[str, Side],
    missing: dict[str, str],
    *,
    repeats: int,
    size: float,
    store: bool,
) -> None:
    """Run the races of a discipline; its section is written after each one."""
    before, lines, made = load_average(), [HEAD], None
    libraries = ["oneof", *dict.fromkeys(race.peer.library for race in races if race.peer.library in sides)]
    versions, ours = "; ".join(f"{library} {sides[library].versions[library]}" for library in libraries), sides["oneof"]
    for race in races:
        print(f"{race.task} | {race.peer.library}", flush=True)
        if made is not race.make:
            shutil.rmtree(DATA, ignore_errors=True)
            race.make(DATA, size)
            made = race.make
        lines.append(race_row(race, sides, missing, repeats))
        print(lines[-1], flush=True)
        text = f"""## Compared with other libraries: {race.discipline}

`python -m benchmarks peers {name}`, on {describe_machine()};
{versions};
the same NumPy {ours.versions["numpy"]} and SciPy {ours.versions["scipy"]} for all. One thread for BLAS on each side.
Load average: {before} at the start, {load_average()} at the end. Medians of {repeats} rounds in which the sides
alternate; in brackets the lowest and the highest ratio of a round. The ratio is the peer's time divided by that of
`oneof`. docs/peers.md explains the rows.

""" + "\n".join(lines)
        if store:
            write_section(name, text)
    shutil.rmtree(DATA, ignore_errors=True)


def race_all(name: str, repeats: int, size: float, peer: str, environment: str) -> None:
    """Run the races of a discipline, and write its section of benchmarks/RESULTS.md."""
    races = [race for race in DISCIPLINES[name]() if peer in ("", race.peer.library)]
    entered = {race.peer.library for race in races}
    libraries = ["oneof", *(library for library in PACKAGES if library in entered)]
    given = dict(pair.split("=", 1) for pair in environment.split(",") if pair)
    sides, missing = start_sides(libraries, given)
    run_discipline(name, races, sides, missing, repeats=repeats, size=size, store=size == 1.0 and not peer)
    for side in sides.values():
        side.close()


def online(*, repeats=5, size=1.0, peer="", environment=""):
    """Race the online learners.

    `--size` makes the data smaller, to try out the script; `--peer` races against one library, and only prints;
    `--environment NAME=FOLDER,...` uses existing environments of peers.
    """
    race_all("online", repeats, size, peer, environment)


def svm(*, repeats=5, size=1.0, peer="", environment=""):
    """Race the linear SVMs to the same objective; options as for `online`."""
    race_all("svm", repeats, size, peer, environment)


def gaussian_processes(*, repeats=5, size=1.0, peer="", environment=""):
    """Race the Gaussian process classifiers; options as for `online`."""
    race_all("gaussian-processes", repeats, size, peer, environment)


def graphs(*, repeats=5, size=1.0, peer="", environment=""):
    """Race the graph methods to the same accuracy; options as for `online`."""
    race_all("graphs", repeats, size, peer, environment)


def naive_bayes(*, repeats=5, size=1.0, peer="", environment=""):
    """Race naive Bayes and self-training; options as for `online`."""
    race_all("naive-bayes", repeats, size, peer, environment)
