"""A course folder for nbgrader in a test: assignments, submissions, the real commands, the points."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

ROOT = Path(__file__).parents[2]
HOMEWORK = ROOT / "notebooks" / "homework"
ID_LINE = 'STUDENT_ID = ""'


class Course:
    """A fresh copy of the homework folder; ``nbgrader`` runs there as an instructor would run it."""

    def __init__(self, folder, sources=HOMEWORK / "source", seconds=None):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        shutil.copy(HOMEWORK / "nbgrader_config.py", self.folder)
        if sources is not None:
            shutil.copytree(sources, self.folder / "source",
                            ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"))
        if seconds is not None:
            with (self.folder / "nbgrader_config.py").open("a") as config:
                config.write(f"\nc.RunApart.seconds = {seconds}\n")

    def nbgrader(self, *arguments, succeeds=True):
        """Run one command in the folder; its output."""
        done = subprocess.run([sys.executable, "-m", "nbgrader", *arguments], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=_plain_environment())
        assert not succeeds or done.returncode == 0, done.stdout[-3000:]
        return done.stdout

    def source(self, name):
        return nbformat.read(self.folder / "source" / name / f"{name}.ipynb", as_version=4)

    def release(self, name):
        return nbformat.read(self.folder / "release" / name / f"{name}.ipynb", as_version=4)

    def submit(self, student, name, notebook, filename=None):
        """Hand in a notebook (or any text) as a student's work."""
        folder = self.folder / "submitted" / student / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (filename or f"{name}.ipynb")
        # json, not nbformat: a submission need not be a valid notebook
        path.write_text(notebook if isinstance(notebook, str) else json.dumps(notebook))

    def points(self, name):
        """``{student: automatic points}`` of all graded submissions."""
        with self._gradebook() as gradebook:
            return {submission.student.id: sum(grade.auto_score or 0.0 for notebook in submission.notebooks
                                               for grade in notebook.grades)
                    for submission in gradebook.assignment_submissions(name)}

    def by_cell(self, name, student):
        """``{cell: automatic points, None where a person has to mark}`` of one submission."""
        with self._gradebook() as gradebook:
            submission = gradebook.find_submission(name, student)
            return {grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades}

    def mark(self, name, student):
        """Give a submission's written answers full points, as a person would; the total."""
        with self._gradebook() as gradebook:
            submission = gradebook.find_submission(name, student)
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.needs_manual_grade:
                        grade.manual_score, grade.needs_manual_grade = grade.max_score, False
            gradebook.db.commit()
            return submission.score

    def autograded(self, student, name):
        return nbformat.read(self.folder / "autograded" / student / name / f"{name}.ipynb", as_version=4)

    def feedback(self, student, name):
        return (self.folder / "feedback" / student / name / f"{name}.html").read_text()

    def _gradebook(self):
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db")


def cell(notebook, grade_id):
    """The cell of that name."""
    return next(one for one in notebook.cells if one.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def with_id(notebook, student):
    """The notebook with a student's id written in."""
    for one in notebook.cells:
        if one.cell_type == "code" and one.source.startswith(ID_LINE):
            one.source = one.source.replace(ID_LINE, f"STUDENT_ID = {student!r}", 1)
            return notebook
    raise AssertionError("the notebook has no cell for the id")


def filled(notebook, answers, student):
    """The notebook with these sources in its solution cells and the id written in."""
    for grade_id, source in answers.items():
        cell(notebook, grade_id).source = source
    return with_id(notebook, student)


def told(notebook, grade_id):
    """What the graded notebook says below one test cell."""
    return " ".join(output.get("evalue", "") or output.get("text", "") for output in cell(notebook, grade_id).outputs)


def assignment(path, cells):
    """Write a small source notebook: ``(kind, name, points, source)`` for each cell."""
    built = []
    for kind, name, points, source in cells:
        one = (new_markdown_cell if kind == "written" else new_code_cell)(source)
        if kind != "free":
            one.metadata["nbgrader"] = {
                "grade": kind in ("tests", "written"), "solution": kind in ("solution", "written"),
                "locked": kind in ("given", "tests"), "grade_id": name, "task": False, "schema_version": 3,
                **({"points": points} if points else {})}
        built.append(one)
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=built, metadata={
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}), path)


def _plain_environment():
    return {**os.environ, "PYTHONWARNINGS": "ignore", "JUPYTER_PLATFORM_DIRS": "1"}
