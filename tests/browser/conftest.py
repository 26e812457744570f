"""One JupyterLab and one Chromium for all browser tests; each test gets a fresh page and leaves no kernel.

Without Chromium or playwright the tests are skipped on a learner's machine and fail where CI is set.
"""

import importlib.util
import json
import os
import urllib.request
from pathlib import Path

import pytest

from tests.browser import jupyterlab

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def _missing() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (pip install -r tests/requirements.txt)"
    if jupyterlab.find_chromium() is None:
        return "Chromium is not installed (Debian: apt install chromium), or name it in CHROMIUM"
    return None


@pytest.fixture(scope="package")
def chromium():
    """A headless Chromium."""
    if reason := _missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"browser tests need a browser: {reason}")
    with jupyterlab.browser() as found:
        yield found


@pytest.fixture(scope="package")
def server(chromium):
    """A JupyterLab that serves a copy of the notebooks."""
    with jupyterlab.serve(NOTEBOOKS) as running:
        yield running


@pytest.fixture
def page(chromium, server):
    """A fresh page of 1400 × 900 pixels; `page.errors.lines` collects what goes wrong in it."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="no-preference")
    fresh = context.new_page()
    fresh.errors = jupyterlab.PageErrors()
    fresh.errors.watch(fresh)
    yield fresh
    context.close()
    _end_kernels(server)


def _end_kernels(server) -> None:
    """End every kernel of the server, so that the next test has the machine's memory for itself."""
    address, query = f"{server.url}api/sessions", f"?token={server.token}"
    with urllib.request.urlopen(address + query, timeout=20) as answer:
        sessions = json.load(answer)
    for session in sessions:
        request = urllib.request.Request(f"{address}/{session['id']}{query}", method="DELETE")
        urllib.request.urlopen(request, timeout=20).close()
