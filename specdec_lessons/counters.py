"""The counters of real engines, pasted as text: what each of them counts, and what follows from it.

"Acceptance" means something else in each engine. How they were when this was written:

- vLLM (``vllm/v1/spec_decode/metrics.py``, class SpecDecodingLogging): "Mean acceptance length" is
  1 + accepted / drafts, the target's own token included; a *draft* there is one pass that had a draft.
  "Avg Draft acceptance rate" is accepted / drafted. "Per-position acceptance rate" is, for each position, the
  passes that accepted it over **all** passes with a draft: survival, not the rate of that position. Each line
  covers the time since the line before.
- SGLang (``sglang/srt/managers/scheduler_metrics_mixin.py``): "accept len" is (accepted + passes) / passes,
  the target's own token included. "accept rate" was (accepted + passes) / (passes x (k + 1)) in 2025 builds
  and is accepted / (passes x k) in later ones. A finished request shows (pull requests 11441, 18332, 33518)
  spec_verify_ct, spec_accept_length and a histogram: entry i counts the passes that accepted i drafts.
- llama.cpp: "draft acceptance" is accepted / drafted ("generated" are the drafts), without the number of
  passes. Since pull request 24536 it adds "mean acceptance length", the target's own token included, and the
  acceptance rate per position, which is survival. The older ``speculative`` example prints n_draft,
  n_drafted, n_accept and n_predict (issue 3649).
- transformers prints no such counter. Count the calls of the target's ``forward`` during ``generate`` and the
  new tokens, and paste them as ``passes = 52, generated = 260``.

An engine that drafts nothing in some passes leaves these out of its counters, so that tokens per pass *with a
draft* can lie well above tokens per pass.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from specdec_lessons import _checks, formulas

ENGINES = ("vLLM", "SGLang", "llama.cpp", "own counts")
LOOKED_FOR = {
    "vLLM": '"Mean acceptance length: 2.4 … Accepted: 89 tokens, Drafted: 975 tokens"',
    "SGLang": '"accept len: 2.7" or "spec_correct_drafts_histogram": [11, 14, …]',
    "llama.cpp": '"draft acceptance = … ( 167 accepted / 259 generated)" or "n_drafted = …"',
    "own counts": '"passes = 52, generated = 260"',
}
EXAMPLES = {
    "vLLM, 15 drafts": (
        "SpecDecoding metrics: Mean acceptance length: 2.37, Accepted throughput: 8.90 tokens/s, "
        "Drafted throughput: 97.50 tokens/s, Accepted: 89 tokens, Drafted: 975 tokens, "
        "Per-position acceptance rate: 0.600, 0.385, 0.215, 0.108, 0.062, 0.000, 0.000, 0.000, 0.000, 0.000, "
        "0.000, 0.000, 0.000, 0.000, 0.000, Avg Draft acceptance rate: 9.1%",
        "GitHub, AEON-7's Qwen3.6-27B DFlash repository, issue 6",
    ),
    "vLLM, a draft that does not fit": (
        "SpecDecoding metrics: Mean acceptance length: 1.03, Accepted throughput: 2.50 tokens/s, "
        "Drafted throughput: 365.14 tokens/s, Accepted: 25 tokens, Drafted: 3652 tokens, "
        "Per-position acceptance rate: 0.027, 0.000, 0.000, 0.000, Avg Draft acceptance rate: 0.7%",
        "vLLM issue 41789",
    ),
    "SGLang": (
        '{"spec_accept_rate": 0.2930232558139535, "spec_accept_length": 2.4651162790697674,\n'
        ' "spec_num_correct_drafts": 63, "spec_num_proposed_drafts": 215, "spec_verify_ct": 43,\n'
        ' "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3]}',
        "SGLang pull request 33518",
    ),
    "llama.cpp": (
        "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length =  2.92, "
        "acceptance rate per position = (0.805, 0.632, 0.483)",
        "llama.cpp pull request 24536",
    ),
    "llama.cpp, 2023": (
        "n_draft   = 5\nn_predict = 261\nn_drafted = 260\nn_accept  = 208\naccept    = 80.000%",
        "llama.cpp issue 3649",
    ),
}
"""Logs that people have posted: name -> (text, where it stands)."""

_NUMBER = r"(\d+(?:\.\d+)?)"
_COMMA = r"accept(?:ance)?[ _](?:len(?:gth)?|rate)\b[\"']?\s*[:=]\s*(\d+,\d+)"
_LIST = r"[\[(]?\s*((?:\d+(?:\.\d+)?\s*,\s*)*\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class EngineCounters:
    """What a pasted log says, in the terms of the course.

    ``k``: the longest draft (None where neither log nor reader says it); ``tokens_per_pass``: with the
    target's own token; ``survival``: for each position the share of passes that accepted it, or ();
    ``passes``, ``accepted``, ``drafted``: counts, None where the log does not give them; ``notes``: what was
    converted, in words.
    """

    engine: str
    k: int | None
    tokens_per_pass: float
    survival: tuple = ()
    passes: float | None = None
    accepted: float | None = None
    drafted: float | None = None
    notes: tuple = ()

    @property
    def a(self):
        """The rate at which the i.i.d. model yields these tokens per pass, as in ``from_counters``."""
        if self.k is None:
            raise ValueError("k must be given: this log does not say how long the drafts are")
        a = formulas.acceptance_for_tokens(self.tokens_per_pass, self.k)
        if np.isnan(a):
            raise ValueError(
                f"k must be at least {int(np.ceil(self.tokens_per_pass)) - 1} for "
                f"{self.tokens_per_pass:.2f} tokens per pass, got {self.k}"
            )
        return a

    @property
    def conditional(self):
        """For each position the rate among the drafts that were judged there; nan where none was."""
        before = (1.0, *self.survival)
        return tuple(
            now / earlier if earlier > 0 else float("nan") for earlier, now in zip(before, self.survival)
        )

    @property
    def accepted_over_judged(self):
        """Accepted / judged, which survival gives; None without it."""
        if not self.survival:
            return None
        return sum(self.survival) / (1 + sum(self.survival[:-1]))

    @property
    def drafts_per_pass(self):
        """Drafts in an average pass, which is k unless drafts stop early; None where the log does not say."""
        return self.drafted / self.passes if self.drafted and self.passes else self.k

    @property
    def per_draft_rate(self):
        """Accepted / drafted, what most logs call the acceptance rate; None where the log does not say."""
        if self.drafted:
            return self.accepted / self.drafted
        return (self.tokens_per_pass - 1) / self.k if self.k else None


class Advice(NamedTuple):
    """What to do about it: the best k, its speedup, the speedup at the present k, and a sentence."""

    best_k: int
    best_speedup: float
    speedup_now: float
    sentence: str

    @property
    def switch_off(self):
        """Whether no draft length beats plain decoding."""
        return self.best_k == 0


def read_counters(text, engine=None, k=None):
    """Read a pasted log -> :class:`EngineCounters`. Several lines of one engine are added up.

    ``engine`` is one of ``ENGINES``, or None to find out; ``k`` is the draft length that was set, for logs
    that do not tell it. ValueError, in one line, says what was looked for.

    >>> old = read_counters("n_draft = 5  n_predict = 261  n_drafted = 260  n_accept = 208")
    >>> old.engine, old.passes, old.tokens_per_pass, round(old.a, 3)
    ('llama.cpp', 52, 5.0, 0.927)
    >>> line = ("draft acceptance = 0.64479 (  167 accepted /   259 generated), "
    ...         "mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)")
    >>> new = read_counters(line)
    >>> round(new.tokens_per_pass, 2), [round(rate, 3) for rate in new.conditional]
    (2.92, [0.805, 0.785, 0.764])
    """
    if not isinstance(text, str):
        raise ValueError(f"text must be a string, got {_checks.short(text)}")
    if engine is not None and engine not in ENGINES:
        raise ValueError(
            f"engine must be one of {', '.join(map(repr, ENGINES))}, got {_checks.short(engine)}"
        )
    k = None if k is None else _checks.single_count("k", k, at_least=1)
    comma = re.search(_COMMA, text, re.IGNORECASE)
    if comma:
        raise ValueError(f"text must have decimal points, as engines print them, got {comma[1]}")
    for name in ENGINES if engine is None else (engine,):
        found = _READERS[name](text, k)
        if found is not None:
            return _with_mean_length(_plausible(found))
    if engine is None:
        raise ValueError(
            'text must hold "Mean acceptance length" (vLLM), "accept len" (SGLang), '
            '"draft acceptance" (llama.cpp) or "passes = …" (your own counts)'
        )
    raise ValueError(f"text must hold {LOOKED_FOR[engine]} ({engine})")


def advise(counters, c, verify_cost=1.0, k_max=16):
    """The best k for these counters at draft cost c -> :class:`Advice`.

    ``verify_cost``: one number v ≥ 1 for a pass with drafts (plain decoding costs 1), or v[0], …, v[k_max].
    Up to the measured length the survivals are used as they are, which needs no assumption; beyond it, or
    where the log has none, the i.i.d. model with the rate ``a``.

    >>> log = read_counters("n_draft = 5 n_drafted = 260 n_accept = 208")
    >>> advise(log, c=0.1).sentence
    'Speculation pays: 3.33 times as fast as plain decoding at k = 5. The best k is 12, with 3.89 times.'
    """
    speedups, k = speedup_by_length(counters, c, verify_cost, k_max), counters.k
    v = np.ravel(verify_cost)
    if 1 < v.size <= k:
        raise ValueError(f"verify_cost must be one number or reach to k = {k}, got {v.size} numbers")
    cost_now = float(v[min(k, v.size - 1)]) + c * min(counters.drafts_per_pass, k)
    now = counters.tokens_per_pass / cost_now
    best = int(np.argmax(speedups > speedups.max() - formulas.TIE))
    return Advice(best, float(speedups[best]), now, _sentence(speedups, k, best, now))


def speedup_by_length(counters, c, verify_cost=1.0, k_max=16):
    """The speedup at k = 0, 1, …, k_max that these counters promise, for :func:`advise` -> (k_max + 1,).

    >>> own = read_counters("passes = 100, generated = 150, k = 1")
    >>> speedup_by_length(own, c=0.5, k_max=2).tolist()
    [1.0, 1.0, 0.875]
    """
    a = counters.a
    c = _checks.single("c", _checks.non_negative, c)
    k_max = _checks.single_count("k_max", k_max, at_least=1)
    v = _checks.positive("verify_cost", verify_cost)
    if v.ndim == 0:
        v = np.where(np.arange(k_max + 1) == 0, 1.0, v)
    elif v.shape != (k_max + 1,):
        raise ValueError(
            f"verify_cost must be one number or k_max + 1 = {k_max + 1} of them, got shape {v.shape}"
        )
    kept = np.array(counters.survival or a ** np.arange(1, counters.k + 1))[:k_max]
    kept = np.concatenate([kept, kept[-1] * a ** np.arange(1, k_max - kept.size + 1)])
    return np.concatenate([[1.0], 1 + np.cumsum(kept)]) / (v + c * np.arange(k_max + 1))


def _sentence(speedups, k, best, speedup_now):
    now, top = f"{speedup_now:.2f} times as fast as plain decoding at k = {k}", f"{speedups[best]:.2f} times"
    if best == 0:
        return f"Switch it off: {now}, and no k beats plain decoding."
    opening = "Speculation pays" if speedup_now > 1 else "Too long a draft"
    if best == k:
        return f"{opening}: {now}, which is the best k."
    if speedups[best] < 1.02 * speedup_now:
        return f"{opening}: {now}. Keep k: the best, {best}, brings {top}."
    return f"{opening}: {now}. The best k is {best}, with {top}."


# -- one reader for each engine -----------------------------------------------------------------------


def _numbers(pattern, text):
    return [float(found) for found in re.findall(pattern, text, re.IGNORECASE)]


def _lists(pattern, text):
    return [tuple(float(part) for part in found.split(",")) for found in re.findall(pattern + _LIST, text)]


def _weighted(lists, weights):
    """Survivals of several lines as one: shorter ones end in zeros, heavier lines count more."""
    size = max(map(len, lists), default=0)
    padded = np.array([(*one, *(size - len(one)) * (0.0,)) for one in lists])
    return tuple(float(x) for x in np.average(padded, axis=0, weights=weights)) if size else ()


def _read_vllm(text, k):
    lengths = _numbers(r"Mean acceptance length:\s*" + _NUMBER, text)
    if not lengths:
        return None
    accepted = _numbers(r"\bAccepted:\s*(\d+)\s*tokens", text)
    drafted = _numbers(r"\bDrafted:\s*(\d+)\s*tokens", text)
    lists = _lists(r"Per-position acceptance rate:\s*", text)
    notes = [
        "mean acceptance length holds the target's own token",
        "per-position rates are survival: divided by the one before",
    ]
    complete = len(accepted) == len(drafted) == len(lengths)
    drafts = [_passes(*line) for line in zip(accepted, lengths)] if complete else [1.0] * len(lengths)
    if complete and lists and len(lists) == len(lengths):
        drafts = [
            max(guess, d / len(s)) if a == 0 else guess
            for guess, a, d, s in zip(drafts, accepted, drafted, lists)
        ]
    if complete and sum(drafts) > 0:
        passes = sum(drafts)
        tokens = 1 + sum(accepted) / passes
        notes.append("passes are not printed: accepted / (mean length − 1)")
    else:
        passes, tokens = None, float(np.mean(lengths))
        drafts = [1.0] * len(lengths)
    survival = _weighted(lists, drafts) if len(lists) == len(lengths) else ()
    return EngineCounters(
        "vLLM",
        k or len(survival) or None,
        tokens,
        survival,
        passes if passes is None else round(passes),
        sum(accepted) if complete else None,
        sum(drafted) if complete else None,
        tuple(notes),
    )


def _passes(accepted, length):
    return accepted / (length - 1) if length > 1 else 0.0


def _read_sglang(text, k):
    histograms = _lists(r"spec_(?:accept|correct_drafts)_histogram[\"']?\s*[:=]\s*", text)
    if histograms:
        return _from_histogram(histograms, k)
    lengths = _numbers(r"accept len:\s*" + _NUMBER, text) or _numbers(
        r"spec_accept_length[\"']?\s*[:=]\s*" + _NUMBER, text
    )
    if not lengths:
        return None
    running = _numbers(r"#running-req:\s*(\d+)", text)
    weights = running if len(running) == len(lengths) and sum(running) else None
    tokens = float(np.average(lengths, weights=weights))
    notes = ["accept len holds the target's own token"]
    rates = _numbers(r"accept rate:\s*" + _NUMBER, text)
    if k is None and len(rates) == len(lengths) and min(rates) > 0:
        k = max(1, round(float(np.mean([(n - 1) / rate for n, rate in zip(lengths, rates)]))))
        notes.append(
            f"k = {k} from accept rate = (accept len − 1) / k, as in builds since 2026; "
            "in older ones give k yourself"
        )
    return EngineCounters("SGLang", k, tokens, notes=tuple(notes))


def _from_histogram(histograms, k):
    size = max(map(len, histograms))
    counts = np.sum([(*one, *(size - len(one)) * (0.0,)) for one in histograms], axis=0)
    passes, accepted = counts.sum(), float(counts @ np.arange(size))
    if passes == 0 or size < 2:
        raise ValueError("the histogram must count at least one pass and have k + 1 entries")
    survival = tuple(float(x) for x in counts[::-1].cumsum()[::-1][1:] / passes)
    return EngineCounters(
        "SGLang",
        k or size - 1,
        1 + accepted / float(passes),
        survival,
        int(passes),
        int(accepted),
        int(passes) * (size - 1),
        ("histogram entry i counts passes that accepted i drafts: k + 1 entries",),
    )


def _read_llamacpp(text, k):
    if re.search(r"\bn_drafted\s*=", text):
        return _read_llamacpp_example(text, k)
    pairs = re.findall(
        r"draft acceptance(?: rate)?\s*=\s*[\d.]+%?\s*\(\s*(\d+)\s*(?:accepted)?\s*/\s*(\d+)", text
    )
    statistics = re.findall(
        r"#gen drafts\s*=\s*(\d+).*?#gen tokens\s*=\s*(\d+).*?#acc tokens\s*=\s*(\d+)", text
    )
    if not pairs and not statistics:
        return None
    if pairs:
        accepted, drafted = (sum(map(int, column)) for column in zip(*pairs))
    else:
        _, drafted, accepted = map(int, statistics[-1])  # these run from the start: the last line has all
    lists = _lists(r"acceptance rate per position\s*=\s*", text) or _lists(r"#acc rate/pos\s*=\s*", text)[-1:]
    lengths = _numbers(r"mean acceptance length\s*=\s*" + _NUMBER, text)
    weights = [int(taken) for taken, _ in pairs] if len(lists) == len(pairs) and accepted else None
    survival = _weighted(lists, weights)
    k = k or len(survival) or None
    generated = re.findall(r"(?<!prompt )\beval time\s*=\s*[\d.]+ ms\s*/\s*(\d+) tokens", text)
    notes = ["draft acceptance is accepted / drafted: it counts discarded drafts as failures"]
    if lengths and len(lengths) == len(pairs):
        passes = sum(_passes(int(taken), length) for (taken, _), length in zip(pairs, lengths))
        notes.append("mean acceptance length holds the target's own token, and only passes with a draft")
    elif pairs and len(generated) == len(pairs):
        passes = (
            sum(map(int, generated)) - accepted - len(pairs)
        )  # each prompt gives one token without a pass
        notes.append("passes = tokens − accepted − 1: every pass adds one token of its own, drafts or none")
    elif len(statistics) == 1 and len(pairs) <= 1:
        passes = int(statistics[0][0])
        notes.append("passes from #gen drafts: only those with a draft")
    elif k:
        passes = drafted / k
        notes.append("passes = drafted / k, as if every draft had its full length")
    else:
        raise ValueError('k must be given: this log has no "mean acceptance length" and no "eval time"')
    if passes <= 0:
        raise ValueError(f"text must show more tokens than accepted drafts, got {accepted} accepted")
    return EngineCounters(
        "llama.cpp", k, 1 + accepted / passes, survival, round(passes), accepted, drafted, tuple(notes)
    )


def _read_llamacpp_example(text, k):
    found = {
        name: _numbers(rf"\b{name}\s*=\s*(\d+)", text)
        for name in ("n_draft", "n_drafted", "n_accept", "n_predict")
    }
    if not found["n_accept"]:
        return None
    drafted, accepted = int(found["n_drafted"][-1]), int(found["n_accept"][-1])
    k = k or (int(found["n_draft"][-1]) if found["n_draft"] else None)
    if found["n_predict"]:
        passes, how = (
            int(found["n_predict"][-1]) - accepted - 1,
            "n_predict − n_accept − 1, the prompt's token apart",
        )
    elif k:
        passes, how = drafted / k, "n_drafted / n_draft"
    else:
        raise ValueError("k must be given: this log has neither n_draft nor n_predict")
    if passes <= 0:
        raise ValueError(f"text must show more tokens than accepted drafts, got {accepted} accepted")
    passes = round(passes) if passes == round(passes) else passes
    return EngineCounters(
        "llama.cpp",
        k,
        1 + accepted / passes,
        (),
        passes,
        accepted,
        drafted,
        ("accept is accepted / drafted", f"passes = {how}"),
    )


def _read_own_counts(text, k):
    values = {
        name: int(number)
        for name, number in re.findall(r"\b(passes|generated|accepted|drafted|k)\s*[=:]\s*(\d+)\b", text)
    }
    passes, k = values.get("passes"), k or values.get("k") or None
    if not passes or not {"generated", "accepted"} & set(values):
        return None
    accepted = values.get("accepted", values.get("generated", 0) - passes)
    if accepted < 0:
        raise ValueError(f"generated must be at least passes = {passes}, got {values['generated']}")
    return EngineCounters(
        "own counts",
        k,
        1 + accepted / passes,
        (),
        passes,
        accepted,
        values.get("drafted"),
        ("each pass adds one token of its own: accepted = generated − passes",),
    )


_READERS = {
    "vLLM": _read_vllm,
    "SGLang": _read_sglang,
    "llama.cpp": _read_llamacpp,
    "own counts": _read_own_counts,
}


def _with_mean_length(found):
    """A note where drafts stop early: then no k and no a describe them alone."""
    mean = found.drafts_per_pass
    if found.k and mean < 0.9 * found.k:
        return replace(
            found,
            notes=(
                *found.notes,
                f"drafts are {mean:.1f} tokens long on average, not {found.k}: "
                "a belongs to this way of stopping, not to each draft",
            ),
        )
    return found


def _plausible(found):
    """The counters, if they can be: rates fall along the draft and lie in [0, 1], accepted ≤ drafted."""
    kept = (1.0, *found.survival)
    if any(later > earlier + 0.002 for earlier, later in zip(kept, kept[1:])):
        raise ValueError(
            "the rates per position must fall from at most 1, "
            f"got {_checks.short([round(s, 3) for s in found.survival])}"
        )
    if found.tokens_per_pass < 1:
        raise ValueError(f"tokens per pass must be at least 1, got {found.tokens_per_pass:g}")
    per_pass = found.drafts_per_pass
    if found.k and found.passes and found.passes >= 10 and found.tokens_per_pass >= 1.1:
        if per_pass > 1.1 * found.k:  # beyond what the rounding of the mean length explains
            raise ValueError(
                f"k must be at least {round(per_pass)} for {found.drafted:g} drafts in "
                f"{found.passes:g} passes, got {found.k} (is the line cut off?)"
            )
    if found.drafted is not None and found.accepted > found.drafted:
        raise ValueError(f"accepted must be at most drafted = {found.drafted:g}, got {found.accepted:g}")
    return found
