"""The rounds of the laboratory: run them, read them, show them as a map or as blocks.

``run`` gives the rounds of one setting, ``reading`` what they come to, ``map_html`` and ``detail`` show them
without any 3-D, ``drawn`` says what the 3-D view shows. All are pure.
"""

import html
from dataclasses import dataclass

import numpy as np

from specdec_lessons import decoding, drafting, evidence, figures, formulas
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import scene
from specdec_lessons.labs.kit import Quantity, Reading, reading_html


FIXED, ADAPTIVE = "fixed k", "adaptive"  # how many tokens a round drafts


class _Enough(Exception):
    pass


@dataclass(frozen=True)
class _ForRounds:
    """A drafting policy that ends the run after ``n`` rounds."""

    policy: drafting.Policy
    n: int

    def draft_more(self, past, drafted, draft_rows):
        if len(past) == self.n:
            raise _Enough(tuple(past))
        return self.policy.draft_more(past, drafted, draft_rows)


def run(target, draft, prompt, k, n_rounds, seed, eos=None):
    """``n_rounds`` rounds of ``decoding.speculative_decode`` (fewer if ``eos`` comes), a ``Trace``.

    ``k`` drafts a round, or as many as a drafting policy says.

    >>> from specdec_lessons import models
    >>> model = models.story_model()
    >>> draft = models.AgreeingDraft(model, 0.8)
    >>> trace = run(model, draft, models.encode(model, "the old woman"), 4, 12, seed=0)
    >>> len(trace.rounds), {len(one.drafted) for one in trace.rounds}
    (12, {4})
    """
    policy = drafting.as_policy(k)
    most = getattr(policy, "k", drafting.LONGEST) + 1  # tokens that a round can give
    try:
        trace = decoding.speculative_decode(
            target, draft, prompt, n_rounds * most, _ForRounds(policy, n_rounds),
            rng=np.random.default_rng(seed), eos=eos)
    except _Enough as enough:
        return decoding.Trace(enough.args[0])
    return decoding.Trace(trace.rounds[:n_rounds])  # one round more where one last token was wanted


def states_of(one):
    """What became of each token of a ``Round``: the states of its drafts, then that of the token added.

    >>> states_of(decoding.Round((5, 6, 7), 1, (5, 8), "correction"))
    ('accepted', 'rejected', 'discarded', 'correction')
    """
    left = len(one.drafted) - one.accepted
    rejected = 1 if one.last == "correction" else 0
    added = (one.last,) if one.last in STATES else ()
    thrown_away = ("rejected",) * rejected + ("discarded",) * (left - rejected)
    return ("accepted",) * one.accepted + thrown_away + added


def unfolded(rounds, frame):
    """The rows on show in one frame: frame 2 n holds n finished rounds, 2 n + 1 also the drafts of the next.

    >>> one = decoding.Round((5, 6), 0, (8,), "correction")
    >>> unfolded((one, one), 1), len(unfolded((one, one), 4))
    ((('drafted', 'drafted'),), 2)
    """
    done, drafting = divmod(frame, 2)
    rows = tuple(states_of(one) for one in rounds[:done])
    return rows + ((("drafted",) * len(rounds[done].drafted),) if drafting else ())


# ---- what they come to ----------------------------------------------------------------------------------

def reading(state):
    """Numbers and status line of the finished rounds on show.

    ``state``: ``rounds`` (of a trace), ``frame``, ``k``, ``c``, ``drafting`` (only a fixed k has a formula) and
    ``a``, the rate that is set (None where the models decide it).
    """
    rounds = state["rounds"][:state["frame"] // 2]
    a, k, c = state["a"], state["k"], state["c"]
    if not rounds:
        first = f"{k} {_n(k, 'draft')} {'a round' if is_fixed(state) else 'in the first round'}"
        return Reading(f"Nothing is verified yet: {first}. Play, or move the slider.",
                       _quantities(*["–"] * 6))
    trace = decoding.Trace(tuple(rounds))
    tokens, passes, drafts = len(trace.tokens), trace.target_passes, trace.draft_steps
    wasted = drafts - sum(one.accepted for one in rounds)
    time = passes + c * drafts
    gain = tokens / time
    estimate = evidence.acceptance_estimate(trace) if any(one.judged for one in rounds) else None
    rate = a if a is not None else estimate.a if estimate else None
    rate = rate if is_fixed(state) else None
    law = "" if is_fixed(state) else f"with {drafts / passes:.1f} drafts"
    law = law if rate is None else f"formula {formulas.expected_tokens(rate, k):.2f}"
    speed = "×" if rate is None else f"× formula {formulas.speedup(rate, k, c):.2f}×"
    quantities = _quantities(
        f"{tokens / passes:.2f}", f"{gain:.2f}", f"{tokens - passes}", f"{100 / gain:.0f}", f"{wasted}",
        f"{estimate.a:.2f}" if estimate else "–",
        (law, speed, f"of {tokens}", "% of plain", f"of {drafts}", _rate_words(estimate, a)))
    return Reading(
        f"{passes} {_n(passes, 'round')}: {tokens} {_n(tokens, 'token')} from {passes} target "
        f"{_n(passes, 'pass')}, {wasted} of {drafts} drafts wasted; at draft cost {c:.2f}, "
        f"{gain:.2f} times plain speed.", quantities)


def is_fixed(state):
    """Whether every round drafts k tokens."""
    return state.get("drafting", FIXED) == FIXED


def columns(state):
    """How many blocks the longest row can have.

    >>> one = decoding.Round((5, 6), 0, (8,), "correction")
    >>> columns({"k": 4, "rounds": (one,)}), columns({"k": 4, "rounds": (one,), "drafting": "adaptive"})
    (5, 3)
    """
    drafts = (len(one.drafted) for one in state["rounds"])
    return 1 + (state["k"] if is_fixed(state) else max(drafts, default=state["k"]))


def _quantities(tokens, gain, replaced, latency, wasted, rate, units=("",) * 6):
    keys = (("tokens_per_pass", "tokens per pass"), ("net_speedup", "net speedup"),
            ("target_calls_replaced", "target calls replaced"), ("relative_latency", "relative latency"),
            ("wasted_drafts", "wasted drafts"), ("acceptance_measured", "acceptance measured / set"))
    return tuple(Quantity(key, label, text, unit) for (key, label), text, unit in
                 zip(keys, (tokens, gain, replaced, latency, wasted, rate), units))


def _rate_words(estimate, a):
    given = "not set: the models decide it" if a is None else f"/ {a:.2f}"
    return given if estimate is None else f"{given} ({estimate.low:.2f}–{estimate.high:.2f})"


def _n(count, word):
    return word if count == 1 else word + ("es" if word.endswith("s") else "s")


# ---- one block ------------------------------------------------------------------------------------------

NOT_JUDGED = {"p": "–", "q": "–", "coin": "–"}


def detail(state):
    """What is known of the chosen block: a dict of words for token, p, q, coin and verdict.

    ``state``: ``rounds``, ``frame``, ``round`` and ``position`` (both from 1), ``vocabulary``.
    """
    rows = unfolded(state["rounds"], state["frame"])
    number, position = state["round"], state["position"]
    if number > len(rows):
        return {"verdict": f"Round {number} has not begun."}
    states, one = rows[number - 1], state["rounds"][number - 1]
    if position > len(states):
        yet = " yet" if "drafted" in states else ""
        return {"verdict": f"Round {number} has no position {position}{yet}."}
    kind, words = states[position - 1], state["vocabulary"]
    if kind in scene.OWN:
        at = f"{len(one.drafted)}" if kind == "bonus" else f"{one.accepted + 1}"
        why = ("drawn by the target itself, after all drafts were accepted" if kind == "bonus" else
               f"drawn from the residual, in place of the rejected draft {at}")
        return {"token": words[one.emitted[-1]], "state": kind, **NOT_JUDGED, "verdict": why}
    found = {"token": words[one.drafted[position - 1]], "state": kind, **NOT_JUDGED}
    if kind == "drafted":
        return found | {"verdict": "drafted, waiting for the target’s pass"}
    if kind == "discarded":
        why = "a draft before it was rejected" if one.last == "correction" else "the text had ended before it"
        return found | {"verdict": f"never judged: {why}"}
    judged = one.judged[position - 1]
    ratio = min(1.0, judged.p / judged.q)
    sign = "<" if judged.accepted else "≥"
    return found | {"p": f"{judged.p:.3f}", "q": f"{judged.q:.3f}", "coin": f"{judged.coin:.3f}",
                    "verdict": f"{kind}: coin {sign} min(1, p/q) = {ratio:.3f}"}


def detail_html(state):
    """The chosen block in one line of HTML."""
    found = detail(state)
    place = f'<span class="sdl-sr">Round {state["round"]}, position {state["position"]}:</span>'
    if "token" not in found:
        return _block_line(f'{place} <span data-quantity="verdict">{found["verdict"]}</span>')
    look = STATES[found["state"]]
    numbers = " ".join(f'<span>{name} <b data-quantity="{key}">{found[key]}</b></span>'
                       for key, name in (("p", "p"), ("q", "q"), ("coin", "coin")))
    return _block_line(
        f'{place} <span class="sdl-chip sdl-s-{found["state"]}"><i aria-hidden="true">{look.sign}</i></span> '
        f'<b data-quantity="token">“{html.escape(str(found["token"]))}”</b> {numbers} '
        f'<span data-quantity="verdict">{html.escape(found["verdict"])}</span>')


def _block_line(content):
    return f'<p class="sdl-block" aria-live="polite">{content}</p>'


# ---- the map: the same rounds without 3-D ---------------------------------------------------------------

def map_html(state):
    """The rounds as a list, one line a round: a sign a token, what was emitted, the same in words."""
    rows, words = unfolded(state["rounds"], state["frame"]), state["vocabulary"]
    lines = "".join(
        _map_line(number, states, one, words, state["position"] if number == state["round"] else 0)
        for number, (states, one) in enumerate(zip(rows, state["rounds"]), start=1))
    return ('<div class="sdl-map" tabindex="0" role="group" aria-label="map of the rounds">'
            f"<ol>{lines}</ol></div>")


def _map_line(number, states, one, words, chosen):
    cells = "".join(
        f'<i class="sdl-s-{state}{" sdl-own" * (state in scene.OWN)}{" sdl-chosen" * (at == chosen)}">'
        f"{STATES[state].sign}</i>" for at, state in enumerate(states, start=1))
    text = "" if "drafted" in states else html.escape(" ".join(str(words[token]) for token in one.emitted))
    return (f'<li><span class="sdl-n" aria-hidden="true">{number}</span>'
            f'<span class="sdl-cells" aria-hidden="true">{cells}</span>'
            f'<span class="sdl-sr">{words_of(number, states)}</span>'
            f'<span class="sdl-out" title="{text}">{text}</span></li>')


def whole(state):
    """The state with all its rounds unfolded.

    >>> whole({"rounds": ("first", "second"), "frame": 1})["frame"]
    4
    """
    return {**state, "frame": 2 * len(state["rounds"])}


def whole_html(state):
    """Numbers, sentence and map of all rounds at once: for those who asked for less motion."""
    state = {**whole(state), "round": 0}  # there is no chosen block to be told of
    page = map_html(state).replace('class="sdl-map"', 'class="sdl-map sdl-still"')
    return f'<div class="sdl-wholerun">{reading_html(reading(state))}{page}</div>'


def words_of(number, states):
    """One row in words.

    >>> words_of(3, ("accepted", "accepted", "rejected", "discarded", "correction"))
    'Round 3: 2 accepted, 1 rejected, 1 discarded, then a correction.'
    """
    drafts = [name for name in STATES if name in states and name not in scene.OWN]
    counts = ", ".join(f"{states.count(name)} {name}" for name in drafts)
    last = f", then a {states[-1]}" if states[-1] in scene.OWN else ""
    return f"Round {number}: {counts}{last}."


# ---- space ----------------------------------------------------------------------------------------------

def drawn(state):
    """The state as the ``scene.Drawn`` that the 3-D view shows."""
    rows = unfolded(state["rounds"], state["frame"])
    made = scene.blocks(rows)
    present = len(rows) - 1 if state["frame"] < 2 * len(state["rounds"]) else len(rows)
    n_rows, n_columns = len(state["rounds"]), columns(state)
    chosen = next((block for block in made
                   if (block.row, block.column) == (state["round"] - 1, state["position"] - 1)), None)
    return scene.Drawn(tuple(block for block in made if block.row < present),
                       tuple(block for block in made if block.row >= present),
                       n_rows, n_columns, scene.brick_width(n_rows, n_columns), chosen)


@figures.styled
def figure(state):
    """The rounds as a static matplotlib figure: one row a round, colour and sign by state."""
    rows = unfolded(state["rounds"], state["frame"])
    across = columns(state)
    fig, ax = figures.new_figure(9.4, min(0.9 + 0.3 * len(rows), 9.0))
    for y, states in enumerate(rows):
        for x, name in enumerate(states):
            look = STATES[name]
            start = x + 0.12 * (name in scene.OWN)
            ax.barh(y, 0.94, left=start, height=0.84, color=look.colour if look.filled else "white",
                    hatch=look.hatch, edgecolor=look.colour, linewidth=1.0)
            ax.text(start + 0.47, y, look.sign, ha="center", va="center", color=look.ink, fontsize=9,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if look.hatch else None)
    ax.set_xlim(0, across + 0.2)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    step = 1 if len(rows) <= 24 else 4
    ax.set_yticks(range(0, len(rows), step), [f"round {n + 1}" for n in range(0, len(rows), step)])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("   ".join(f"{look.sign} {look.label}" for look in list(STATES.values())[1:]))
    return figures.describe(fig, f"A map of {len(rows)} rounds of speculative decoding, one row a round, "
                                 f"each token by its state. {reading(state).sentence}")
