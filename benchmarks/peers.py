"""`oneof` beside other libraries: same data, same finishing line, each in an environment of its own.

Run with `python benchmarks/peers.py [discipline ...]`, a discipline being online, machines, processes, graphs or words;
all of them if none is named. Each has a section of benchmarks/RESULTS.md. Every peer is installed by pip into an
environment under build/peers on first use (`--environment NAME=FOLDER` takes one that is there). Each library has one
process, with one thread for BLAS; the runs of the two sides alternate, so that other load falls on both alike. A peer
is tried in every form that its documentation offers, and its fastest is raced, warm, with its data in memory in its own
structures, or in its own file format where it reads files. Compiling, reading our arrays and judging are not timed.
`--size` makes the data smaller, to try out the script.
"""

import argparse
import os
import shutil
from typing import Any

import numpy as np
from sides.environments import HOME, PACKAGES, PeerError
from sides.process import Side
from sides.race import Form, Race, run
from sides.races import DISCIPLINES
from sides.results import load, machine, write

DATA = HOME / f"data{os.getpid()}"
HEAD = (
    "| task | finishing line | `oneof` | peer | processor time: ours, theirs | ratio | on the wall | found | goal |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def number(value: float) -> str:
    """Format seconds or rates to three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def ratio(ours: Form, peer: Form, which: int) -> str:
    """Format the ratio of medians, and the lowest and highest ratio of a round."""
    a, b = ours.column(which), peer.column(which)
    return f"{np.median(b) / np.median(a):.1f} [{(b / a).min():.1f}, {(b / a).max():.1f}]"


def told(form: Form) -> str:
    """Format what a side found."""
    words = ", ".join(f"{'' if name == 'accuracy' else name + ' '}{value:.5g}" for name, value in form.found.items())
    return words if form.reached else f"{words} (line not reached)"


def entered(entrant: str, form: Form) -> str:
    """Format how a side ran."""
    options = ", ".join(f"{name}={value}" for name, value in form.options.items() if name not in ("length", "n_rows"))
    return f"{entrant}({options})"


def row(race: Race, ours: Form, peer: Form) -> str:
    """Format a line of the table."""
    spent = [np.median(form.column(0)) for form in (ours, peer)]
    times = " s, ".join(number(value) for value in spent) + " s"
    if race.n_rows:
        times += "; " + ", ".join(number(race.n_rows / value) for value in spent) + " rows/s"
    met = "won" if spent[1] >= race.asked * spent[0] else "ahead" if spent[1] >= spent[0] else "**behind**"
    cells = (
        race.task,
        race.line.words,
        entered(race.ours.runner, ours),
        f"{race.peer.library}: {entered(race.peer.runner, peer)}",
        times,
        f"**{ratio(ours, peer, 0)}**",
        ratio(ours, peer, 1),
        f"{told(ours)}; {told(peer)}",
        f"{race.asked:g}: {met}",
    )
    return "| " + " | ".join(cells) + " |"


def sides_of(libraries: list[str], given: dict[str, str]) -> tuple[dict[str, Side], dict[str, str]]:
    """Start a process for each library; return those that are missing, and why."""
    found, missing = {}, {}
    for library in libraries:
        try:
            found[library] = Side(library, given)
        except PeerError as error:
            missing[library] = str(error)
    return found, missing


def raced(race: Race, sides: dict[str, Side], missing: dict[str, str], repeats: int) -> str:
    """Return the line of a race; a peer that is missing or fails is told in it."""
    reason = missing.get(race.peer.library)
    if reason is None:
        try:
            return row(race, *run(race, sides, DATA, repeats))
        except PeerError as error:
            reason = str(error)
    return f"| {race.task} | {race.line.words} | | {race.peer.library} | not raced: {reason} | | | | |"


def section(name: str, races: list[Race], sides: dict[str, Side], missing: dict[str, str], options: Any) -> None:
    """Run the races of a discipline; its section grows with each, so that what is measured is kept."""
    before, lines, made = load(), [HEAD], None
    libraries = ["oneof", *dict.fromkeys(race.peer.library for race in races if race.peer.library in sides)]
    versions, ours = "; ".join(f"{library} {sides[library].versions[library]}" for library in libraries), sides["oneof"]
    for race in races:
        print(f"{race.task} | {race.peer.library}", flush=True)
        if made is not race.make:
            shutil.rmtree(DATA, ignore_errors=True)
            race.make(DATA, options.size)
            made = race.make
        lines.append(raced(race, sides, missing, options.repeats))
        print(lines[-1], flush=True)
        text = f"""## Beside other libraries: {race.discipline}

`python benchmarks/peers.py {name}`, on {machine()};
{versions};
the same NumPy {ours.versions["numpy"]} and SciPy {ours.versions["scipy"]} for all. One thread for BLAS on each side.
Processes that wanted a core: {before} at the start, {load()} at the end. Medians of {options.repeats} rounds in which
the sides alternate; in brackets the lowest and the highest ratio of a round. A ratio above 1 says how many times less
time `oneof` took. What the rows mean is told in docs/peers.md.

""" + "\n".join(lines)
        if options.size == 1.0 and options.peer is None:
            write(name, text)
    shutil.rmtree(DATA, ignore_errors=True)


def main() -> None:
    """Run the races and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("disciplines", nargs="*", help=", ".join(DISCIPLINES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--peer", help="race against this library alone, and only print")
    parser.add_argument("--environment", action="append", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    races = {
        name: [race for race in DISCIPLINES[name]() if options.peer in (None, race.peer.library)]
        for name in options.disciplines or DISCIPLINES
    }
    entered_in = {race.peer.library for found in races.values() for race in found}
    libraries = ["oneof", *(name for name in PACKAGES if name in entered_in)]
    sides, missing = sides_of(libraries, dict(pair.split("=", 1) for pair in options.environment))
    for name, found in races.items():
        section(name, found, sides, missing, options)
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
