"""benchmarks/RESULTS.md: one section a script, each rewritten by its own."""

import os
import platform
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "RESULTS.md"
SECTIONS = ("online", "machines", "processes", "graphs", "words", "growth", "roofline", "gpu")
START = "# Measured\n\nEach section is written by the script that its first line names, and by nothing else.\n"


def machine() -> str:
    """Describe the processor, without a name or a path."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def load() -> str:
    """Return how many processes wanted a core in the last minute, where the system tells."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def write(section: str, text: str) -> None:
    """Put a section in its place; the others stay."""
    found = dict.fromkeys(SECTIONS, "")
    if RESULTS.exists():
        whole = RESULTS.read_text()
        for name in SECTIONS:
            begin, end = marks(name)
            if begin in whole:
                found[name] = whole.split(begin)[1].split(end)[0].strip("\n")
    found[section] = text.strip("\n")
    parts = [START]
    for name, body in found.items():
        if body:
            begin, end = marks(name)
            parts.append(f"{begin}\n\n{body}\n\n{end}\n")
    RESULTS.write_text("\n".join(parts))


def marks(section: str) -> tuple[str, str]:
    """Return the comments around a section."""
    return f"<!-- {section} -->", f"<!-- end of {section} -->"
