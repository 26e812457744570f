"""Settings of nbgrader for the homework. The commands read them when they are run in this folder."""

from pathlib import Path

from specdec_lessons.homework import grading

c = get_config()  # noqa: F821 (nbgrader puts it here)
grading.configure(c, Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "specdec"

# A cell of a submission, and a test, may take so many seconds.
c.RunApart.seconds = 10.0

# zip_collect takes STUDENT_anything_hw2_speedup.ipynb, and the folders STUDENT_anything/hw2_speedup.ipynb, as
# learning platforms hand them out; what is added at the end, as in "hw2_speedup (1).ipynb", is dropped.
c.FileNameCollectorPlugin.named_regexp = (
    r".*[\\/]extracted[\\/](?:.*[\\/])?(?P<student_id>(?!hw[1-4]_)[^\\/_]+)_(?:.*[\\/_])?"
    r"(?P<file_id>hw1_cost_of_decode|hw2_speedup|hw3_rejection_sampling|hw4_capstone)")

# Where a student rightly typed another id than the name of the submission's folder, say so, for all assignments or for
# one. (This file is in the repository: keep real ids in a copy that is not published.)
# c.RunApart.ids = {"mueller": "s1234567", "hw2_speedup/kim": "kmi"}

# The gradebook is a file, gradebook.db. On a network disk, or graded from several machines, it wants a server:
# pip install "psycopg[binary]", and (nbgrader makes the tables itself)
# c.CourseDirectory.db_url = "postgresql+psycopg://nbgrader:password@host:5432/gradebook"

# Where nbgrader's own release and collect are used (one machine or a JupyterHub): the folder that all share.
# c.Exchange.root = "/srv/nbgrader/exchange"
