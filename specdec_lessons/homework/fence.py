"""A fence by the Linux kernel (Landlock, since Linux 5.13) round the student's process; elsewhere there is none.

It is set before the student's code runs and cannot be taken down by it, nor by what it starts: sqlite, Tcl and
ctypes find the same closed doors as Python. `guard` says the same in words, in Python, on every system.
"""

import ctypes
import os
import struct
import sys

# Numbers of the kernel's interface, as in its documentation "Landlock: unprivileged access control".
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on all architectures
_PATH_BENEATH, _VERSION_FLAG, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_ACCESS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many kinds of access each version knows; 16 since version 5
_NO_TCP_CONNECT, _NO_SIGNALS_OUT_NOR_SOCKETS = 2, 3  # since versions 4 and 6
DONE = False  # whether this process has its fence


def fence(own, closed=()):
    """From now on this process writes only below the folders ``own``, and reads all but ``closed``; for good.

    It starts no program, connects to nothing over TCP and signals no other process, as far as the kernel knows
    how. Returns whether there is a fence.
    """
    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    if version < 1:
        return False
    everything = (1 << _ACCESS_BITS.get(version, 16)) - 1
    handled = [everything, *([_NO_TCP_CONNECT] if version >= 4 else []),
               *([_NO_SIGNALS_OUT_NOR_SOCKETS] if version >= 6 else [])]
    packed = struct.pack(f"={len(handled)}Q", *handled)
    rules = call(_CREATE_RULESET, packed, ctypes.c_size_t(len(packed)), ctypes.c_uint(0))
    if rules < 0:
        return False

    def allow(path, access):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return
        if not os.path.isdir(path):
            access &= _EXECUTE | _WRITE_FILE | _READ_FILE | everything & (_TRUNCATE | _IOCTL)
        rule = struct.pack("=Qi", access, descriptor)
        call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        os.close(descriptor)

    closed = [os.path.realpath(folder) for folder in closed]
    for path in [*_all_but(closed), *pythons_own(closed)]:
        allow(path, _READ_FILE | _READ_DIR)
    for folder in own:
        allow(os.path.realpath(folder), everything & ~_EXECUTE)
    allow(os.devnull, _READ_FILE | _WRITE_FILE)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    global DONE
    DONE = call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)) == 0
    os.close(rules)
    return DONE


def pythons_own(closed):
    """Folders of Python itself and of the course's package that lie below a closed one: nothing runs without them.

    >>> pythons_own(["/nowhere"])
    []
    """
    package = os.path.dirname(os.path.dirname(__file__))
    folders = {os.path.realpath(folder) for folder in [sys.prefix, sys.base_prefix, package, *filter(None, sys.path)]}
    return sorted(folder for folder in folders if any(folder.startswith(one + os.sep) for one in closed))


def _all_but(closed, folder="/"):
    """The largest folders and files that hold nothing closed: a rule opens all that lies below its folder."""
    if not closed:
        return [folder]
    paths = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        if entry.is_symlink() or entry.path in closed:
            continue
        if any(one.startswith(entry.path + os.sep) for one in closed):
            paths += _all_but(closed, entry.path)
        else:
            paths.append(entry.path)
    return paths
