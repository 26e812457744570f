"""Every exercise of every lesson: the stub stops nothing, the solution passes, wrong ideas are recognised."""

import importlib
import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import _checks, exercises
from specdec_lessons.exercises import kit
from specdec_lessons.exercises.kit import Exercise, Misconception

LESSONS = [importlib.import_module(f"specdec_lessons.exercises.{module.name}")
           for module in pkgutil.iter_modules(exercises.__path__) if module.name.startswith("lesson")]
EXERCISES = {f"{lesson.__name__.rpartition('.')[2]}.{name}": value
             for lesson in LESSONS for name, value in vars(lesson).items() if isinstance(value, Exercise)}
MISCONCEPTIONS = [(name, i) for name, exercise in EXERCISES.items()
                  for i in range(len(exercise.misconceptions))]


def imports(lesson):
    """The names that the lesson's notebook imports, which are all that a solution may use."""
    notebooks = Path(__file__).parents[1] / "notebooks"
    (notebook,) = notebooks.glob(f"{lesson.removeprefix('lesson')}_*.ipynb")
    names = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.startswith(("import ", "from ")):
            lines = source.splitlines()
            exec("\n".join(line for line in lines if line.startswith(("import ", "from "))), names)
    return names


def run(name, source):
    """The function that a cell with this source defines in the notebook of this exercise."""
    names = imports(name.partition(".")[0])
    before = set(names)
    exec(compile(source, "cell", "exec"), names)
    functions = [value for name, value in names.items() if name not in before and callable(value)]
    return functions[-1]


def test_every_lesson_with_exercises_has_some():
    assert LESSONS
    for lesson in LESSONS:
        assert sum(isinstance(value, Exercise) for value in vars(lesson).values()) >= 2, lesson.__name__


@pytest.mark.parametrize("name", EXERCISES)
class TestEveryExercise:
    def test_it_is_complete(self, name):
        exercise = EXERCISES[name]
        assert exercise.title.strip() and exercise.statement.strip()
        assert exercise.cases and all(isinstance(case, tuple) for case in exercise.cases)
        assert len(exercise.hints) >= 1 and all(hint.strip() for hint in exercise.hints)
        assert len(set(exercise.hints)) == len(exercise.hints)
        assert exercise.misconceptions

    def test_the_stub_stops_nothing(self, name):
        verdict = EXERCISES[name].check(run(name, EXERCISES[name].stub))
        assert verdict.passed is None and "not attempted yet" in verdict.message
        assert repr(verdict).startswith("○ ")

    def test_the_solution_passes(self, name):
        exercise = EXERCISES[name]
        verdict = exercise.check(run(name, exercise.solution_code))
        assert verdict.passed is True, verdict
        assert repr(verdict).startswith("✓ ")

    def test_the_reference_passes_twice(self, name):
        exercise = EXERCISES[name]
        assert exercise.check(exercise.reference).passed and exercise.check(exercise.reference).passed

    def test_the_stub_and_the_solution_take_the_same_arguments(self, name):
        def signature(source):
            function = run(name, source)
            return function.__name__, function.__code__.co_varnames[:function.__code__.co_argcount]
        assert signature(EXERCISES[name].stub) == signature(EXERCISES[name].solution_code)

    def test_hints_and_solution_print(self, name, capsys):
        exercise = EXERCISES[name]
        for number in range(1, len(exercise.hints) + 1):
            exercise.hint(number)
        exercise.hint(99)
        exercise.solution()
        printed = capsys.readouterr().out
        assert all(hint in printed for hint in exercise.hints) and exercise.solution_code in printed
        assert f"hints 1 to {len(exercise.hints)}" in printed

    def test_hostile_answers_never_raise(self, name):
        for label, answer in HOSTILE.items():
            verdict = EXERCISES[name].check(answer)
            assert verdict.passed is not True, label
            assert "np.float64(" not in repr(verdict) and "Traceback" not in repr(verdict), label
            assert verdict.message.startswith(EXERCISES[name].title), label


@pytest.mark.parametrize("name, number", MISCONCEPTIONS)
def test_every_misconception_is_told_what_is_wrong(name, number):
    exercise = EXERCISES[name]
    wrong = exercise.misconceptions[number]
    with np.errstate(all="ignore"):
        verdict = exercise.check(wrong.function)
    assert verdict.passed is False, "a known wrong answer passes: no case tells it apart"
    assert wrong.message in verdict.message
    assert repr(verdict).startswith("✗ ")


# -- hostile answers --------------------------------------------------------------------------------

class Ugly:
    """An object that fails at whatever is tried with it."""

    def __repr__(self):
        raise RuntimeError("no repr")

    __eq__ = __float__ = __array__ = __len__ = __iter__ = __bool__ = __repr__
    __hash__ = None


def raises(error):
    def answer(*arguments):
        raise error
    return answer


def endless(*arguments):
    return endless(*arguments)


def holds_itself(*arguments):
    loop = []
    loop.append(loop)
    return loop


HOSTILE = {
    "an int": 3,
    "a value": np.float64(0.5),
    "text": "my_function",
    "nothing": None,
    "an ugly object": Ugly(),
    "a class": int,
    "no arguments": lambda: 1,
    "raises": raises(ValueError("my mistake")),
    "raises without words": raises(KeyError()),
    "divides by zero": lambda *_: 1 / 0,
    "endless": endless,
    "returns text": lambda *_: "0.8",
    "returns bytes": lambda *_: b"1",
    "returns nan": lambda *_: float("nan"),
    "returns nothing known": lambda *_: object(),
    "returns ugly": lambda *_: Ugly(),
    "returns a wrong shape": lambda *_: np.zeros((7, 3, 2)),
    "returns ragged lists": lambda *_: [[1], [1, 2], "x"],
    "returns a scalar array": lambda *_: np.array(1e9),
    "returns an empty list": lambda *_: [],
    "returns a list of nothing": lambda *_: [None],
    "returns a complex number": lambda *_: 1j,
    "returns a dict": lambda *_: {1: 2},
    "returns a set": lambda *_: {1.5},
    "returns a generator": lambda *_: (x for x in "abc"),
    "returns a function": lambda *_: len,
    "returns a huge int": lambda *_: 10**400,
    "returns itself": holds_itself,
    "returns much": lambda *_: np.zeros(100_000),
    "returns its arguments": lambda *arguments: arguments,
}


# -- the machinery itself, on exercises made up here ------------------------------------------------

def exercise(reference=lambda x: 2 * x, cases=((1.0,), (3.0,)), **fields):
    return Exercise(**dict(
        title="Double", statement="Write double(x).", stub="def double(x):\n    ...", reference=reference,
        cases=cases, hints=("Add x to itself.",), solution_code="def double(x):\n    return x + x",
        misconceptions=(Misconception(lambda x: x * x, "That is the square."),)) | fields)


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_answers_to_a_number(label):
    verdict = exercise().check(HOSTILE[label])
    assert verdict.passed in (False, None) and "\n" not in repr(verdict) and len(repr(verdict)) < 400


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_answers_to_a_question_for_words(label):
    assert exercise(lambda x: "yes", misconceptions=()).check(HOSTILE[label]).passed is not True


@pytest.mark.parametrize("answer, passed, says", [
    (lambda x: x + x, True, "✓ Double: right on all 2 inputs."),
    (lambda x: np.float32(2 * x), True, "right"),
    (lambda x: np.array(2 * x), True, "right"),
    (lambda x: ..., None, "○ Double: not attempted yet."),
    (lambda x: None, None, "not attempted yet"),
    (raises(NotImplementedError()), None, "not attempted yet"),
    (lambda x: print(end=""), False, "for x = 1 yours gives nothing back. Is a return missing?"),
    (lambda x: max(0, np.array([x, x])), False, "np.maximum"),
    (lambda x: x * x, False, "✗ Double: for x = 1 yours gives 1, expected 2. That is the square."),
    (lambda x: x + 1, False, "✗ Double: for x = 3 yours gives 4, expected 6."),  # the first that differs
    (lambda x: 2 * x + 1e-8, False, "yours gives 2.00000001, expected 2."),  # not "gives 2, expected 2"
    (lambda x: [2 * x], False, "yours gives [2], expected 2. One number is wanted, not a list."),
    (lambda x: np.array(1.0), False, "yours gives 1, expected 2."),
    (lambda x: str(2 * x), False, "yours gives '2.0', expected 2."),
    (lambda x: float("nan"), False, "yours gives nan, expected 2."),
    (lambda x: 1 / 0, False, "for x = 1 yours stops with ZeroDivisionError: division by zero."),
    (lambda x, y: x, False, "yours stops with TypeError"),
    (2.0, False, "✗ Double: give the function itself, without calling it; got 2."),
])
def test_verdicts(answer, passed, says):
    verdict = exercise().check(answer)
    assert verdict.passed is passed and says in repr(verdict)


def test_a_misconception_is_only_named_when_the_answer_agrees_with_it_everywhere():
    verdict = exercise().check(lambda x: 1.0 if x == 1 else -1.0)
    assert verdict.passed is False and "square" not in verdict.message


def test_answers_may_spoil_their_arguments():
    def spoil(x, y):
        x *= 0
        y.clear()
        return [0.0, 2.0]

    case = (np.array([0.0, 1.0]), [np.array([5.0])])
    one = exercise(lambda x, y: 2 * x, cases=(case, case), misconceptions=(Misconception(spoil, "spoilt"),))
    assert one.check(spoil).passed
    assert one.check(lambda x, y: [spoil(x, y), x][1]).passed is False
    assert case[0].tolist() == [0, 1] and case[1][0].tolist() == [5]


def test_a_generator_among_the_arguments_starts_anew_each_time():
    rng = np.random.default_rng(0)
    one = exercise(lambda rng: rng.random(), cases=((rng,), (rng,)), misconceptions=())
    assert one.check(lambda rng: rng.random()).passed and one.check(lambda rng: rng.random()).passed


def test_nan_is_right_where_nan_is_expected():
    one = exercise(lambda x: np.array([np.nan, x]), misconceptions=())
    assert one.check(lambda x: [float("nan"), x]).passed
    assert one.check(lambda x: [0.0, x]).passed is False


@pytest.mark.parametrize("value, shown", [
    (0.1 + 0.2, "0.3"), (np.float64(0.5), "0.5"), (np.int64(3), "3"), (np.bool_(True), "True"),
    (True, "True"), ([1, 2.0, (3, np.float32(0.25))], "[1, 2, [3, 0.25]]"),
    (np.eye(2), "[[1, 0], [0, 1]]"), (np.array(0.5), "0.5"),
    ("text", "'text'"), (None, "None"), (np.complex128(1j), "1j"), ([[1], [1, 2]], "[[1], [1, 2]]")])
def test_values_are_shown_as_a_learner_would_write_them(value, shown):
    assert kit.show(value) == shown


def test_a_long_value_is_shown_short():
    for value in (np.zeros(10_000), list(range(10_000)), "x" * 10_000, 10**200):
        assert len(kit.show(value)) <= 60
    assert _checks.short("x" * 100).endswith("…")


def test_a_guess_beside_the_truth():
    assert kit.compare_guess(4.2, 3.3616, "tokens") == "You guessed 4.2 tokens; it is 3.36 tokens."
    assert kit.compare_guess(None, np.float64(5)) == "No guess yet; it is 5."
