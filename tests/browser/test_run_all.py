"""Every notebook opened in JupyterLab and run from the menu: no traceback, no stderr, no page error."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser import jupyterlab
from tests.browser.conftest import NOTEBOOKS


def write(server, name, *sources):
    """Add a small notebook to the served folder."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = new_notebook(metadata=kernel, cells=[new_code_cell(source) for source in sources])
    nbformat.write(notebook, server.root / name)
    return name


@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_run_all(page, server, name):
    jupyterlab.open_notebook(page, server, name)
    jupyterlab.run_all(page)
    assert jupyterlab.cell_errors(page) == []
    assert page.errors.lines == []
    done = jupyterlab.prompts(page)
    assert done == [f"[{number}]:" for number in range(1, len(done) + 1)]


def test_control_what_goes_wrong_in_a_cell_is_seen(page, server):
    warning = "import sys\nprint('warned', file=sys.stderr)"
    name = write(server, "control_cells.ipynb", warning, "1 / 0", "print('never')")
    jupyterlab.open_notebook(page, server, name)
    jupyterlab.run_all(page)
    warned, raised = jupyterlab.cell_errors(page)
    assert warned.startswith("code cell 1: warned")
    assert raised.startswith("code cell 2:") and "ZeroDivisionError" in raised


def test_control_what_goes_wrong_in_the_page_is_seen(page, server):
    name = write(server, "control_page.ipynb", "1")
    jupyterlab.open_notebook(page, server, name)
    page.evaluate("() => console.error('complained')")
    page.evaluate("() => { setTimeout(() => { throw new Error('thrown'); }, 0); }")
    page.wait_for_timeout(200)
    assert len(page.errors.lines) == 2
    assert "complained" in page.errors.lines[0] and "thrown" in page.errors.lines[1]
