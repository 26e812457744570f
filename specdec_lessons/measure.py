"""What this machine does: a matrix times n columns, and how fast its memory can be read and copied."""

import time
from dataclasses import dataclass

import numpy as np
import threadpoolctl
from scipy.linalg import blas

from specdec_lessons import _checks

GEMM = {"float32": blas.sgemm, "float64": blas.dgemm}
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class ColumnTimes:
    """What ``measure_columns`` found: best time for each number of columns, and how it was measured.

    ``seconds[i]`` belongs to ``columns[i]``; ``gemm_one_column`` is the time of one column sent through the
    matrix-matrix routine; ``rounds`` how often each was timed; ``threads`` is None where the library's
    threads cannot be limited; ``blas`` names the library.
    """

    columns: tuple
    seconds: tuple
    gemm_one_column: float
    rows: int
    depth: int
    dtype: str
    threads: int | None
    rounds: int
    blas: str

    @property
    def ratios(self):
        """v(n): each time divided by the time of one column; the first is 1.0."""
        return tuple(time / self.seconds[0] for time in self.seconds)

    @property
    def matrix_bytes(self):
        """Size of the matrix in bytes."""
        return self.rows * self.depth * np.dtype(self.dtype).itemsize

    @property
    def read_speeds(self):
        """Bytes of the matrix read per second, for each number of columns."""
        return tuple(self.matrix_bytes / time for time in self.seconds)

    @property
    def flops(self):
        """FLOP/s reached, for each number of columns (2 per matrix entry and column)."""
        return tuple(2 * self.rows * self.depth * n / time for n, time in zip(self.columns, self.seconds))


@dataclass(frozen=True)
class MemorySpeed:
    """What ``measure_copy`` found, in bytes/s: ``copy`` counts the bytes read and the bytes written."""

    read: float
    copy: float
    megabytes: int
    threads: int | None


def measure_columns(columns=(1, 2, 4, 8, 16, 32, 64), rows=8192, depth=4096, dtype="float32", threads=1,
                    budget=2.5, seed=0):
    """Time a (rows, depth) matrix times n columns on this machine, for each n in ``columns``.

    Returns ``ColumnTimes``; raises ``ValueError`` for sizes, threads or a budget that make no sense.

    The matrix stands for the weights, the columns for the positions of a pass. The default matrix has
    134 MB, more than the caches of nearly every CPU, so that it comes from memory each time. All sizes take
    turns, so that a disturbance hits them alike, and the best time of each counts; the turns go on for about
    ``budget`` seconds, at least three. ``columns`` must start at 1 and grow; ``threads`` limits the linear
    algebra library (BLAS).

    What to expect on many CPUs: **2 columns cost two to three times as much as 1**, and then it is nearly
    flat to about 16. One column goes to BLAS's matrix-vector routine, which streams the matrix once at the
    speed of memory. Two or more go to the matrix-matrix routine, which copies the matrix block by block into
    an order of its own before it multiplies (Goto and van de Geijn 2008, "Anatomy of high-performance matrix
    multiplication", section 4): work that is the same for 2 columns as for 16, and that pays off only for
    many. ``gemm_one_column`` shows it: one column through the matrix-matrix routine takes about as long as
    two.
    So the step is between two routines, not between one position and two; a library made for
    inference can store the weights in the order of its kernel once and for all.

    >>> times = measure_columns(columns=(1, 2), rows=256, depth=256, budget=0.01)
    >>> times.ratios[0], len(times.seconds)
    (1.0, 2)
    """
    columns = _columns(columns)
    rows, depth = (_checks.single_count(n, v, at_least=1) for n, v in (("rows", rows), ("depth", depth)))
    threads = _checks.single_count("threads", threads, at_least=1)
    budget = _checks.single_positive("budget", budget)
    dtype = getattr(dtype, "__name__", str(dtype))
    if dtype not in GEMM:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    rng = np.random.default_rng(_checks.single_count("seed", seed))
    matrix = rng.random((rows, depth), dtype=dtype)
    blocks = [rng.random((depth, n), dtype=dtype) for n in columns]
    tasks = [lambda block=block: matrix @ block for block in blocks]
    tasks.append(lambda: GEMM[dtype](1.0, blocks[0].T, matrix.T))  # what numpy calls for two columns or more
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        best, rounds = _take_turns(tasks, budget)
        name, limited = _blas()
    return ColumnTimes(columns, tuple(best[:-1]), best[-1], rows, depth, dtype,
                       threads if limited else None, rounds, name)


def measure_copy(megabytes=128, threads=1, budget=0.5):
    """How fast this machine reads memory and copies it -> ``MemorySpeed``, in bytes/s.

    Reading is the dot product of a long float32 vector with itself; copying is ``numpy.copyto`` into
    another one (numpy copies with one thread). Each is repeated for about ``budget`` seconds in all, at least
    three times, and the best counts. Takes twice ``megabytes`` (of 1e6 bytes) of memory.

    >>> speed = measure_copy(megabytes=1, budget=0.01)
    >>> speed.read > 0, speed.copy > 0
    (True, True)
    """
    megabytes = _checks.single_count("megabytes", megabytes, at_least=1)
    threads = _checks.single_count("threads", threads, at_least=1)
    budget = _checks.single_positive("budget", budget)
    source = np.ones(megabytes * 250_000, dtype=np.float32)
    sink = np.empty_like(source)
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        tasks = [lambda: source.dot(source), lambda: np.copyto(sink, source)]
        (reading, copying), _ = _take_turns(tasks, budget)
        limited = _blas()[1]
    return MemorySpeed(source.nbytes / reading, 2 * source.nbytes / copying, megabytes,
                       threads if limited else None)


def measured_verify_cost(times, positions=None):
    """v(1), ..., v(positions) from a measurement, in passes over one position -> float64 array (positions,).

    Straight lines between the measured numbers of columns; nothing beyond the largest (``ValueError``), which
    is also the default. Entry k is the cost of a pass over k drafts, k + 1 positions: what
    ``formulas.best_draft_length`` takes as ``verify_cost``.

    >>> times = ColumnTimes((1, 2, 4), (0.010, 0.025, 0.030), 0.024, 8192, 4096, "float32", 1, 5, "BLAS")
    >>> measured_verify_cost(times).tolist()
    [1.0, 2.5, 2.75, 3.0]
    """
    if not isinstance(times, ColumnTimes):
        raise ValueError(f"times must be what measure_columns returns, got {times!r}")
    largest = times.columns[-1]
    positions = largest if positions is None else _checks.single_count("positions", positions, at_least=1)
    if positions > largest:
        raise ValueError(f"positions must be at most {largest}, the most columns measured, got {positions}")
    return np.interp(np.arange(1, positions + 1), times.columns, times.ratios)


def _columns(columns):
    counts = _checks.count("columns", columns, at_least=1)
    if counts.ndim != 1 or counts.size == 0 or counts[0] != 1 or np.any(np.diff(counts) <= 0):
        raise ValueError(f"columns must be whole numbers that start at 1 and grow, got {columns!r}")
    return tuple(counts.tolist())


def _take_turns(tasks, budget):
    """The best time of each task, all of them run in turn for about ``budget`` seconds; and the rounds."""
    for task in tasks[:2]:
        task()
    best, rounds, start = [float("inf")] * len(tasks), 0, time.perf_counter()
    while rounds < LEAST_ROUNDS or time.perf_counter() - start < budget:
        for index, task in enumerate(tasks):
            before = time.perf_counter()
            task()
            best[index] = min(best[index], time.perf_counter() - before)
        rounds += 1
    return [max(seconds, 1e-9) for seconds in best], rounds


def _blas():
    """The name of numpy's linear algebra library, and whether its threads can be limited."""
    found = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if found:
        pool = next((pool for pool in found if "numpy" in pool["filepath"]), found[0])
        parts = (pool["internal_api"], pool.get("version"), pool.get("architecture"))
        return " ".join(str(part) for part in parts if part), True
    library = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return library.get("name") or "unknown", False
