"""Homework: numbers of one's own for every student, checks, and grading apart from the student's code.

`personal` draws a student's numbers from the id; one module an assignment says which they are. `checks` is what
the test cells call. `wire`, `guard`, `fence`, `student` and `grading` run a submission: the student's code in a
process of its own, the test cells in another, so that nothing a notebook does to its own process can change a
grade. Only `grading` needs nbgrader.
"""
