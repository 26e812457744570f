"""How long a class takes to grade, on two cores.

    python -m tests.benchmarks.grading [--submissions 100] [--processes 2] [--assignment hw2_speedup]

hands in the solved assignment under that many names, grades it with that many ``nbgrader autograde`` at a time,
each for its share of the names, and prints seconds, seconds a submission and memory; then the slowest cell of
each assignment. The machine's load is printed beside it. Every submission must get its points, or it says so.
"""

import argparse
import copy
import importlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import nbformat
import psutil

from specdec_lessons.homework.grading import run_tests
from specdec_lessons.homework.student import Student
from tests.homework.course import HOMEWORK, Course, with_id


def memory_of(process):
    """Resident bytes of a process and of all that it started."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_info().rss
        except psutil.Error:
            pass
    return total


class Watch(threading.Thread):
    """Notes the most memory that this process's children hold together."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.done = 0, threading.Event()

    def run(self):
        me = psutil.Process()
        while not self.done.wait(0.2):
            self.most = max(self.most, sum(memory_of(child) for child in me.children()))


def grade_class(name, submissions, processes):
    """Grade that many submissions; prints what it took."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(folder)
        course.nbgrader("generate_assignment", name)
        source = course.source(name)
        for number in range(submissions):
            student = f"group{number % processes}-{number:04d}"
            course.submit(student, name, with_id(copy.deepcopy(source), student))
        watch, start = Watch(), time.perf_counter()
        watch.start()
        running = [subprocess.Popen(
            [sys.executable, "-m", "nbgrader", "autograde", name, "--student", f"group{number}-*"],
            cwd=course.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for number in range(processes)]
        said = [process.communicate()[0] for process in running]
        seconds = time.perf_counter() - start
        watch.done.set()
        due = importlib.import_module(f"tests.homework.{name}").AUTO
        points = course.points(name)
    right = sum(got == due for got in points.values())
    print(f"{name}: {submissions} submissions, {processes} at a time, load {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} cores: {seconds:.0f} s, {seconds / submissions:.2f} s each; "
          f"{right} of {submissions} got their {due:g} points; at most {watch.most / 2**20:.0f} MB in all")
    if right != submissions or any(process.returncode for process in running):
        print("\n".join(text[-2000:] for text in said))


def slowest_cell(name):
    """The seconds of the slowest cell of the solved assignment, and which it is."""
    notebook = with_id(nbformat.read(HOMEWORK / "source" / name / f"{name}.ipynb", as_version=4), "ada")
    times = []
    with Student() as student:
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            about = cell.metadata.get("nbgrader", {})
            start = time.perf_counter()
            if about.get("grade") and not about.get("solution"):
                run_tests(cell.source, student, ["ada"])
            else:
                student.run(cell.source)
            times.append((time.perf_counter() - start, about.get("grade_id", f"cell {number}")))
    return max(times)


def main():
    """Read the command line, grade, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--assignment", default="hw2_speedup")
    given = parser.parse_args()
    grade_class(given.assignment, given.submissions, given.processes)
    for path in sorted(Path(HOMEWORK, "source").glob("hw*")):
        seconds, cell = slowest_cell(path.name)
        print(f"{path.name}: the slowest cell is {cell}, {seconds:.1f} s")


if __name__ == "__main__":
    main()
