"""An environment for each library, made by pip from its registry package, with nothing of ours in it."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HOME = Path(__file__).parents[2] / "build" / "peers"
PACKAGES = {
    # The release that oneof itself runs on, so that a ratio is of methods and not of releases.
    "scikit-learn": ("scikit-learn==" + version("scikit-learn"),),
    "vowpalwabbit": ("vowpalwabbit==9.11.*",),
    "river": ("river==0.26.*", "pandas"),  # pandas is for its mini-batches
    "liblinear-official": ("liblinear-official==2.50.*",),
}
SAME = (f"numpy=={version('numpy')}", f"scipy=={version('scipy')}")
"""What every side reads its data with: the same releases as here."""


class PeerError(Exception):
    """A library that cannot be raced, and why."""


def interpreter(library: str, given: dict[str, str]) -> str:
    """Return the Python of a library's environment, which is made on first use; `given` names those that exist."""
    if library == "oneof":
        return sys.executable
    folder = Path(given[library]) if library in given else HOME / library
    python = folder / "bin" / "python"
    wanted = "\n".join((*PACKAGES[library], *SAME))
    stamp = folder / "installed"
    if library in given or (stamp.exists() and stamp.read_text() == wanted):
        return str(python)
    print(f"  (making an environment for {library})", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES[library], *SAME], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr or error).strip().splitlines()
        raise PeerError(f"{library} cannot be installed: {lines[-1] if lines else error}") from error
    stamp.write_text(wanted)
    return str(python)
