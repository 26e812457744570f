"""The four assignments, released, handed in, graded and answered by the real nbgrader."""

import copy
import html
import importlib
import re
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.homework.course import HOMEWORK, ID_LINE, Course, cell, filled, told, with_id

NAMES = ("hw1_cost_of_decode", "hw2_speedup", "hw3_rejection_sampling", "hw4_capstone")
REGION = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS)\n(.*?)### END \1", re.DOTALL)
SOLVED = "ada.lovelace@example.org"


def golden(name):
    return importlib.import_module(f"tests.homework.{name}")


def about(one):
    return one.metadata.get("nbgrader", {})


def regions(notebook, kind):
    """The text of all regions of a kind, SOLUTION or HIDDEN TESTS."""
    return [text for one in notebook.cells for found, text in REGION.findall(one.source) if found == kind]


def telling_lines(notebook, kind):
    """Lines of such regions that stand nowhere else in the notebook, long enough to tell something."""
    open_text = "\n".join(REGION.sub("", one.source) for one in notebook.cells)
    lines = {line.strip() for text in regions(notebook, kind) for line in text.splitlines()}
    return {line for line in lines if len(line) > 25 and line not in open_text}


@pytest.fixture(scope="module", params=NAMES)
def graded(request, tmp_path_factory):
    """One assignment, released and graded: solved, untouched, and its golden submissions."""
    name = request.param
    course = Course(tmp_path_factory.mktemp(name))
    course.nbgrader("generate_assignment", name)
    release, source = course.release(name), course.source(name)
    course.submit(SOLVED, name, with_id(copy.deepcopy(source), SOLVED))
    course.submit("untouched", name, with_id(copy.deepcopy(release), "untouched"))
    for number, (who, (answers, _)) in enumerate(golden(name).GOLDEN.items()):
        student = f"student{number}"
        course.submit(student, name, filled(copy.deepcopy(source), answers, student))
    course.said = course.nbgrader("autograde", name)
    course.nbgrader("generate_feedback", name)
    return name, course


def test_form(graded):
    name, course = graded
    source = course.source(name)
    assert [one.metadata.get("nbgrader", {}).get("points", 0) for one in source.cells].count(0) >= 5
    assert sum(about(one).get("points", 0) for one in source.cells) == 100
    assert golden(name).AUTO + golden(name).WRITTEN == 100
    written = [one for one in source.cells if about(one).get("grade") and about(one).get("solution")]
    assert written and sum(about(one)["points"] for one in written) == golden(name).WRITTEN
    for one in source.cells:
        if about(one).get("grade") and not about(one).get("solution"):
            assert f"# canary {name} {about(one)['grade_id']}" in one.source
            assert "### BEGIN HIDDEN TESTS" in one.source
            assert one.metadata.tags == ["raises-exception"]  # Run All goes on past a check that complains
        if about(one).get("solution"):
            assert "### BEGIN SOLUTION" in one.source
    assert source.cells[0].cell_type == "markdown" and sum(
        one.source.startswith(ID_LINE) for one in source.cells) == 1
    assert all(not one.get("outputs") for one in source.cells)
    assert source.metadata.kernelspec.name == "python3"
    nbformat.validate(source)


def test_the_release_holds_no_solution_and_no_hidden_test(graded):
    name, course = graded
    source, release = course.source(name), nbformat.writes(course.release(name))
    assert "# canary" not in release and "BEGIN" not in release
    text = "\n".join(one.source for one in course.release(name).cells)
    for kind in ("SOLUTION", "HIDDEN TESTS"):
        assert len(telling_lines(source, kind)) >= 10  # control
        assert [line for line in telling_lines(source, kind) if line in text] == []


def test_the_solved_source_gets_all_points(graded):
    name, course = graded
    assert course.points(name)[SOLVED] == golden(name).AUTO
    assert course.mark(name, SOLVED) == 100


def test_the_untouched_release_gets_none_and_says_so(graded):
    name, course = graded
    cells = course.by_cell(name, "untouched")
    assert set(cells.values()) == {0}
    graded_notebook = course.autograded("untouched", name)
    for one in graded_notebook.cells:
        if about(one).get("grade") and not about(one).get("solution"):
            assert "not attempted yet" in told(graded_notebook, about(one)["grade_id"]).lower()


def test_golden_submissions_get_exactly_their_points(graded):
    name, course = graded
    points = course.points(name)
    expected = {who: points_due for who, (_, points_due) in golden(name).GOLDEN.items()}
    got = {who: points[f"student{number}"] for number, who in enumerate(golden(name).GOLDEN)}
    assert got == expected
    assert len(expected) >= 4 and any(0 < due < golden(name).AUTO for due in expected.values())


def test_feedback_holds_no_hidden_test_and_no_solution(graded):
    name, course = graded
    source = course.source(name)
    secret = telling_lines(source, "HIDDEN TESTS") | telling_lines(source, "SOLUTION")
    for student in ("untouched", SOLVED, *(f"student{number}" for number in range(len(golden(name).GOLDEN)))):
        page = html.unescape(re.sub(r"<[^>]+>", "", course.feedback(student, name)))
        own = "\n".join(REGION.sub("", one.source) if about(one).get("locked") else one.source
                        for one in course.autograded(student, name).cells)  # what the student wrote may well agree
        assert "# canary" not in page, student
        assert [line for line in secret if line in page and line not in own] == [], student
    assert "# canary" in nbformat.writes(course.autograded("untouched", name))  # control


def test_feedback_shows_the_figures_of_the_notebook(graded):
    name, course = graded
    page = course.feedback(SOLVED, name)
    assert "the rest of the output is cut off" not in page
    assert page.count("data:image/png;base64") == (2 if name == "hw4_capstone" else 0)


def test_two_students_have_different_numbers(graded):
    name, _ = graded
    module = importlib.import_module(f"specdec_lessons.homework.{name.split('_')[0]}")
    assert len({repr(module.numbers(f"student{number}")) for number in range(20)}) == 20
    assert repr(module.numbers(" Ada ")) == repr(module.numbers("ada"))
    for bad in ("", None, ..., 3.5, "two\nlines"):
        assert repr(module.numbers(bad)) == repr(module.numbers("practice"))


def test_the_solved_source_runs_in_a_students_kernel(graded, tmp_path):
    name, course = graded
    notebook = course.source(name)
    NotebookClient(notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(tmp_path)}},
                   extra_arguments=["--log-level=ERROR"]).execute()  # no id: practice numbers, no failing cell
    failed = [told(notebook, about(one)["grade_id"]) for one in notebook.cells
              if any(output.output_type == "error" for output in one.get("outputs", ()))]
    assert failed == []
    first = next(one for one in notebook.cells if "personal.identify" in one.source)
    assert "practice numbers" in "".join(output.get("text", "") for output in first.outputs)


def test_another_students_notebook_earns_nothing(graded):
    name, course = graded
    course.submit("bob", name, with_id(course.source(name), SOLVED))
    course.nbgrader("autograde", name, "--student", "bob")
    assert course.points(name)["bob"] == 0


def test_all_sources_are_tested():
    assert sorted(path.name for path in (HOMEWORK / "source").iterdir() if path.is_dir()) == sorted(NAMES)
    assert {path.stem for path in (Path(__file__).parent / "homework").glob("hw*.py")} == set(NAMES)


def test_the_readme_names_the_assignments_and_their_points():
    readme = (HOMEWORK.parents[1] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(hw\d_\w+)` .* \| (\d+) / (\d+) \|$", readme, re.MULTILINE)
    assert rows == [(name, f"{golden(name).AUTO:g}", f"{golden(name).WRITTEN:g}") for name in NAMES]


def test_cells_are_named_once():
    for name in NAMES:
        source = nbformat.read(HOMEWORK / "source" / name / f"{name}.ipynb", as_version=4)
        names = [about(one)["grade_id"] for one in source.cells if about(one)]
        assert len(names) == len(set(names))
        assert cell(source, names[0]) is not None


def test_files_as_learning_platforms_name_them_are_collected(tmp_path):
    course = Course(tmp_path / "a_course", sources=None)
    archive = course.folder / "downloaded" / "hw2_speedup" / "archive"
    archive.mkdir(parents=True)
    (archive / "ada_123_456_hw2_speedup (1).ipynb").write_text("{}")
    (archive / "hw2_speedup.ipynb").write_text("{}")  # nobody's
    with zipfile.ZipFile(archive / "all.zip", "w") as archived:
        archived.writestr("Bob Builder_77_assignsubmission_file/hw2_speedup.ipynb", "{}")
        archived.writestr("eve_notes.ipynb", "{}")
    course.nbgrader("zip_collect", "hw2_speedup")
    found = sorted(str(path.relative_to(course.folder / "submitted").as_posix())
                   for path in (course.folder / "submitted").rglob("*.ipynb"))
    assert found == ["Bob Builder/hw2_speedup/hw2_speedup.ipynb", "ada/hw2_speedup/hw2_speedup.ipynb"]
