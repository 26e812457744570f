"""Clumsy and hostile submissions, graded by the real nbgrader: each ends, none earns what it should not."""

import copy
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from tests.homework.course import ID_LINE, Course, assignment, cell, filled, told

NAME = "small"
FENCED = subprocess.run([sys.executable, "-c", "from specdec_lessons.homework.fence import fence\n"
                         "raise SystemExit(not fence(['/tmp']))"]).returncode == 0
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

ATTACHES = """\
import sqlite3, os
for path in ({folder!r} + "/gradebook.db", {folder!r} + "/source/small/small.ipynb"):
    try:
        own = sqlite3.connect("own.db")
        own.execute("ATTACH DATABASE ? AS g", (path,))
        own.execute("UPDATE g.grade SET auto_score = 50")
        own.commit()
        print("changed the points")
    except Exception as error:
        print(type(error).__name__)
os.path.realpath = os.fsdecode = lambda path, *a, **k: os.devnull
for path in [{folder!r} + "/submitted/right/small/small.ipynb"]:
    try:
        open(path, "w").write("gone")
        print("changed another's work")
    except Exception as error:
        print(type(error).__name__)"""
LONG_ANSWER = """\
import specdec_lessons.homework.wire as wire
class Long:
    def __repr__(self):
        return "[" + "1," * 10**7 + "1]"
wire.look = wire.call = lambda *a, **k: Long()"""
FLOOD_OF_FRAMES = """\
import time
end = time.time() + 2
while time.time() < end:
    get_ipython().kernel.iopub_socket.send(b"x" * 10**8)"""
SCRIPTS = """\
from IPython.display import HTML, Javascript, Markdown, display
display(HTML("<b>bold</b><script>steal('output')</script><img src=x onerror=steal('image')>"))
display(Javascript("steal('javascript')"), Markdown("<script>steal('markdown')</script>"))"""
OWN_HABITS = """\
!pip install numpy
%matplotlib widget
from numpy import *
checks = np = globals = personal = 3"""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


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


def pasted(notebook):
    """A written answer with a picture pasted in, and another that is not there; and one of nothing but tags."""
    one = cell(notebook, "why")
    one.source = "My sketch: ![sketch](attachment:sketch.png)"
    one["attachments"] = {"sketch.png": {"image/png": PIXEL}}
    notebook.cells.append(nbformat.v4.new_markdown_cell("![gone](attachment:gone.png)"))
    notebook.cells.append(nbformat.v4.new_markdown_cell("<b>" * 100_000))
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
    "long-call": (lambda nb, who: filled(
        nb, RIGHT | {"mean": "def mean(x):\n    return sum(range(10**11)) / len(x)"}, who), 50),
    "long-answer": (lambda nb, who: on_top(wrong(nb, who), LONG_ANSWER), 0),
    "flood-of-frames": (lambda nb, who: on_top(wrong(nb, who), FLOOD_OF_FRAMES), 0),
    "scripts": (lambda nb, who: on_top(right(nb, who), SCRIPTS), 80),
    "pasted": (lambda nb, who: pasted(right(nb, who)), 80),
    "own-habits": (lambda nb, who: on_top(filled(nb, {
        "mean": "def mean(x):\n    print('debug ' * 50)\n    return array(x).mean()",
        "half": RIGHT["half"]}, who), OWN_HABITS), 80),
    "Zoë  O'Brien": (lambda nb, who: right(nb, unicodedata.normalize("NFD", "zoë o'brien")), 80),
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
    course.submit("attaches", NAME, on_top(wrong(copy.deepcopy(release), "attaches"), ATTACHES.format(folder=folder)))
    course.submit("files-beside", NAME, right(copy.deepcopy(release), "files-beside"))
    for name in ("numpy.py", "scipy/__init__.py", "ipykernel_launcher.py", "specdec_lessons/homework/guard.py"):
        beside = course.folder / "submitted" / "files-beside" / NAME / name
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text("raise SystemExit('the file that was handed in was imported')")
    course.submit("renamed", NAME, right(copy.deepcopy(release), "renamed"), f"{NAME} (1).ipynb")
    course.submit("no-notebook", NAME, "no notebook at all")
    course.submit("half-a-file", NAME, nbformat.writes(release)[:400])
    before = set(Path(tempfile.gettempdir()).glob("homework-*"))
    course.said = course.nbgrader("autograde", NAME, succeeds=False)
    course.left = [path.name for path in set(Path(tempfile.gettempdir()).glob("homework-*")) - before]
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


def test_files_handed_in_are_not_imported_in_place_of_modules(course):
    assert course.points(NAME)["files-beside"] == 80


@pytest.mark.skipif(not FENCED, reason="this system has no Landlock")
def test_the_gradebook_and_others_work_are_out_of_reach(course):
    assert course.points(NAME)["attaches"] == 0 and course.points(NAME)["right"] == 80
    said = course.autograded("attaches", NAME).cells[0].outputs[0].text.split("\n")
    assert said == ["OperationalError", "OperationalError", "PermissionError", ""]


def test_scripts_do_not_reach_a_page(course):
    page = course.feedback("scripts", NAME)
    assert "<b>bold</b>" in page
    assert not re.search(r"<script>\s*steal|<img[^>]*onerror|^\s*steal\('javascript", page, re.MULTILINE)


def test_a_pasted_picture_is_shown(course):
    page = course.feedback("pasted", NAME)
    assert PIXEL in page and "attachment:gone.png" in page


def test_no_process_and_no_folder_is_left(course):
    assert course.left == []


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
    assert "another, small: The notebook holds the id right" in course.said
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
