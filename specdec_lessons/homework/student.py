"""A submission's code in a Python process of its own, which may hang, die or cheat without harm to the rest.

Cells run there one after another. Where one ends the process, a new process takes its place and runs the
earlier cells again, all but those that broke one; so a fault costs the questions that depend on it, no more.
"""

import ast
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty
from subprocess import DEVNULL

import matplotlib
import nbformat
import zmq
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbformat.v4 import new_output, output_from_msg

from specdec_lessons.homework import wire

CELL_SECONDS = 10.0
START_SECONDS = 60.0
INTERRUPT_SECONDS = 3.0
ENDED = "it ended the Python process"
MOST_TEXT, FLOOD_OF_TEXT = 100_000, 5_000_000  # characters of a cell: so many are kept; so many stop it
MOST_PICTURES, FLOOD_OF_PICTURES = 3_000_000, 60_000_000  # the same for its pictures
MOST_RESTARTS = 5
MOST_TOLD = 4000  # characters of one error that are passed on
_DEPTH = ("own",) * 6  # so that ../.. leads to nothing of value
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
MOST_MESSAGE = 2 * wire.LARGEST  # bytes of one message; a larger one ends the connection
SUBMISSION_SECONDS = 300.0  # for all cells and questions of one submission together

# The process starts with this, before any file that was handed in can be imported in place of a module.
_LAUNCH = """\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import specdec_lessons.homework.wire, numpy, scipy.special
from specdec_lessons.homework.fence import fence
fence({own!r}, {closed!r})
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""
_FIRST = """\
from specdec_lessons.homework import guard as _guard
_guard.stand({own!r}, {closed!r})
_guard.calm(get_ipython())
del _guard
"""
_IS_FENCED = "__import__('specdec_lessons.homework.fence', fromlist=['fence']).DONE"
_ONE_STRING = re.compile(r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*\"""")


class Stopped(Exception):
    """The process did not answer in time, was stopped, or is gone; the message says which."""


class Student:
    """One submission's process. ``files``: a folder whose files are copied beside it; ``closed``: folders it
    must not read; ``seconds``: the most that one cell or one question may take. ``until``, a time of
    ``time.monotonic``, can be set to end all questions of one test together."""

    def __init__(self, files=None, closed=(), seconds=CELL_SECONDS):
        self.seconds, self.until = seconds, float("inf")
        self._closed = [str(folder) for folder in closed]
        self._root = Path(tempfile.mkdtemp(prefix="homework-"))
        self._own = self._root.joinpath(*_DEPTH)
        self._home = self._root / "home"
        self._own.mkdir(parents=True)
        self._home.mkdir()
        for fonts in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):  # else each process makes the list anew
            shutil.copy(fonts, self._home)
        if files is not None:
            _copy(Path(files), self._own)
        self._done, self._restarts, self._manager, self._client = [], 0, None, None
        self._spent = 0.0
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the process and remove its folder."""
        self._stop()
        shutil.rmtree(self._root, ignore_errors=True)

    def run(self, source):
        """Run one cell; its outputs as nbformat has them, with an error among them where it failed."""
        outputs = []
        try:
            self._execute(source, outputs)
        except Stopped as why:
            outputs.append(error("Stopped", str(why)))
            if not self._alive():
                self._replace()
        else:
            self._done.append(source)
        return outputs

    def look(self, name):
        """``("missing" | "function" | "value", value)`` of a name; raises as `call` does."""
        answer = self._ask("look", repr(name))
        return answer["is"], answer.get("value")

    def call(self, name, arguments, keywords=None, times=None):
        """What the student's function gives; raises RuntimeError with its own error in words, or Stopped."""
        payload = wire.encode([list(arguments), keywords or {}])
        return self._ask("call", f"{name!r}, {payload!r}, {times!r}")["value"]

    def _ask(self, what, arguments):
        # A function's __globals__ are the notebook's names, whatever the student calls "globals".
        code = (f"__import__('specdec_lessons.homework.wire', fromlist=['wire'])"
                f".{what}((lambda: 0).__globals__, {arguments})")
        try:
            reply = self._execute("", [], {"answer": code})
        except Stopped:
            if not self._alive():
                self._replace()
            raise
        try:
            text = reply["content"]["user_expressions"]["answer"]["data"]["text/plain"]
            if len(text) > MOST_MESSAGE or not _ONE_STRING.fullmatch(text):
                raise ValueError("not one string")
            answer = wire.decode(ast.literal_eval(text))
            kind = answer["is"]
        except Exception:  # whatever a tampered process sends is no answer
            raise RuntimeError("the process gave no readable answer") from None
        if kind == "error":
            told = f"{answer.get('name')}: {answer.get('message')}\n{answer.get('where') or ''}"
            raise RuntimeError(told.strip()[:MOST_TOLD])
        if kind not in ("missing", "function", "value"):
            raise RuntimeError("the process gave no readable answer")
        return answer

    def _execute(self, source, outputs, expressions=None):
        """Send one request; gather what it writes in ``outputs``; its reply. Raises Stopped."""
        if self._spent > SUBMISSION_SECONDS:
            raise Stopped(f"not run: the notebook has taken {SUBMISSION_SECONDS:g} seconds already")
        start = time.monotonic()
        try:
            return self._execute_in_time(source, outputs, expressions)
        except (AttributeError, KeyError, TypeError):  # messages of a form that no kernel sends
            self._stop()
            raise Stopped("it interfered with its own messages") from None
        finally:
            self._spent += time.monotonic() - start

    def _execute_in_time(self, source, outputs, expressions=None):
        if not self._alive():  # an earlier cell ended it after its own answer
            self._replace()
        asked = self._client.execute(source, user_expressions=expressions, allow_stdin=False, stop_on_error=False)
        deadline, heard = min(time.monotonic() + self.seconds, self.until), {"text": 0, "pictures": 0}
        try:
            while True:
                message = self._next(self._client.get_iopub_msg, asked, deadline)
                kind = message["msg_type"]
                if kind in ("stream", "display_data", "execute_result", "error"):
                    _hear(message, heard, outputs)
                if kind == "status" and message["content"]["execution_state"] == "idle":
                    reply = self._next(self._client.get_shell_msg, asked, deadline)
                    if any(one.get("source") == "ask_exit" for one in reply["content"].get("payload", ())):
                        self._stop()  # exit() and quit() end the process, a moment after their answer
                        raise Stopped(ENDED)
                    return reply
        except Stopped:
            self._interrupt(asked)
            raise
        finally:
            if heard["text"] > MOST_TEXT or heard["pictures"] > MOST_PICTURES:
                outputs.append(new_output("stream", name="stdout", text="… the rest of the output is cut off\n"))

    def _next(self, get, asked, deadline):
        """The next message that answers the request ``asked``."""
        while time.monotonic() < deadline:
            try:
                message = get(timeout=min(0.2, max(0.0, deadline - time.monotonic())))
            except Empty:
                if not self._alive():
                    raise Stopped(ENDED) from None
                continue
            except Exception:  # a message that cannot be read, sent past the kernel's own signature
                continue
            if message["parent_header"].get("msg_id") == asked:
                return message
        raise Stopped(f"stopped after {self.seconds:g} seconds")

    def _alive(self):
        return self._manager is not None and self._manager.is_alive()

    def _interrupt(self, asked):
        """Stop what runs; where it does not let itself be stopped, end the process."""
        if not self._alive():
            return
        self._manager.interrupt_kernel()
        deadline = time.monotonic() + INTERRUPT_SECONDS
        try:
            while True:
                message = self._next(self._client.get_iopub_msg, asked, deadline)
                if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    return
        except Stopped:
            self._stop()

    def _start(self):
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        home = str(self._home)
        environment |= {"HOME": home, "USERPROFILE": home, "IPYTHONDIR": home, "MPLCONFIGDIR": home,
                        "TMPDIR": home, "TEMP": home, "PYTHONDONTWRITEBYTECODE": "1",
                        "MPLBACKEND": "module://matplotlib_inline.backend_inline", "OMP_NUM_THREADS": "1",
                        "OPENBLAS_NUM_THREADS": "1"}
        places = {"own": [str(self._own), home], "closed": self._closed}
        self._manager = KernelManager(kernel_name="python3", connection_file=str(self._home / "kernel.json"))
        self._manager._kernel_spec = KernelSpec(
            argv=[sys.executable, "-c", _LAUNCH.format(**places), "-f", "{connection_file}"],
            display_name="Python 3", language="python")
        self._manager.start_kernel(cwd=str(self._own), env=environment, stdout=DEVNULL, stderr=DEVNULL,
                                   extra_arguments=["--HistoryManager.enabled=False"])
        self._client = self._manager.blocking_client()
        self._client.context.setsockopt(zmq.MAXMSGSIZE, MOST_MESSAGE)
        self._client.context.setsockopt(zmq.RCVHWM, 20)
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_SECONDS)
        seconds, self.seconds, outputs = self.seconds, START_SECONDS, []
        try:
            reply = self._execute_in_time(_FIRST.format(**places), outputs, {"fenced": _IS_FENCED})
            self.fenced = "True" in str(reply["content"].get("user_expressions", {}).get("fenced"))
        finally:
            self.seconds = seconds
        if any(output.output_type == "error" for output in outputs):
            raise RuntimeError(f"the student's process could not be prepared: {outputs}")

    def _stop(self):
        if self._client is not None:
            self._client.stop_channels()
        if self._manager is not None:
            self._manager.shutdown_kernel(now=True)
        self._client = self._manager = None

    def _replace(self):
        """A new process in the place of one that is gone, with the earlier cells run again."""
        until, self.until = self.until, float("inf")  # a test's time is not the time of the cells before it
        try:
            self._run_again()
        finally:
            self.until = until

    def _run_again(self):
        self._stop()
        self._restarts += 1
        earlier, self._done = (self._done if self._restarts <= MOST_RESTARTS else []), []
        self._start()
        for source in earlier:
            try:
                self._execute(source, [])
                self._done.append(source)
            except Stopped:
                if not self._alive():
                    self._stop()
                    self._start()


def _hear(message, heard, outputs):
    """Keep a message's output as far as there is room; Stopped where a cell writes without end."""
    content = message["content"]
    data = content.get("data", {})
    if "text/html" in data:
        data.pop("image/png", None)  # a figure of the course, which says both
    size = len(str(content))
    sort = "pictures" if any(key.startswith("image/") for key in data) or "data:image/" in str(data) else "text"
    room = (MOST_PICTURES if sort == "pictures" else MOST_TEXT) - heard[sort]
    heard[sort] += size
    if size > room > 0 and message["msg_type"] == "stream":
        content["text"] = content["text"][:room]
        size = room
    if size <= room:
        _add(outputs, message)
    if heard["text"] > FLOOD_OF_TEXT or heard["pictures"] > FLOOD_OF_PICTURES:
        raise Stopped("stopped: it wrote without end")


def _add(outputs, message):
    """One message as an output of nbformat; lines of one stream in one piece. What is none is left out."""
    try:
        output = output_from_msg(message)
        if "metadata" in output:
            output["metadata"] = {}  # it may name files for the page
        nbformat.validator.validate(output, ref="output", version=4)
    except Exception:  # a tampered process sends what it likes
        return
    if (output.output_type == "stream" and outputs and outputs[-1].output_type == "stream"
            and outputs[-1].name == output.name):
        outputs[-1].text += output.text
    else:
        outputs.append(output)


def error(name, message):
    """An error as nbformat stores it, in words alone: no line of the tests stands in it."""
    message = message[:MOST_TOLD]
    return new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])


def _copy(folder, own):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix != ".ipynb":
            (own / path.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, own / path.relative_to(folder))
