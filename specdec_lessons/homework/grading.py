"""Grading with nbgrader: tests in this process, the student's code in another. Needs nbgrader.

nbgrader runs a submission's cells and the tests in one kernel, where a notebook may change ``assert``, numpy or
the checks themselves. Here `RunApart` takes the place of that step. A test cell is compiled from nbgrader's own
copy and runs in a clean namespace of this process; the student's names stand in it for values and functions of
the other process, from which only plain data come back.
"""

import ast
import builtins
import html
import os
import re
import symtable
import sys
import time
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import bleach
import nbformat
import numpy as np
from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader import preprocessors
from nbgrader.api import Gradebook
from nbgrader.utils import is_grade, is_solution
from traitlets import Dict, Float, Unicode

from specdec_lessons.homework import personal
from specdec_lessons.homework.student import CELL_SECONDS, Stopped, Student, error

STUB = "pass  # your code here"
SCHEMA = 3  # of nbgrader's metadata
MOST_TAGS = 4000  # of one cell or output that are shown as a page
_TAGS = {*bleach.ALLOWED_TAGS, *"""p br hr h1 h2 h3 h4 h5 h6 div span pre img figure figcaption details summary table
    thead tbody tr th td caption sub sup del s kbd small u dl dt dd center font mark""".split()}
_ATTRIBUTES = {"*": ["class", "id", "title"], "a": ["href"], "th": ["align"], "td": ["align"], "details": ["open"],
               "img": lambda tag, name, value: name in ("alt", "width", "height") or (
                   name == "src" and re.match("data:image/(png|jpeg|gif|webp|svg[+]xml);base64,", value) is not None)}


def configure(c, folder):
    """Settings of nbgrader for a course that lies in ``folder``: graded apart, feedback without hidden tests.

    ``c`` is what ``get_config()`` gives in nbgrader_config.py.
    """
    beside_python = str(Path(sys.executable).parent)  # nbgrader calls alembic by name, in whatever PATH there is
    if beside_python not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside_python, os.environ.get("PATH", "")])
    c.CourseDirectory.root = str(folder)
    c.ClearSolutions.code_stub = {"python": STUB}
    c.Autograde.sanitize_preprocessors = [
        preprocessors.ClearOutput, RestoreCells, preprocessors.OverwriteKernelspec, preprocessors.OverwriteCells,
        preprocessors.CheckCellMetadata]
    c.Autograde.autograde_preprocessors = [
        RunApart, preprocessors.IgnorePattern, ClearMetadataPreprocessor, preprocessors.LimitOutput,
        preprocessors.SaveAutoGrades, preprocessors.AssignLatePenalties, preprocessors.CheckCellMetadata]
    c.GenerateFeedback.preprocessors = [
        preprocessors.GetGrades, HideTests, CSSHTMLHeaderPreprocessor]
    c.RestoreCells.root = str(folder)
    c.RunApart.root = str(folder)
    c.HTMLExporter.sanitize_html = True  # feedback and formgrader are read with a teacher's rights: no scripts there
    c.HTMLExporter.filters = {"clean_html": clean_html, "markdown2html": _markdown}
    # nbgrader's own way of making a submission causes this note of sqlalchemy, some of the time
    warnings.filterwarnings("ignore", message="Object of type .* not in session")


def clean_html(page):
    """What a student wrote or showed as HTML, without what could run or reach out.

    >>> clean_html("<p>one <b>two</b><script>alert(1)</script></p>")
    '<p>one <b>two</b>&lt;script&gt;alert(1)&lt;/script&gt;</p>'
    """
    page = page.decode() if isinstance(page, bytes) else str(page)
    page = re.sub(r"<style\b.*?</style>", "", page, flags=re.DOTALL | re.IGNORECASE)
    if page.count("<") > MOST_TAGS:  # the cleaning takes time that grows with the square of their nesting
        return f"<pre>{html.escape(page[:MOST_TAGS])} …</pre>"
    return bleach.clean(page, tags=_TAGS, attributes=_ATTRIBUTES, protocols=["http", "https", "mailto", "data"])


@pass_context
def _markdown(context, text):
    """A text cell as a clean page, with the pictures that were pasted into it."""
    pictures = (context.get("cell") or {}).get("attachments", {})
    try:
        page = MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=pictures)).render(text)
    except Exception:  # a picture that is not there, and whatever else a student's cell may hold
        page = f"<pre>{html.escape(text)}</pre>"
    return clean_html(page)


class HideTests(preprocessors.ClearHiddenTests):
    """nbgrader's removal of hidden tests, for the feedback, which nbgrader itself would send out with them."""

    # A page's exporter sets this for all its preprocessors; nbgrader's own for pages declares it likewise.
    display_data_priority = preprocessors.GetGrades.display_data_priority


class RestoreCells(preprocessors.NbGraderPreprocessor):
    """Puts a submission's cells back into the form that was handed out, whatever became of them.

    Deleted cells return to their place, changed metadata (points, kind, lock) and locked sources are set right,
    and a cell that claims to be one of the assignment's without being it loses the claim. Of copies of a cell
    the last counts, as in nbgrader.
    """

    root = Unicode("", help="The course's folder, which holds source/.").tag(config=True)

    def preprocess(self, nb, resources):
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            stored = gradebook.find_notebook(about["notebook"], about["assignment"])
            points = {cell.name: cell.max_score for cell in stored.grade_cells}
            solutions = {cell.name for cell in stored.solution_cells}
            wanted = {cell.name: _as_handed_out(cell, points, solutions) for cell in stored.source_cells}
        restore(nb, self._in_order(wanted, about), self.log.warning)
        return nb, resources

    def _in_order(self, wanted, about):
        """The wanted cells in the order of the source notebook; the database keeps none."""
        path = Path(self.root, "source", about["assignment"], f"{about['notebook']}.ipynb")
        if not path.exists():
            return wanted
        names = [_name(cell) for cell in nbformat.read(path, as_version=4).cells]
        place = {name: index for index, name in enumerate(names)}
        return dict(sorted(wanted.items(), key=lambda item: place.get(item[0], len(place))))


def restore(nb, wanted, warn=print):
    """Do the work of :class:`RestoreCells` on ``nb``, in place; ``wanted``: cells by name, in order."""
    last = {_name(cell): index for index, cell in enumerate(nb.cells) if _name(cell) in wanted}
    for index, cell in enumerate(nb.cells):
        name = _name(cell)
        if last.get(name) == index:
            if cell.cell_type != wanted[name].cell_type or wanted[name].metadata.nbgrader.locked:
                source = wanted[name].source if wanted[name].metadata.nbgrader.locked else cell.source
                nb.cells[index] = _copy(wanted[name], source)
            else:
                cell.metadata["nbgrader"] = dict(wanted[name].metadata.nbgrader)
        elif "nbgrader" in cell.metadata:
            if name is not None or cell.metadata["nbgrader"]:
                warn(f"A cell that claims to be {name} is no cell of the assignment, or a copy of one")
            del cell.metadata["nbgrader"]
    at = 0
    for name, cell in wanted.items():
        present = next((index for index, one in enumerate(nb.cells) if _name(one) == name), None)
        if present is None:
            warn(f"The cell {name} was deleted; it is put back")
            nb.cells.insert(at, _copy(cell, cell.source))
            present = at
        at = max(at, present + 1)


def _as_handed_out(stored, points, solutions):
    new = new_code_cell if stored.cell_type == "code" else new_markdown_cell
    cell = new(stored.source)
    cell.metadata["nbgrader"] = nbformat.from_dict({
        "grade": stored.name in points, "grade_id": stored.name, "locked": bool(stored.locked),
        "schema_version": SCHEMA, "solution": stored.name in solutions, "task": False,
        "cell_type": stored.cell_type, "checksum": stored.checksum,
        **({"points": points[stored.name]} if stored.name in points else {})})
    return cell


def _copy(cell, source):
    new = (new_code_cell if cell.cell_type == "code" else new_markdown_cell)(source)
    new.metadata["nbgrader"] = nbformat.from_dict(dict(cell.metadata.nbgrader))
    return new


def _name(cell):
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, dict) else None
    return name if isinstance(name, str) else None


class RunApart(preprocessors.NbGraderPreprocessor):
    """Runs a submission: its cells in a process of its own, the test cells here."""

    seconds = Float(CELL_SECONDS, help="The most seconds that one cell may take.").tag(config=True)
    root = Unicode("", help="The course's folder, closed to the student's code.").tag(config=True)
    ids = Dict(help="Name of a submission's folder -> another id that the student may rightly have typed; a name "
                    "as assignment/folder holds for that assignment alone.").tag(config=True)

    def preprocess(self, nb, resources):
        folder = resources.get("metadata", {}).get("path") or None
        handed_in_by, assignment = str(resources["nbgrader"]["student"]), resources["nbgrader"]["assignment"]
        student_ids = [handed_in_by, *(str(self.ids[name]) for name in (handed_in_by, f"{assignment}/{handed_in_by}")
                                       if name in self.ids)]
        with Student(folder, _closed(self.root), self.seconds) as student:
            if sys.platform.startswith("linux") and not student.fenced:
                self.log.warning("This system has no Landlock: the guard stops accidents only, see the README.")
            for count, cell in enumerate((cell for cell in nb.cells if cell.cell_type == "code"), start=1):
                tests = is_grade(cell) and not is_solution(cell)
                cell.outputs = run_tests(cell.source, student, student_ids) if tests else student.run(cell.source)
                cell.execution_count = count
            try:
                id_in(student, student_ids)
            except AssertionError as told:
                self.log.warning("%s, %s: %s If it is rightly so, say it in c.RunApart.ids of nbgrader_config.py.",
                                 handed_in_by, assignment, told)
        return nb, resources


def _closed(root):
    """What a submission must not read: the course's folder, and the repository's history and tests, where it lies in one."""
    if not root:
        return []
    closed = [Path(root)]
    for folder in Path(root).resolve().parents:
        if (folder / ".git").exists():
            return [*closed, folder / ".git", folder / "tests"]
    return closed


def run_tests(source, student, student_ids):
    """Run one test cell against a :class:`Student`; its outputs: none, an error in words, or partial points.

    ``student_ids``: those that the notebook may hold; the test is given the one that it does hold.
    """
    student.until = time.monotonic() + student.seconds
    try:
        student_id = id_in(student, student_ids)
        tree = ast.parse(source)
        last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        names = {name: _stand_in(student, name) for name in wanted_names(source) - {"STUDENT_ID"}}
        names |= {"STUDENT_ID": student_id, "__name__": "tests"}
        with warnings.catch_warnings(), redirect_stdout(StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(compile(tree, "<tests>", "exec"), names)
            value = eval(compile(ast.Expression(last), "<tests>", "eval"), names) if last is not None else None
    except AssertionError as failed:
        return [error("AssertionError", str(failed) or "A check does not hold.")]
    except Exception as unexpected:  # an answer of a form that the test did not think of
        return [error("AssertionError", f"A check cannot use this answer ({type(unexpected).__name__}).")]
    finally:
        student.until = float("inf")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [new_output("execute_result", {"text/plain": repr(float(value))}, execution_count=1)]
    return []


def wanted_names(source):
    """The names that a test cell uses without defining them: the student's.

    >>> sorted(wanted_names("import numpy as np\\nfor a in np.arange(3): assert f(a) == [g(x) for x in S]"))
    ['S', 'f', 'g']
    """
    top = symtable.symtable(source, "<tests>", "exec")
    own = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    tables, used = [top], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {symbol.get_name() for symbol in table.get_symbols()
                 if symbol.is_referenced() and (table is top or symbol.is_global())}
    return used - own - set(dir(builtins))


class Function:
    """Stands in a test for a function of the student's; a call runs it in the student's process."""

    def __init__(self, student, name):
        self._student, self._name = student, name

    def __call__(self, *arguments, **keywords):
        return self._asked(list(map(_child, arguments)), {key: _child(one) for key, one in keywords.items()}, None)

    def repeat_in_its_process(self, times, arguments, rng):
        """The results of ``times`` calls with one generator; `checks.repeat` asks for it."""
        return self._asked([*arguments, _child(rng)], {}, times)

    def _asked(self, arguments, keywords, times):
        try:
            return self._student.call(self._name, arguments, keywords, times)
        except Stopped as why:
            raise AssertionError(f"{self._name}: {why}.") from None
        except RuntimeError as told:
            raise AssertionError(f"{self._name} fails with {told}") from None


def _child(value):
    """A generator's child in its place: it crosses by its state, so the same one would draw the same each time."""
    return value.spawn(1)[0] if isinstance(value, np.random.Generator) else value


def _stand_in(student, name):
    try:
        kind, value = student.look(name)
    except Stopped as why:
        raise AssertionError(f"{name}: {why}.") from None
    except RuntimeError as told:
        raise AssertionError(f"{name}: {told}") from None
    if kind == "missing":
        raise AssertionError(f"{name} is not defined: was its cell deleted or renamed, or did it fail?")
    return Function(student, name) if kind == "function" else value


def id_in(student, student_ids):
    """That of the ids which the notebook holds; AssertionError, in words, where it holds none of them."""
    typed = _stand_in(student, "STUDENT_ID")
    if typed is None or isinstance(typed, str) and not typed.strip():
        raise AssertionError("STUDENT_ID is empty: without it nothing can be graded.")
    try:
        typed = personal.normalise(typed)
        for student_id in student_ids:
            if personal.normalise(student_id) == typed:
                return student_id
    except ValueError as told:
        raise AssertionError(f"{told}.") from None
    raise AssertionError(f"The notebook holds the id {typed}, but {student_ids[0]} handed it in; "
                         "its numbers are another's, so nothing can be graded.")
