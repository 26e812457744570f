"""Numbers of one's own: drawn from the student's id, so that two students have different right answers."""

import hashlib
import unicodedata

import numpy as np

from specdec_lessons._checks import short

PRACTICE = "practice"
LONGEST = 64


def normalise(student_id):
    """The id as it is compared: small letters, no blanks around it and single ones within, accents in one form.

    Raises ValueError where it is no id: not text or a whole number, empty, longer than 64 characters, or with
    characters that cannot be printed.

    >>> normalise(" S1234567 ")
    's1234567'
    """
    text = str(student_id) if type(student_id) is int else student_id
    if not isinstance(text, str) or not text.strip().isprintable() or not 1 <= len(text.strip()) <= LONGEST:
        raise ValueError(f"STUDENT_ID must be your id in quotes, 1 to {LONGEST} characters on one line, "
                         f"got {short(student_id)}")
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def identify(student_id):
    """What to draw the numbers from, and a sentence to the student; never raises.

    Without a usable id the numbers are those of ``practice``, and the sentence says so.

    >>> identify("s1234567")
    ('s1234567', 'These numbers belong to the id s1234567.')
    >>> identify("")[0]
    'practice'
    """
    if student_id is None or student_id is Ellipsis or isinstance(student_id, str) and not student_id.strip():
        return PRACTICE, ("No id yet: these are practice numbers.\nWrite your id between the quotes of STUDENT_ID "
                          "and run all cells again.\nWithout it nothing can be graded.")
    try:
        known = normalise(student_id)
    except ValueError as error:
        return PRACTICE, f"{error}.\nUntil then these are practice numbers, and nothing can be graded."
    return known, f"These numbers belong to the id {known}."


def generator(assignment, student_id):
    """A numpy random generator of this student for this assignment: the same on every machine.

    >>> float(generator("hw1", "ada").random()) == float(generator("hw1", " Ada").random())
    True
    >>> float(generator("hw1", "ada").random()) == float(generator("hw2", "ada").random())
    False
    """
    known, _ = identify(student_id)
    digest = hashlib.sha256(f"{assignment}/{known}".encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest, "big")))

