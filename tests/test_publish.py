"""Publishing: what is stored, what is kept, what is refused."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from specdec_lessons import publish

LIVE = """import ipywidgets
class Lab(ipywidgets.VBox):
    def _repr_mimebundle_(self, **kwargs):
        return super()._repr_mimebundle_(**kwargs) | {"text/plain": "a lab", "text/html": "<p>its twin</p>"}
Lab([ipywidgets.FloatSlider()])"""
TIMING = "import time\ntime.perf_counter_ns()"


def write(path, *cells):
    """Store a notebook as an editor would: run counts out of order, traces of the editor in the metadata."""
    notebook = new_notebook(
        metadata={"kernelspec": {"name": "mine", "display_name": "Mine", "language": "python"},
                  "language_info": {"name": "python", "version": "3.99"}, "widgets": {"state": {}}},
        cells=list(cells))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"kept-{number}"
        cell.metadata.update(collapsed=True, execution={"iopub.status.busy": "2024"})
    path.write_text(json.dumps(notebook))
    return path


def outputs(path):
    return [cell.outputs for cell in publish.code_cells(publish.read(path))]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A notebook with everything in it, published once."""
    path = write(
        tmp_path_factory.mktemp("published") / "lesson.ipynb",
        new_markdown_cell("# A lesson"),
        new_code_cell("print('one')\nprint('two', flush=True)\nprint('three')"),
        new_code_cell(TIMING, metadata={"tags": ["measured"]}),
        new_code_cell(LIVE),
        new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
        new_code_cell("6 * 7"),
    )
    report = publish.publish(path)
    assert report.changed and len(report.seconds) == 5
    return path


def test_second_run_changes_no_byte(published):
    before = published.read_bytes()
    report = publish.publish(published)
    assert not report.changed
    assert published.read_bytes() == before


def test_what_is_stored(published):
    raw = published.read_text()
    notebook = nbformat.read(published, as_version=4)
    assert raw.endswith("}\n") and raw.startswith('{\n "cells"')
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook.cells] == [f"kept-{n}" for n in range(6)]
    cells = publish.code_cells(notebook)
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5]
    assert not any({"collapsed", "execution"} & set(cell.metadata) for cell in notebook.cells)
    assert [(o.name, o.text) for o in cells[0].outputs] == [("stdout", "one\ntwo\nthree\n")]
    assert cells[1].metadata.tags == ["measured", "nbval-ignore-output"]
    assert dict(cells[2].outputs[0].data) == {"text/plain": "a lab", "text/html": "<p>its twin</p>"}
    assert cells[3].outputs[0].ename == "ZeroDivisionError"
    assert cells[4].outputs[0].data["text/plain"] == "42"


def test_measured_output_is_kept_until_the_source_changes_or_it_is_asked_for(tmp_path):
    path = write(tmp_path / "timing.ipynb", new_code_cell(TIMING, metadata={"tags": ["measured"]}))
    publish.publish(path)
    first = outputs(path)
    publish.publish(path)
    assert outputs(path) == first
    publish.publish(path, remeasure=True)
    second = outputs(path)
    assert second != first
    notebook = publish.read(path)
    notebook.cells[0].source += "  # measured again"
    path.write_text(nbformat.writes(notebook))
    publish.publish(path)
    assert outputs(path) != second


def test_cell_without_id_gets_the_same_one_each_time(tmp_path):
    path = tmp_path / "old.ipynb"
    old = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [
        {"cell_type": "code", "source": ["1 +\\\n", "1"], "metadata": {}, "outputs": [],
         "execution_count": None},
        {"cell_type": "markdown", "source": "text", "metadata": {}}]}
    path.write_text(json.dumps(old))
    publish.publish(path)
    assert [cell.id for cell in publish.read(path).cells] == ["cell-01", "cell-02"]
    assert not publish.publish(path).changed


@pytest.mark.parametrize("source, complaint", [
    ("1 / 0", "ZeroDivisionError"),
    ("object()", "memory address"),
    ("import warnings; warnings.warn('old')", "stderr"),
    ("import ipywidgets; ipywidgets.IntSlider()", "static twin"),
])
def test_bad_notebook_is_refused_and_its_file_left_alone(tmp_path, capsys, source, complaint):
    path = write(tmp_path / "bad.ipynb", new_code_cell(source))
    before = path.read_bytes()
    assert publish.main([str(path)]) == 1
    assert complaint in capsys.readouterr().err
    assert path.read_bytes() == before


def test_cells_run_in_the_folder_of_the_notebook(tmp_path, capsys):
    (tmp_path / "word.txt").write_text("found")
    path = write(tmp_path / "reads.ipynb", new_code_cell("open('word.txt').read()"))
    assert publish.main([str(path)]) == 0
    assert "reads.ipynb: stored, 1 code cells" in capsys.readouterr().out
    assert outputs(path)[0][0].data["text/plain"] == "'found'"


def test_slow_cells_and_notebooks_are_named(tmp_path):
    told = publish.describe(publish.Report(tmp_path / "slow.ipynb", True, [0.1, 10.5, 20.0]))
    assert "code cell 2 took 10.5 s, more than 10 s" in told
    assert "the notebook took 30.6 s, more than 30 s" in told
    assert "warning" not in publish.describe(publish.Report(tmp_path / "quick.ipynb", True, [0.1, 9.9]))


def test_a_progress_bar_is_stored_as_its_last_state():
    pieces = [stream(text) for text in ("a\r\n\r 10%", "\r 50%", "\r100%\ndone\n")]
    assert [output.text for output in publish.clean_outputs(pieces, 1)] == ["a\r\n100%\ndone\n"]


def stream(text):
    return publish.nbformat.v4.new_output("stream", name="stdout", text=text)
