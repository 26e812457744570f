"""Clumsy and hostile submissions, graded by the real nbgrader: each ends, none earns what it should not."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from tests.homework.course import ID_LINE, Course, assignment, cell, filled, told

NAME = "small"
SECONDS = 3
HIDDEN = "canary-of-a-hidden-test"
SOLUTION = "canary-of-a-solution"
RIGHT = {"mean": "def mean(x):\n    return sum(x) / len(x)", "half": "half = mine / 2"}
CELLS = [
    ("free", None, 0, f"{ID_LINE}  # your id"),
    ("given", "start", 0, "from specdec_lessons.homework import personal\n"
                          "mine = float(personal.generator('small', STUDENT_ID).integers(10, 10**6))"),
    ("solution", "mean", 0, "def mean(x):\n    ### BEGIN SOLUTION\n    return sum(x) / len(x)  # canary-of-a-solution\n"
                            "    ### END SOLUTION"),
    ("tests", "test-mean", 30, "import numpy as np\nfrom specdec_lessons.homework import checks\n"
                               "checks.number('mean of 1, 2', mean([1, 2]), 1.5, tell=True)\n"
                               "### BEGIN HIDDEN TESTS\n# canary-of-a-hidden-test\n"
                               "for n in (1, 5):\n"
                               "    assert np.isclose(mean(list(range(n))), (n - 1) / 2), 'mean: longer lists'\n"
                               "### END HIDDEN TESTS"),
    ("solution", "half", 0, "half = None\n### BEGIN SOLUTION\nhalf = mine / 2\n### END SOLUTION"),
    ("tests", "test-half", 50, "from specdec_lessons.homework import checks, personal\n"
                               "checks.true('half is a number', isinstance(half, float), 'Not attempted yet.')\n"
                               "### BEGIN HIDDEN TESTS\n# canary-of-a-hidden-test\n"
                               "own = float(personal.generator('small', STUDENT_ID).integers(10, 10**6))\n"
                               "checks.number('half of my number', half, own / 2)\n"
                               "### END HIDDEN TESTS"),
    ("written", "why", 20, "### BEGIN SOLUTION\ncanary-of-a-solution: because.\n### END SOLUTION"),
]
EVERYTHING_EQUAL = """\
import numpy as np, builtins
np.isclose = np.allclose = np.array_equal = lambda *a, **k: True
np.testing.assert_allclose = np.abs = lambda *a, **k: 0
builtins.abs = lambda x: 0
builtins.isinstance = lambda *a: True"""
NO_ASSERT = """\
import ast
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Drop())
get_ipython().set_custom_exc((BaseException,), lambda *a: None)
import specdec_lessons.homework.checks as checks
for name in ("number", "numbers", "choice", "true"):
    setattr(checks, name, lambda *a, **k: None)"""
PATCHED_WIRE = """\
import specdec_lessons.homework.wire as wire
wire.call = lambda *a, **k: '{"is": "value", "value": true}'
wire.look = lambda space, name: '{"is": "value", "value": true}'"""
AGREES_WITH_ALL = """\
class Agree(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
def mean(x):
    return Agree(7)"""
READS_TESTS = """\
from pathlib import Path
import glob, sqlite3
def mean(x):
    return 0
seen = ""
for path in [{folder!r} + "/gradebook.db", {folder!r} + "/source/small/small.ipynb"]:
    try:
        seen += Path(path).read_text(errors="replace")
    except PermissionError:
        seen += "closed "
print(seen)"""
DELETES = """\
import os, shutil, subprocess
def attempt(action, *arguments):
    try:
        action(*arguments)
    except BaseException:
        pass
for path in ({folder!r}, "../..", "..", {folder!r} + "/gradebook.db", {folder!r} + "/source/small/small.ipynb"):
    attempt(shutil.rmtree, path)
    attempt(os.remove, path)
    attempt(os.rename, path, "/tmp/gone")
    attempt(lambda: open(path, "w").write("gone"))
    attempt(os.system, f"rm -rf {{path}}")
    attempt(subprocess.run, ["rm", "-rf", path])
open("note.txt", "w").write("my own file")
os.remove("note.txt")"""


def on_top(notebook, source):
    notebook.cells.insert(0, new_code_cell(source))
    return notebook


def wrong(notebook, student):
    """Both answers wrong: whatever is added to it has to earn nothing."""
    return filled(notebook, {"mean": "def mean(x):\n    return 7.0", "half": "half = 7.0"}, student)


def right(notebook, student):
    return filled(notebook, RIGHT, student)


def deleted(notebook, *names):
    notebook.cells = [one for one in notebook.cells if one.metadata.get("nbgrader", {}).get("grade_id") not in names]
    return notebook


def doubled(notebook, name, source=None):
    twin = copy.deepcopy(cell(notebook, name))
    twin.source = source if source is not None else twin.source
    notebook.cells.append(twin)
    return notebook


def tampered(notebook):
    """Test cells emptied, unlocked, worth more; and a cell of one's own that is worth a thousand points."""
    for name in ("test-mean", "test-half"):
        one = cell(notebook, name)
        one.source = "pass"
        one.metadata.nbgrader.update(points=1000, locked=False, solution=True)
    notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": {
        "grade": True, "solution": False, "locked": True, "grade_id": "gift", "points": 1000, "schema_version": 3,
        "task": False}}))
    notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": {"grade": True}}))
    notebook.cells.append(new_code_cell("pass", metadata={"nbgrader": "nonsense"}))
    return notebook


def as_markdown(notebook):
    """The test cells turned into text."""
    for name in ("test-mean", "test-half"):
        one = cell(notebook, name)
        notebook.cells[notebook.cells.index(one)] = nbformat.v4.new_markdown_cell(one.source, metadata=one.metadata)
    return notebook


# name: (how the submission is made from the release, its automatic points)
SUBMISSIONS = {
    "right": (right, 80),
    "untouched": (lambda nb, who: filled(nb, {}, who), 0),
    "wrong": (wrong, 0),
    "loop-in-cell": (lambda nb, who: on_top(right(nb, who), "while True: pass"), 80),
    "loop-in-function": (lambda nb, who: filled(
        nb, RIGHT | {"mean": "def mean(x):\n    while True:\n        try:\n            while True: pass\n"
                             "        except BaseException: pass"}, who), 50),
    "loop-in-answer": (lambda nb, who: filled(nb, RIGHT | {"half": "while True: pass"}, who), 30),
    "sys-exit": (lambda nb, who: on_top(right(nb, who), "import sys\nsys.exit()"), 80),
    "exit": (lambda nb, who: filled(nb, RIGHT | {"half": "half = mine / 2\nexit()"}, who), 30),
    "os-exit": (lambda nb, who: filled(
        nb, RIGHT | {"mean": "import os\ndef mean(x):\n    os._exit(0)"}, who), 50),
    "raises-exit": (lambda nb, who: filled(nb, RIGHT | {"mean": "def mean(x):\n    raise SystemExit"}, who), 50),
    "deleted-test": (lambda nb, who: deleted(wrong(nb, who), "test-mean", "test-half"), 0),
    "deleted-test-right": (lambda nb, who: deleted(right(nb, who), "test-mean", "test-half"), 80),
    "deleted-all": (lambda nb, who: deleted(right(nb, who), "mean", "test-mean", "half", "test-half", "why"), 0),
    "doubled-test": (lambda nb, who: doubled(doubled(wrong(nb, who), "test-mean"), "test-half", "pass"), 0),
    "doubled-answer": (lambda nb, who: doubled(right(nb, who), "mean", "x = 1"), 80),
    "tampered": (lambda nb, who: tampered(wrong(nb, who)), 0),
    "as-markdown": (lambda nb, who: as_markdown(wrong(nb, who)), 0),
    "no-assert": (lambda nb, who: on_top(wrong(nb, who), NO_ASSERT), 0),
    "everything-equal": (lambda nb, who: on_top(wrong(nb, who), EVERYTHING_EQUAL), 0),
    "patched-wire": (lambda nb, who: on_top(wrong(nb, who), PATCHED_WIRE), 0),
    "agrees-with-all": (lambda nb, who: filled(nb, {"mean": AGREES_WITH_ALL}, who), 0),
    "nan": (lambda nb, who: filled(
        nb, {"mean": "def mean(x):\n    return float('nan')", "half": "half = float('nan')"}, who), 0),
    "infinite": (lambda nb, who: filled(
        nb, {"mean": "def mean(x):\n    return float('inf')", "half": "half = 10**400"}, who), 0),
    "objects": (lambda nb, who: filled(
        nb, {"mean": "def mean(x):\n    return object()", "half": "half = []\nhalf.append(half)"}, who), 0),
    "print-flood": (lambda nb, who: on_top(right(nb, who), "while True: print('x' * 1000)"), 80),
    "prints-in-function": (lambda nb, who: filled(
        nb, RIGHT | {"mean": "def mean(x):\n    print('y' * 10**6)\n    return sum(x) / len(x)"}, who), 80),
    "eats-memory": (lambda nb, who: on_top(right(nb, who), "x = bytearray(10**11)"), 80),
    "syntax-error": (lambda nb, who: filled(nb, RIGHT | {"mean": "def mean(x)\n  return"}, who), 50),
    "another": (lambda nb, who: right(nb, "right"), 0),
    "no-id": (lambda nb, who: right(nb, ""), 0),
    "odd-id": (lambda nb, who: right(nb, "two\nlines"), 0),
    "id-is-code": (lambda nb, who: on_top(
        filled(nb, RIGHT, "x"), "class S(str):\n    def __eq__(s, o): return True\nSTUDENT_ID = S('x')"), 0),
    "Capital": (lambda nb, who: right(nb, "  capital "), 80),
}
NOT_GRADED = ("renamed", "no-notebook", "half-a-file")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("hostile"), sources=None, seconds=SECONDS)
    assignment(course.folder / "source" / NAME / f"{NAME}.ipynb", CELLS)
    course.nbgrader("generate_assignment", NAME)
    release = course.release(NAME)
    for who, (make, _) in SUBMISSIONS.items():
        course.submit(who, NAME, make(copy.deepcopy(release), who))
    folder = str(course.folder)
    course.submit("deletes-files", NAME, on_top(right(copy.deepcopy(release), "deletes-files"),
                                                DELETES.format(folder=folder)))
    course.submit("reads-tests", NAME, on_top(right(copy.deepcopy(release), "reads-tests"),
                                              READS_TESTS.format(folder=folder)))
    course.submit("renamed", NAME, right(copy.deepcopy(release), "renamed"), f"{NAME} (1).ipynb")
    course.submit("no-notebook", NAME, "no notebook at all")
    course.submit("half-a-file", NAME, nbformat.writes(release)[:400])
    course.said = course.nbgrader("autograde", NAME, succeeds=False)
    course.nbgrader("generate_feedback", NAME)
    return course


@pytest.mark.parametrize("who", SUBMISSIONS)
def test_each_earns_what_it_should(course, who):
    assert course.points(NAME)[who] == SUBMISSIONS[who][1]


def test_a_cell_that_deletes_files_deletes_none_but_its_own(course):
    assert course.points(NAME)["deletes-files"] == 80
    assert {"gradebook.db", "source", "release", "submitted"} <= {path.name for path in course.folder.iterdir()}
    errors = [output for one in course.autograded("deletes-files", NAME).cells[:1] for output in one.outputs]
    assert errors == []


def test_a_submission_cannot_read_the_tests(course):
    seen = course.autograded("reads-tests", NAME).cells[0].outputs
    assert [output.text.strip() for output in seen] == ["closed closed"]


@pytest.mark.parametrize("who", NOT_GRADED)
def test_what_is_no_notebook_of_that_name_is_named_and_ends_nothing(course, who):
    assert course.points(NAME).get(who, 0) == 0
    assert f"submitted/{who}/{NAME}" in course.said.replace("\\", "/")


def test_the_written_answer_waits_for_a_person(course):
    graded = course.by_cell(NAME, "untouched")
    assert graded == {"test-mean": 0, "test-half": 0, "why": 0}
    assert course.mark(NAME, "right") == 80


def test_another_students_notebook_is_told_apart(course):
    for name in ("test-mean", "test-half"):
        assert "holds the id right, but another handed it in" in told(course.autograded("another", NAME), name)
    assert "STUDENT_ID is empty" in told(course.autograded("no-id", NAME), "test-half")
    assert "STUDENT_ID must be your id" in told(course.autograded("odd-id", NAME), "test-half")


@pytest.mark.parametrize(("who", "name", "words"), [
    ("wrong", "test-mean", "mean of 1, 2: got 7, expected 1.5."),
    ("loop-in-function", "test-mean", f"mean: stopped after {SECONDS} seconds."),
    ("os-exit", "test-mean", "mean: it ended the Python process."),
    ("syntax-error", "test-mean", "mean is not defined"),
    ("objects", "test-mean", "numbers, text, lists, dicts and arrays can be handed over, got object"),
    ("untouched", "test-mean", "not attempted yet"),
    ("nan", "test-half", "got nan, which is not right"),
])
def test_the_answer_says_what_went_wrong(course, who, name, words):
    assert words in told(course.autograded(who, NAME), name)


def test_neither_release_nor_feedback_shows_hidden_tests_or_solutions(course):
    release = nbformat.writes(course.release(NAME))
    assert HIDDEN not in release and SOLUTION not in release
    for who in [*SUBMISSIONS, "deletes-files", "reads-tests"]:
        feedback = course.feedback(who, NAME)
        assert HIDDEN not in feedback and SOLUTION not in feedback, who
        assert "longer lists" not in feedback or who not in ("right", "untouched"), who
    source = nbformat.writes(course.source(NAME))
    assert HIDDEN in source and SOLUTION in source  # control: there was something to hide
    assert HIDDEN in nbformat.writes(course.autograded("right", NAME))


def test_a_flood_is_cut_short(course):
    path = course.folder / "autograded" / "print-flood" / NAME / f"{NAME}.ipynb"
    assert path.stat().st_size < 300_000
