"""A guard round the student's process: it may write in its own folder only, and start no other program.

It says in words what is refused, and stops accidents: a cell that deletes files, fills the memory, or looks for the
tests. Python cannot fence in Python, so someone who wants to gets round it; on Linux `fence` then stands behind it.
"""

import os
import sys

from specdec_lessons.homework.fence import pythons_own

MEMORY = 4 * 2**30  # bytes of address space
FILE_SIZE = 200 * 2**20  # bytes of one file
_CHANGES = {  # audit events that change files -> where their (path, folder descriptor) arguments stand
    "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.link": ((0, 2), (1, 3)), "os.symlink": ((0, None), (1, 2)),
    "os.mkdir": ((0, 2),), "os.utime": ((0, 3),), "shutil.rmtree": ((0, 1),), "shutil.move": ((0, None), (1, None)),
    "sqlite3.connect": ((0, None),),
}
_PROGRAMS = {
    "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "os.startfile", "os.kill", "os.killpg", "pty.spawn",
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def stand(own, closed=()):
    """From now on this process writes only below the folders ``own`` and reads nothing below ``closed``; for good."""
    own, closed = tuple(map(_real, own)), tuple(map(_real, closed))
    open_again = tuple(pythons_own(closed))
    changes, programs, writes, real, inside = dict(_CHANGES), frozenset(_PROGRAMS), _WRITES, _real, _inside

    def refuse(what, path):
        raise PermissionError(f"homework {what}: {os.path.basename(path)}")

    def watch(event, arguments):
        if event in programs or event == "resource.prlimit" and arguments[0] != 0:
            raise PermissionError("homework starts no other program, and ends none")
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            path = real(path)
            if inside(path, own) or path == os.devnull:
                return
            if flags & writes or mode is None and os.path.isdir(path):
                refuse("writes only in its own folder", path)
            if inside(path, closed) and not inside(path, open_again):
                refuse("does not read this", path)
        elif event in ("os.listdir", "os.scandir"):
            path = real("." if arguments[0] is None else arguments[0])
            if inside(path, closed) and not inside(path, own) and not inside(path, open_again):
                refuse("does not look into this", path)
        elif event in changes:
            for place, descriptor in changes[event]:
                folder = arguments[descriptor] if descriptor is not None and descriptor < len(arguments) else None
                path = real(arguments[place], folder)
                if not inside(path, own):
                    refuse("changes only files of its own folder", path)

    _limit()
    sys.addaudithook(watch)


def calm(shell):
    """Let lines that serve the student's own machine, such as ``!pip install`` and ``%matplotlib widget``, pass."""
    def say(line, *_):
        print(f"[not run when graded: {str(line)[:80]}]")

    shell.system = shell.system_raw = shell.system_piped = say
    shell.getoutput = lambda line, *_, **__: say(line) or []
    usual = shell.enable_matplotlib
    shell.enable_matplotlib = lambda gui=None: usual("inline")


def _limit():
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for what, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE)):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (most, most))
        except (ValueError, OSError):  # some systems know the name and refuse
            pass


def _real(path, folder=None):
    """The true place of a path, of an open file's number, or of a path below an open folder's number."""
    path = f"/proc/self/fd/{path}" if isinstance(path, int) else os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0:
        path = os.path.join(os.path.realpath(f"/proc/self/fd/{folder}"), path)
    return os.path.realpath(path)


def _inside(path, folders):
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
