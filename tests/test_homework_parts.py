"""The parts that grade homework, each alone: ids, checks, the wire, cells put back, names of the student's."""

import array
import collections
import copy
import json
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from specdec_lessons.homework import checks, grading, personal, wire
from specdec_lessons.homework.student import Stopped, Student


@pytest.mark.parametrize("student_id", ["ada", " ada ", "ADA", "s1234567", 1234567, "Ada O'Brien", "ада", "x" * 64])
def test_usable_ids(student_id):
    known, sentence = personal.identify(student_id)
    assert known == str(student_id).strip().casefold() and known in sentence


@pytest.mark.parametrize("student_id", [
    "", "   ", None, ..., 1.5, True, ["ada"], "two\nlines", "x" * 65, b"ada", float("nan"), object()])
def test_no_usable_id_gives_practice_numbers_and_says_so(student_id):
    known, sentence = personal.identify(student_id)
    assert known == personal.PRACTICE and "practice numbers" in sentence and "graded" in sentence
    assert personal.generator("hw1", student_id).random() == personal.generator("hw1", "practice").random()


def test_numbers_are_one_students_and_one_assignments_and_stay():
    draws = {(work, who): personal.generator(work, who).random() for work in ("hw1", "hw2") for who in ("ada", "bob")}
    assert len(set(draws.values())) == 4
    # sha256("hw1/ada") as an integer seeds numpy's SeedSequence: fixed by both, on every machine
    import hashlib
    seed = int(hashlib.sha256(b"hw1/ada").hexdigest(), 16)
    assert draws["hw1", "ada"] == np.random.default_rng(np.random.SeedSequence(seed)).random()


def test_accents_and_blanks_do_not_make_another_id():
    composed, decomposed = "Zo\u00eb  M\u00fcller", "zoe\u0308 mu\u0308ller "
    assert personal.normalise(composed) == personal.normalise(decomposed) == "zo\u00eb m\u00fcller"


NAN = float("nan")


@pytest.mark.parametrize("got", [
    None, ..., "1", NAN, -NAN, float("inf"), True, [1.0], np.array([1.0]), np.nan, 1 + 0j, 1.001, object(), 10**400])
def test_what_is_not_the_number_fails(got):
    with pytest.raises((AssertionError, OverflowError)):
        checks.number("x", got, 1.0)


@pytest.mark.parametrize("got", [1, 1.0, np.float32(1), np.int64(1), np.array(1.0), 1 + 1e-7])
def test_what_is_the_number_passes(got):
    checks.number("x", got, 1.0)


@pytest.mark.parametrize("got", [
    None, 1.0, [1.0, NAN], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], ["1", "2"], [1.0, None], [1.0, [2.0]], object()])
def test_what_are_not_the_numbers_fails(got):
    with pytest.raises(AssertionError):
        checks.numbers("x", got, [1.0, 2.0])


def test_what_are_the_numbers_passes():
    checks.numbers("x", (1, 2.0), [1.0, 2.0])
    checks.numbers("x", np.array([1, 2]), [1.0, 2.0])


@pytest.mark.parametrize(("got", "expected"), [
    (None, "a"), ("", "a"), ("b", "a"), (1, True), (True, 1), (1.0, 1), ("a ", "b"), (NAN, 1)])
def test_another_choice_fails(got, expected):
    with pytest.raises(AssertionError):
        checks.choice("x", got, expected)


@pytest.mark.parametrize("condition", [False, None, 1, "yes", NAN, [True], np.array([True])])
def test_only_true_is_true(condition):
    with pytest.raises(AssertionError):
        checks.true("x", condition)


def test_messages_tell_the_right_value_only_where_asked():
    with pytest.raises(AssertionError) as hidden:
        checks.number("x", 2.0, 3.25)
    with pytest.raises(AssertionError, match="expected 3.25"):
        checks.number("x", 2.0, 3.25, tell=True)
    assert "3.25" not in str(hidden.value)


@pytest.mark.parametrize("value", [
    None, True, -3, 2**70, 0.1, float("inf"), "two\nlines ✓", [], [1, [2, "x"]], {"a": [1.5], 3: None}])
def test_plain_data_pass_the_wire(value):
    assert wire.decode(wire.encode(value)) == value


@pytest.mark.parametrize("array", [
    np.arange(3), np.eye(2), np.array(2.5), np.zeros((0, 3)), np.array([True, False]), np.float32([0.1, 2])])
def test_arrays_pass_the_wire(array):
    back = wire.decode(wire.encode(array))
    assert back.dtype == array.dtype and np.array_equal(back, array)


@pytest.mark.parametrize("value", [
    range(3), collections.deque([0, 1, 2]), array.array("d", [0, 1, 2]), np.longdouble([0, 1, 2])])
def test_other_rows_of_numbers_pass_as_arrays(value):
    back = wire.decode(wire.encode(value))
    assert np.array_equal(np.ravel(back), [0, 1, 2]) and back.dtype.itemsize <= 8


def test_a_generator_passes_by_its_state():
    rng = np.random.default_rng(5)
    assert wire.decode(wire.encode(rng)).random() == np.random.default_rng(5).random()


def test_what_could_carry_behaviour_does_not_pass():
    loop = []
    loop.append(loop)
    for value in (print, object(), np.array([object()]), np.array(["text"]), 1j, b"bytes", {1, 2}, loop, lambda: 1):
        with pytest.raises(ValueError):
            wire.encode(value)
    class Agreeing(float):
        def __eq__(self, other):
            return True
        __hash__ = float.__hash__
    assert type(wire.decode(wire.encode(Agreeing(2)))) is float


@pytest.mark.parametrize("text", [
    "", "{", '{"x": 1}', '{"array": [1], "dtype": "O"}', '{"array": ["a"], "dtype": "U100000000"}',
    '{"array": [[1], 2], "dtype": "float64", "shape": [2]}', '{"array": [1], "dtype": 3, "shape": [1]}',
    '{"array": [1], "dtype": "int64", "shape": [2]}', '{"array": [1], "dtype": "int64"}',
    '{"dict": [[1]]}', '{"dict": [[[], 1]]}',
    '{"generator": {"bit_generator": "PCG64"}}', '{"generator": 3}', "[" * 100_000])
def test_what_is_no_message_is_refused(text):
    with pytest.raises(ValueError):
        wire.decode(text)


def test_names_that_a_test_takes_from_the_student():
    source = """
import numpy as np
from specdec_lessons.homework import checks
def helper(x):
    return f(x) + y
class C:
    z = w
for i, (a, b) in enumerate(data):
    checks.number("x", g(a, b=[h(c) for c in data]), np.pi + len(STUDENT_ID))
total = (lambda q: q + r)(1)
"""
    assert grading.wanted_names(source) == {"f", "y", "w", "data", "g", "h", "STUDENT_ID", "r"}


def graded(name, source="pass", kind="tests", **more):
    about = {"grade_id": name, "grade": kind == "tests", "solution": kind == "solution", "locked": kind == "tests",
             "task": False, "schema_version": 3, **more}
    return new_code_cell(source, metadata={"nbgrader": about})


WANTED = {one.metadata.nbgrader.grade_id: one for one in (
    graded("a", "stub a", "solution"), graded("test-a", "test a", points=5),
    graded("b", "stub b", "solution"), graded("test-b", "test b", points=7))}


def restored(cells):
    notebook = new_notebook()
    notebook.cells = copy.deepcopy(cells)
    grading.restore(notebook, WANTED, warn=lambda words: None)
    return [(one.metadata.get("nbgrader", {}).get("grade_id"), one.source) for one in notebook.cells]


ASKED = list(WANTED.values())
WHOLE = [("a", "stub a"), ("test-a", "test a"), ("b", "stub b"), ("test-b", "test b")]


@pytest.mark.parametrize("kept", [(), (0,), (1,), (2,), (3,), (0, 2), (1, 3), (0, 1, 2), (0, 3), (0, 1, 2, 3)])
def test_deleted_cells_return_to_their_place(kept):
    assert restored([ASKED[i] for i in kept]) == WHOLE


def test_own_cells_stay_and_copies_lose_the_name():
    own = new_markdown_cell("a note")
    answer = graded("a", "my answer", "solution")
    assert restored([own, answer, graded("test-a", "hacked"), own, graded("test-a", "hacked again"), *ASKED[2:]]) == [
        (None, "a note"), ("a", "my answer"), (None, "hacked"), (None, "a note"), ("test-a", "test a"),
        *WHOLE[2:]]


@pytest.mark.parametrize("about", [
    {"grade": True}, {"grade_id": 3, "grade": True}, "text", None, [], {"grade_id": "gift", "points": 1000}])
def test_a_false_claim_is_dropped(about):
    cell = new_code_cell("x")
    cell.metadata["nbgrader"] = about
    assert restored([*ASKED, cell])[-1] == (None, "x")


def test_metadata_are_set_right():
    notebook = new_notebook(cells=[
        graded("a", "mine", "tests", points=50), new_markdown_cell("as text", metadata=graded("test-a").metadata),
        graded("b", "mine", "solution"), graded("test-b", "mine", "solution", points=700)])
    grading.restore(notebook, WANTED, warn=lambda words: None)
    assert [dict(one.metadata.nbgrader) for one in notebook.cells] == [dict(one.metadata.nbgrader) for one in ASKED]
    assert [one.source for one in notebook.cells] == ["mine", "test a", "mine", "test b"]
    assert {one.cell_type for one in notebook.cells} == {"code"}
    nbformat.validate(notebook)


@pytest.fixture(scope="module")
def student():
    with Student(seconds=5) as student:
        student.run("STUDENT_ID = 'ada'\ndef f(x): return 2 * x\ndef draw(rng): return rng.random()\nsize = 3")
        yield student


def outcome(source, student, who="ada"):
    return [output.get("evalue") or output["data"]["text/plain"]
            for output in grading.run_tests(source, student, [who])]


def test_a_test_runs_on_what_the_student_wrote(student):
    assert outcome("assert f(2) == 4 and size == 3", student) == []
    assert outcome("import numpy as np\nassert np.array_equal(f(np.arange(3)), [0, 2, 4])", student) == []
    assert outcome("assert f(x=2) == 5, 'two times two'", student) == ["two times two"]
    assert outcome("assert False", student) == ["A check does not hold."]
    assert outcome("assert missing == 1", student)[0].startswith("missing is not defined")
    assert outcome("f(1).nothing", student) == ["A check cannot use this answer (AttributeError)."]
    assert outcome("assert f() == 1", student)[0].startswith("f fails with TypeError: f() missing 1 required")


def test_partial_points_are_a_last_number(student):
    assert outcome("points = f(1)\npoints + 0.5", student) == ["2.5"]


def test_the_id_comes_from_nbgrader(student):
    assert outcome("assert STUDENT_ID == 'ada'", student) == []
    assert "holds the id ada, but bob handed it in" in outcome("pass", student, "bob")[0]
    assert outcome("pass", student, " Ada") == []


def test_draws_of_repeated_calls_differ_and_come_again(student):
    source = ("import numpy as np\nfrom specdec_lessons.homework import checks\nrng = np.random.default_rng(1)\n"
              "many = checks.repeat(draw, 50, rng=rng) + [draw(rng), draw(rng)]\n"
              "assert len(set(many)) == 52\nmany[0] + many[-1]")
    assert outcome(source, student) == outcome(source, student)
    assert len(checks.repeat(lambda x, rng: x, 3, 7, rng=None)) == 3


def test_it_lives_on_after_stops_and_ends(student):
    quick = Student(seconds=1)
    with quick:
        quick.run("kept = 1")
        assert [output.evalue for output in quick.run("while True: pass")] == ["stopped after 1 seconds"]
        assert quick.look("kept") == ("value", 1)
        assert [output.evalue for output in quick.run("import os; os._exit(1)")] == ["it ended the Python process"]
        assert quick.look("kept") == ("value", 1)
        quick.run("def end():\n    import os; os._exit(1)")
        with pytest.raises(Stopped, match="it ended the Python process"):
            quick.call("end", [])
        assert quick.look("kept") == ("value", 1)


def test_a_question_that_takes_too_long_leaves_the_other_answers(student):
    with Student(seconds=1) as slow:
        slow.run("STUDENT_ID = 'ada'\ndef ends(): return sum(range(10**11))\ndef f(x): return x")
        assert outcome("ends()", slow)[0].startswith("ends: ")  # cannot be interrupted: the process is replaced
        assert outcome("assert f(2) == 2", slow) == []
        assert slow.seconds == 1


def test_a_submission_as_a_whole_has_its_time(monkeypatch):
    with Student(seconds=5) as student:
        student.run("x = 1")
        monkeypatch.setattr("specdec_lessons.homework.student.SUBMISSION_SECONDS", 0.0)
        assert student.run("y = 2")[0].evalue == "not run: the notebook has taken 0 seconds already"
    monkeypatch.setattr("specdec_lessons.homework.student.SUBMISSION_SECONDS", 0.3)
    with Student(seconds=5) as student:
        ends = "import os, time\ntime.sleep(0.4)\nos._exit(1)"
        assert student.run(ends)[0].evalue == "it ended the Python process"
        assert student.run("y = 2")[0].evalue.startswith("not run")


def test_forged_messages_are_that_cells_fault(student):
    with Student(seconds=3) as forging:
        forging.run("kept = 1")
        said = forging.run("kernel = get_ipython().kernel\n"
                           "kernel.session.send(kernel.iopub_socket, 'status', {'none': 1}, parent=kernel.get_parent())")
        assert [output.evalue for output in said] == ["it interfered with its own messages"]
        assert forging.look("kept") == ("value", 1)


def test_no_folder_stays_where_the_process_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setattr("specdec_lessons.homework.student._LAUNCH", "raise SystemExit")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError):
        Student()
    assert list(tmp_path.glob("homework-*")) == []


@pytest.mark.parametrize(("page", "clean"), [
    ("<p>a <em>b</em></p>", "<p>a <em>b</em></p>"),
    ('<img src="data:image/png;base64,AA==" alt="x" onerror="f()">', '<img src="data:image/png;base64,AA==" alt="x">'),
    ('<a href="javascript:f()">x</a>', "<a>x</a>"),
    ('<img src="data:text/html,x">', "<img>"), ('<p style="x" onclick="f()">y</p>', "<p>y</p>")])
def test_pages_hold_nothing_that_runs(page, clean):
    assert grading.clean_html(page) == clean
    assert "<iframe" not in grading.clean_html("<iframe src=x></iframe>")


def test_long_output_is_kept_as_far_as_there_is_room(student):
    (said, note) = student.run("for i in range(20_000): print('line', i, '.' * 20)")
    assert said.text.startswith("line 0 ") and 50_000 < len(said.text) <= 150_000 and "cut off" in said.text + note.text
    pictures = student.run("from IPython.display import Image, display\nimport base64\n"
                           "for _ in range(25): display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(90_000), format='png'))\n"
                           "after = 3")
    assert student.look("after") == ("value", 3)
    assert sum("data" in output for output in pictures) >= 20


def test_history_and_tests_of_a_repository_are_closed(tmp_path):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    course = tmp_path / "repository" / "notebooks" / "homework"
    course.mkdir(parents=True)
    assert grading._closed(str(course)) == [course, tmp_path / "repository" / ".git", tmp_path / "repository" / "tests"]
    assert grading._closed("") == []


def test_a_course_folder_that_holds_python_itself_works(tmp_path):
    with Student(closed=[Path(sys.prefix).parent], seconds=20) as student:
        assert student.run("import decimal, fractions, zoneinfo, specdec_lessons.cost") == []


def test_its_folder_goes_with_it_and_holds_the_files_handed_in(tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    (tmp_path / "other.ipynb").write_text("{}")
    with Student(tmp_path) as student:
        student.run("import os\nseen = os.listdir()\ntext = open('data.csv').read()\nhere = os.getcwd()")
        assert student.look("seen")[1] == ["data.csv"] and student.look("text") == ("value", "1,2")
        here = student.look("here")[1]
    assert not Path(here).exists()


@pytest.mark.parametrize("attempt", [
    "open({outside!r}, 'w')", "open({outside!r}, 'a')", "os.remove({outside!r})", "os.rename({outside!r}, 'x')",
    "os.rename('mine', {outside!r})", "shutil.rmtree({folder!r})", "os.truncate({outside!r}, 0)",
    "os.symlink({outside!r}, 'link')", "pathlib.Path({outside!r}).write_text('x')",
    "pathlib.Path({outside!r}).unlink()",
    "os.chmod({outside!r}, 0)", "os.system('true')", "subprocess.run(['true'])", "os.fork()", "os.kill(1, 0)",
    "os.execv('/bin/true', ['true'])", "open({closed!r})", "os.listdir({closed_folder!r})",
    "sqlite3.connect({closed!r})",
    "os.open({outside!r}, os.O_WRONLY | os.O_CREAT)", "os.open({folder!r}, os.O_RDONLY)",
    "open('../../../../../../../x', 'w')"])
def test_the_guard_forbids(tmp_path_factory, guarded, attempt):
    student, names = guarded
    said = student.run(attempt.format(**names))
    assert [(output.ename) for output in said] == ["PermissionError"], said
    assert names["read"]() == "as it was"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A student behind the guard, and what lies outside: a file, its folder, the closed gradebook."""
    outside, closed = tmp_path_factory.mktemp("outside"), tmp_path_factory.mktemp("closed")
    (outside / "file").write_text("as it was")
    (closed / "gradebook.db").write_text("points")
    with Student(closed=[closed]) as student:
        student.run("import os, pathlib, shutil, sqlite3, subprocess")
        yield student, {"outside": str(outside / "file"), "folder": str(outside), "closed": str(closed / "gradebook.db"),
                        "closed_folder": str(closed), "read": (outside / "file").read_text}


def test_the_guard_allows_ones_own_files_and_reading(guarded):
    student, names = guarded
    said = student.run(f"""
pathlib.Path("mine").write_text("x"); os.mkdir("d"); os.rename("mine", "d/mine"); shutil.rmtree("d")
text = open({names['outside']!r}).read()
import numpy as np; np.savetxt("a.txt", np.eye(2)); os.remove("a.txt")
from specdec_lessons import pair, cost
import matplotlib.figure; matplotlib.figure.Figure().savefig("f.png"); os.remove("f.png")
""")
    assert said == [] and student.look("text") == ("value", "as it was")


def test_answers_of_a_tampered_process_are_no_answers(student):
    with Student(seconds=5) as tampered:
        tampered.run("STUDENT_ID = 'ada'\nx = 1\nimport specdec_lessons.homework.wire as w\n"
                     "w.look = lambda *a: 'not json'")
        assert outcome("assert x == 1", tampered)[0].endswith("the process gave no readable answer")
        tampered.run("w.look = lambda *a: " + repr(json.dumps({"dict": [["is", "value"], ["value", True]]})))
        assert "STUDENT_ID must be your id" in outcome("assert x == 1", tampered)[0]
