"""Does this machine have what the course needs? The start page asks once."""

import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata

from packaging.version import InvalidVersion, Version

OLDEST_PYTHON = (3, 11)
NEEDED = {
    "numpy": "2.0",
    "scipy": "1.15",
    "matplotlib": "3.9",
    "ipywidgets": "8.1",
    "k3d": "3.2",
    "threadpoolctl": "3.5",
    "jupyterlab": "4.4",
}


@dataclass(frozen=True)
class Line:
    """One finding: whether it is well, and what was found."""

    ok: bool
    text: str

    def __repr__(self):
        return f"{'✓' if self.ok else '✗'} {self.text}"


class Findings(tuple):
    """Some lines, shown one below the other, with a verdict at the end."""

    @property
    def ok(self):
        return all(line.ok for line in self)

    def __repr__(self):
        verdict = "All set." if self.ok else (
            "Something is missing. In the folder of the course run: python -m pip install -r requirements.txt")
        return "\n".join([*map(repr, self), "", verdict])


def check_setup(needed=NEEDED, python=sys.version_info):
    """Compare the Python and the packages that run here with what the course needs.

    ``needed``: oldest usable version by package; ``python``: a version tuple. Returns the findings,
    which show themselves as text. Never raises: what is missing is a line.

    >>> check_setup(needed={"no-such-package": "1.0"}, python=(3, 10, 2))
    ✗ Python 3.10 (3.11 or newer is needed)
    ✗ no-such-package is not installed (1.0 or newer is needed)
    <BLANKLINE>
    Something is missing. In the folder of the course run: python -m pip install -r requirements.txt
    """
    version = ".".join(map(str, python[:2]))
    lines = [Line(tuple(python[:2]) >= OLDEST_PYTHON, f"Python {version} (3.11 or newer is needed)")]
    for package, oldest in needed.items():
        try:
            found = metadata.version(package)
            lines.append(Line(Version(found) >= Version(oldest), f"{package} {found} ({oldest} or newer is needed)"))
        except metadata.PackageNotFoundError:
            lines.append(Line(False, f"{package} is not installed ({oldest} or newer is needed)"))
        except InvalidVersion:
            lines.append(Line(False, f"{package} {found} has a version that cannot be compared"))
    return Findings(lines)


def on_binder():
    """Whether this kernel runs on Binder, where nothing is kept after the session."""
    return any(name.startswith("BINDER_") for name in os.environ)


def where_am_i():
    """Two lines: the machine that runs this notebook, and what becomes of your work on it."""
    machine = f"Python {platform.python_version()} on {platform.system()}, {os.cpu_count()} processors"
    if on_binder():
        return f"{machine}.\nOn Binder: your changes are lost when the session ends. Download what you want to keep."
    return f"{machine}.\nYour own computer or server: your changes are saved with the notebook."
