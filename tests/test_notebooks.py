"""The notebooks as stored and as run: from another folder, and twice in one kernel.

nbval (set up in pyproject.toml) runs each notebook once more and compares every output that is not tagged
`measured`.
"""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from specdec_lessons import publish

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = [
    "00_start_here", "01_cost_of_decode", "02_parallel_verification", "03_expected_tokens",
    "04_speedup_and_draft_length", "05_exact_rejection_sampling", "08_when_speculation_pays",
]
PIXEL = "iVBORw0KGgo="

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def small(*cells, run=False):
    """A notebook of `cells` in stored form; with run=True its outputs are those of a kernel."""
    notebook = new_notebook(cells=[
        new_code_cell(cell) if isinstance(cell, str) else copy.deepcopy(cell) for cell in cells])
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number}"
    if run:
        publish.execute(notebook, Path.cwd())
    publish.clean(notebook)
    return notebook


def code(source="1", output=None, tags=()):
    """A code cell with one output and some tags."""
    metadata = {"tags": list(tags)} if tags else {}
    return new_code_cell(source, metadata=metadata, outputs=[output] if output else [])


def data(**mimes):
    """An output that shows `mimes`, each named with _ for / (text_html="…")."""
    return new_output("display_data", data={name.replace("_", "/", 1): text for name, text in mimes.items()})


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def texts(notebook):
    """What each cell shows, but for pictures and for what is measured."""
    return [[] if {"measured", publish.IGNORE_OUTPUT} & set(publish.tags(cell))
            else [text for output in cell.outputs for text in publish.readable(output)]
            for cell in publish.code_cells(notebook)]


def run_elsewhere_twice(notebook, folder):
    """Run a copy of `notebook` in `folder`, all cells twice in one kernel; compare with what is stored."""
    ran = copy.deepcopy(notebook)
    seconds = publish.execute(ran, folder, times=2)
    publish.clean(ran)
    assert texts(ran) == texts(notebook)
    return seconds


def test_all_lessons_are_there():
    assert set(LESSONS) <= {path.stem for path in NOTEBOOKS}


@each_notebook
def test_stored_form(path):
    assert publish.problems(publish.read(path)) == []


@each_notebook
def test_from_another_folder_and_twice_in_one_kernel(path, tmp_path):
    seconds = run_elsewhere_twice(publish.read(path), tmp_path)
    for number, s in enumerate(seconds, start=1):
        if s > publish.SLOW_CELL:
            print(f"{path.stem}: code cell {number} took {s:.1f} s")


def test_control_sound_notebook_has_no_problem(tmp_path):
    notebook = small("x = 2", "print(x)", "x", run=True)
    assert publish.problems(notebook) == []
    run_elsewhere_twice(notebook, tmp_path)


@pytest.mark.parametrize("cell, complaint", [
    (code(output=stream("<object at 0x7f3a10>")), "memory address"),
    (code(output=data(text_plain="<function f at 0x7f3a10>")), "memory address"),
    (code(output=data(text_plain="np.float64(0.5)")), "numpy scalar"),
    (code(output=stream("[np.int64(1)]")), "numpy scalar"),
    (code(output=stream("/home/ann/course/x.py")), "path of this machine"),
    (code(output=stream("a warning", "stderr")), "stderr"),
    (code(output=new_output("error", ename="KeyError", evalue="'a'")), "traceback"),
    (code(output=data(image_png=PIXEL)), "alternative text"),
    (code(output=data(text_html=f'<img src="data:image/png;base64,{PIXEL}">')), "alternative text"),
    (code(output=data(text_html=f'<img alt=" " src="data:image/png;base64,{PIXEL}">')), "alternative text"),
    (code(output=data(text_html="<svg><path d='M0 0'/></svg>")), "alternative text"),
    (code(output=data(text_plain="VBox(children=(FloatSlider(value=0.8),))")), "static twin"),
    (code(output=data(text_plain="FloatSlider(value=0.8)")), "static twin"),
    (code("\n".join("x = 1" for _ in range(16))), "16 lines"),
    (code(" "), "is empty"),
    (new_markdown_cell("![](images/a.png)"), "alternative text"),
    (new_markdown_cell('<img src="images/a.png">'), "alternative text"),
])
def test_control_each_blemish_is_found(cell, complaint):
    found = publish.problems(small(cell))
    assert len(found) == 1 and complaint in found[0]


@pytest.mark.parametrize("cell", [
    code(output=stream("a warning", "stderr"), tags=["allow-stderr"]),
    code(output=new_output("error", ename="KeyError", evalue="'a'"), tags=["raises-exception"]),
    code(output=data(text_html=f'<img alt="a curve" src="data:image/png;base64,{PIXEL}">', image_png=PIXEL)),
    code(output=data(text_html='<svg role="img" aria-label="a curve"></svg>')),
    code(output=data(text_plain="(0.6, 0.2)")),
    code("\n".join("x = 1" for _ in range(15))),
    new_markdown_cell("![a curve](images/a.png) and `![](code)`"),
], ids=["stderr", "raises", "image", "svg", "numbers", "fifteen lines", "markdown image"])
def test_control_what_is_allowed_is_not_found(cell):
    assert publish.problems(small(cell)) == []


@pytest.mark.parametrize("spoil, complaint", [
    (lambda nb: nb.metadata.kernelspec.update(name="conda-env"), "kernelspec"),
    (lambda nb: nb.metadata.update(widgets={}), "metadata.widgets"),
    (lambda nb: nb.metadata.language_info.update(version="3.11.7"), "language_info"),
    (lambda nb: nb.cells[0].update(execution_count=7), "execution count must be 1, got 7"),
    (lambda nb: nb.cells[0].metadata.update(execution={}), "metadata.execution"),
    (lambda nb: nb.cells[0].outputs.append(
        new_output("display_data", data={publish.WIDGET_VIEW: {}})), "widget view"),
    (lambda nb: nb.cells[0].metadata.update(tags=["measured"]), "not nbval-ignore-output"),
    (lambda nb: nb.cells[0].metadata.update(tags=["measured", publish.IGNORE_OUTPUT]), "another source"),
    (lambda nb: nb.cells[0].update(surprise=1), "not a valid notebook"),
])
def test_control_each_fault_of_form_is_found(spoil, complaint):
    notebook = small("1")
    spoil(notebook)
    assert any(complaint in line for line in publish.problems(notebook))


def test_control_second_run_that_differs_is_found(tmp_path):
    notebook = small("n = globals().get('n', 0) + 1", "print(n)", run=True)
    with pytest.raises(AssertionError):
        run_elsewhere_twice(notebook, tmp_path)


def test_control_second_run_that_fails_is_found(tmp_path):
    notebook = small("assert 'n' not in globals()", "n = 1", run=True)
    with pytest.raises(publish.PublishError, match="code cell 1 raised"):
        run_elsewhere_twice(notebook, tmp_path)


def test_control_need_for_its_own_folder_is_found(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "table.csv").write_text("1")
    notebook = new_notebook(cells=[new_code_cell("print(open('table.csv').read())")])
    publish.execute(notebook, tmp_path)
    publish.clean(notebook)
    with pytest.raises(publish.PublishError, match="FileNotFoundError"):
        run_elsewhere_twice(notebook, tmp_path / "elsewhere")


def test_control_nbval_compares_but_for_measured_cells_and_pixels(tmp_path):
    picture = "from IPython.display import HTML\nHTML('<img alt=\"x\" src=\"data:image/png;base64,AAAA\">')"
    timing = code("import time\ntime.perf_counter()", tags=["measured"])
    notebook = small("print(1)", timing, picture, "2", picture + "#", run=True)
    other_pixels, other_number, other_text = (cell.outputs[0].data for cell in notebook.cells[2:])
    other_pixels["text/html"] = other_pixels["text/html"].replace("AAAA", "BBBB")
    other_number["text/plain"] = "3"
    other_text["text/html"] += "!"
    path = tmp_path / "control.ipynb"
    path.write_text(publish.nbformat.writes(notebook))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--color=no", "-rA",
         "-p", "no:cacheprovider", str(path)],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTEST_ADDOPTS": ""})
    verdicts = {line.split("::")[-1].split(" - ")[0]: line.split()[0] for line in done.stdout.splitlines()
                if line.startswith(("PASSED ", "FAILED "))}
    right = {f"Cell {number}": "PASSED" for number in range(3)}
    assert verdicts == right | {"Cell 3": "FAILED", "Cell 4": "FAILED"}, done.stdout
