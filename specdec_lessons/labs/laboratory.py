"""The laboratory of lesson 6: rounds of the real loop as blocks in space, with all that can be measured on them.

``run`` gives the rounds of one state, ``reading`` what they come to, ``map_html`` and ``detail`` show them
without any 3-D; all are pure. ``scene`` makes blocks of them, ``LaboratoryLab`` binds everything to controls.
"""

import html
from collections import OrderedDict
from dataclasses import dataclass, field

import ipywidgets as widgets
import numpy as np

from specdec_lessons import decoding, evidence, figures, formulas, models
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import kit, replay, scene
from specdec_lessons.labs.kit import Quantity, Reading

LONGEST, MOST_ROUNDS = scene.MOST_COLUMNS - 1, scene.MOST_ROWS
AGREEMENT = {"aligned": 0.9, "weak": 0.4}  # acceptance rate that each kind of draft sets
PROMPT = "the old woman"
KEPT_RUNS = 32  # runs that are remembered, so that a change of the draft cost decodes nothing


# ---- the rounds -----------------------------------------------------------------------------------------

class _Enough(Exception):
    pass


@dataclass(frozen=True)
class _ForRounds:
    """The drafting policy ``k`` tokens, that ends the run after ``n`` rounds."""

    k: int
    n: int

    def draft_more(self, past, drafted, draft_rows):
        if len(past) == self.n:
            raise _Enough(past)
        return len(drafted) < self.k


def run(target, draft, prompt, k, n_rounds, seed, eos=None):
    """``n_rounds`` rounds of ``decoding.speculative_decode`` (fewer if ``eos`` comes), a ``Trace``.

    >>> model = models.story_model()
    >>> trace = run(model, models.AgreeingDraft(model, 0.8), models.encode(model, PROMPT), 4, 12, seed=0)
    >>> len(trace.rounds), {len(one.drafted) for one in trace.rounds}
    (12, {4})
    """
    try:
        return decoding.speculative_decode(target, draft, prompt, n_rounds * (k + 1), _ForRounds(k, n_rounds),
                                           rng=np.random.default_rng(seed), eos=eos)
    except _Enough as enough:
        return decoding.Trace(enough.args[0])


def states_of(one):
    """What became of each token of a ``Round``: the states of its drafts, then that of the token added.

    >>> states_of(decoding.Round((5, 6, 7), 1, (5, 8), "correction"))
    ('accepted', 'rejected', 'discarded', 'correction')
    """
    left = len(one.drafted) - one.accepted
    rejected = 1 if one.last == "correction" else 0
    added = (one.last,) if one.last in STATES else ()
    return ("accepted",) * one.accepted + ("rejected",) * rejected + ("discarded",) * (left - rejected) + added


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

    ``state``: ``rounds`` (of a trace), ``frame``, ``k``, ``c``, and ``a``, the rate that is set (None where the
    models decide it).
    """
    rounds, a, k, c = state["rounds"][:state["frame"] // 2], state["a"], state["k"], state["c"]
    if not rounds:
        return Reading(f"Nothing is verified yet: {k} {_n(k, 'draft')} a round, press play or move the slider.",
                       _quantities(*["–"] * 6))
    trace = decoding.Trace(tuple(rounds))
    tokens, passes, drafts = len(trace.tokens), trace.target_passes, trace.draft_steps
    wasted = drafts - sum(one.accepted for one in rounds)
    time = passes + c * drafts
    gain = tokens / time
    estimate = evidence.acceptance_estimate(trace) if any(one.judged for one in rounds) else None
    rate = a if a is not None else estimate.a if estimate else None
    law = "" if rate is None else f"formula {formulas.expected_tokens(rate, k):.2f}"
    speed = "" if rate is None else f"× formula {formulas.speedup(rate, k, c):.2f}×"
    quantities = _quantities(
        f"{tokens / passes:.2f}", f"{gain:.2f}", f"{tokens - passes}", f"{100 / gain:.0f}", f"{wasted}",
        f"{estimate.a:.2f}" if estimate else "–",
        (law, speed, f"of {tokens}", "% of plain", f"of {drafts}", _rate_words(estimate, a)))
    return Reading(
        f"{passes} {_n(passes, 'round')}: {tokens} {_n(tokens, 'token')} from {passes} target {_n(passes, 'pass')}, "
        f"{wasted} of {drafts} drafts wasted; at draft cost {c:.2f}, {gain:.2f} times plain speed.", quantities)


def _quantities(tokens, gain, replaced, latency, wasted, rate, units=("",) * 6):
    keys = (("tokens_per_pass", "tokens per pass"), ("net_speedup", "net speedup"),
            ("target_calls_replaced", "target calls replaced"), ("relative_latency", "relative latency"),
            ("wasted_drafts", "wasted drafts"), ("acceptance_measured", "acceptance measured / set"))
    return tuple(Quantity(key, label, text, unit) for (key, label), text, unit in
                 zip(keys, (tokens, gain, replaced, latency, wasted, rate), units))


def _rate_words(estimate, a):
    given = "set by the models" if a is None else f"/ {a:.2f}"
    return given if estimate is None else f"{given} ({estimate.low:.2f}–{estimate.high:.2f})"


def _n(count, word):
    return word if count == 1 else word + ("es" if word.endswith("s") else "s")


# ---- one block ------------------------------------------------------------------------------------------

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
        return {"verdict": f"Round {number} has no position {position} {'yet' if states[-1] == 'drafted' else ''}".strip() + "."}
    kind, words = states[position - 1], state["vocabulary"]
    if kind in scene.OWN:
        at = f"{len(one.drafted)}" if kind == "bonus" else f"{one.accepted + 1}"
        why = ("drawn by the target itself, after all drafts were accepted" if kind == "bonus" else
               f"drawn from the residual, in place of the rejected draft {at}")
        return {"token": words[one.emitted[-1]], "state": kind, "p": "–", "q": "–", "coin": "–", "verdict": why}
    found = {"token": words[one.drafted[position - 1]], "state": kind, "p": "–", "q": "–", "coin": "–"}
    if kind == "drafted":
        return found | {"verdict": "drafted, waiting for the target’s pass"}
    if kind == "discarded":
        return found | {"verdict": "never judged: a draft before it was rejected" if one.last == "correction" else
                        "never judged: the text had ended before it"}
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
        return f'<p class="sdl-block" aria-live="polite">{place} <span data-quantity="verdict">{found["verdict"]}</span></p>'
    look = STATES[found["state"]]
    numbers = " ".join(f'<span>{name} <b data-quantity="{key}">{found[key]}</b></span>'
                       for key, name in (("p", "p"), ("q", "q"), ("coin", "coin")))
    return (f'<p class="sdl-block" aria-live="polite">{place} '
            f'<span class="sdl-chip sdl-s-{found["state"]}"><i aria-hidden="true">{look.sign}</i></span> '
            f'<b data-quantity="token">“{html.escape(str(found["token"]))}”</b> {numbers} '
            f'<span data-quantity="verdict">{html.escape(found["verdict"])}</span></p>')


# ---- the map: the same rounds without 3-D ---------------------------------------------------------------

def map_html(state):
    """The rounds on show as a list, one line a round: a sign a token and what was emitted, and all of it in words."""
    rows, words = unfolded(state["rounds"], state["frame"]), state["vocabulary"]
    lines = "".join(_map_line(number, states, one, words, state["position"] if number == state["round"] else 0)
                    for number, (states, one) in enumerate(zip(rows, state["rounds"]), start=1))
    return f'<div class="sdl-map" tabindex="0" role="group" aria-label="Map of the rounds"><ol>{lines}</ol></div>'


def _map_line(number, states, one, words, chosen):
    cells = "".join(
        f'<i class="sdl-s-{state}{" sdl-own" if state in scene.OWN else ""}{" sdl-chosen" if at == chosen else ""}">'
        f"{STATES[state].sign}</i>" for at, state in enumerate(states, start=1))
    text = "" if "drafted" in states else html.escape(" ".join(str(words[token]) for token in one.emitted))
    return (f'<li><span class="sdl-n" aria-hidden="true">{number}</span><span class="sdl-cells" aria-hidden="true">{cells}</span>'
            f'<span class="sdl-sr">{words_of(number, states)}</span><span class="sdl-out" title="{text}">{text}</span></li>')


def words_of(number, states):
    """One row in words.

    >>> words_of(3, ("accepted", "accepted", "rejected", "discarded", "correction"))
    'Round 3: 2 accepted, 1 rejected, 1 discarded, then a correction.'
    """
    counts = ", ".join(f"{states.count(name)} {name}" for name in ("drafted", "accepted", "rejected", "discarded")
                       if name in states)
    last = f", then a {states[-1]}" if states[-1] in scene.OWN else ""
    return f"Round {number}: {counts}{last}."


# ---- space ----------------------------------------------------------------------------------------------

def drawn(state):
    """The state as the ``scene.Drawn`` that the 3-D view shows."""
    rows = unfolded(state["rounds"], state["frame"])
    made = scene.blocks(rows)
    present = len(rows) - 1 if state["frame"] < 2 * len(state["rounds"]) else len(rows)
    n_rows, n_columns = len(state["rounds"]), state["k"] + 1
    chosen = next((block for block in made
                   if (block.row, block.column) == (state["round"] - 1, state["position"] - 1)), None)
    return scene.Drawn(tuple(block for block in made if block.row < present),
                       tuple(block for block in made if block.row >= present),
                       n_rows, n_columns, scene.brick_width(n_rows, n_columns), chosen)


@figures.styled
def figure(state):
    """The rounds as a static matplotlib figure: one row a round, colour and sign by state."""
    rows = unfolded(state["rounds"], state["frame"])
    columns = state["k"] + 1
    fig, ax = figures.new_figure(9.4, min(0.9 + 0.3 * len(rows), 9.0))
    for y, states in enumerate(rows):
        for x, name in enumerate(states):
            look = STATES[name]
            ax.barh(y, 0.94, left=x + 0.12 * (name in scene.OWN), height=0.84, color=look.colour if look.filled else "white",
                    hatch=look.hatch, edgecolor=look.colour, linewidth=1.0)
            ax.text(x + 0.47 + 0.12 * (name in scene.OWN), y, look.sign, ha="center", va="center", color=look.ink, fontsize=9,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if look.hatch else None)
    ax.set_xlim(0, columns + 0.2)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    step = 1 if len(rows) <= 24 else 4
    ax.set_yticks(range(0, len(rows), step), [f"round {n + 1}" for n in range(0, len(rows), step)])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("   ".join(f"{look.sign} {look.label}" for name, look in STATES.items() if name != "drafted"))
    return figures.describe(fig, f"A map of {len(rows)} rounds of speculative decoding, one row a round, each token by its "
                                 f"state. {reading(state).sentence}")


# ---- the lab --------------------------------------------------------------------------------------------

@dataclass
class _Story:
    """The course's toy target with a draft that agrees at the set rate."""

    target: object = field(default_factory=models.story_model)

    def pair(self, a, kind):
        return self.target, models.AgreeingDraft(self.target, a)


class LaboratoryLab(kit.Lab):
    """Rounds of speculative decoding in 3-D: set proposal length and agreement, unfold, orbit, pick a block.

    Without models it runs the course's story model with a draft that is accepted at the rate that is set. With
    ``target``, ``draft`` and ``prompt`` (token ids) it runs these: ``draft`` is one model, or two or more by name,
    such as ``{"aligned": …, "weak": …}``, and the models decide the acceptance rate. ``k``, ``a``, ``c``, ``n_rounds``
    and ``seed`` are what the controls begin with; ``eos`` a token id that ends the text. ValueError for bad values.

    >>> lab = LaboratoryLab(n_rounds=12)
    >>> lab.reading().sentence.startswith("12 rounds: ")
    True
    >>> lab.close()
    """

    title = "the laboratory: rounds in 3-D"

    def __init__(self, target=None, draft=None, prompt=None, k=4, a=0.8, c=0.1, n_rounds=16, seed=0, eos=None):
        super().__init__()
        self._set_models(target, draft, prompt, eos)
        quick = self._drafts is None
        self.k = kit.Number("proposal length k", int(k), 1, LONGEST, 1, "Tokens drafted before each target pass.", quick, "256px")
        self.a = kit.Number("agreement a", float(a), 0.0, 1.0, 0.01, "How often the target accepts a judged draft.", width="256px")
        self.c = kit.Number("draft cost c", float(c), 0.0, 1.0, 0.01, "One draft step, in target steps.", width="256px")
        self.n_rounds = kit.Number("rounds", int(n_rounds), 1, MOST_ROUNDS, 1, "Target passes to run.", quick, "256px")
        self.seed = kit.Number("seed", int(seed), 0, 99, 1, "Another seed gives other coins.", quick, "256px")
        kinds = list(AGREEMENT) if quick else list(self._drafts)
        self.draft = kit.Choice("draft", kinds, _kind(a) if quick else kinds[0], "Aligned: accepted 9 times in 10. Weak: 4 in 10."
                                if quick else "Which draft model proposes.", buttons=True, width="210px")
        self.round = kit.Number("round", 1, 1, self.n_rounds.value, 1, "The round of the chosen block.", width="200px")
        self.position = kit.Number("position", 1, 1, self.k.value + 1, 1,
                                   "The place of the chosen block in its round; the last is the target’s own token.", width="200px")
        self.controls = {"k": self.k, "a": self.a, "c": self.c, "n_rounds": self.n_rounds, "seed": self.seed,
                         "draft": self.draft, "round": self.round, "position": self.position}
        if not quick:
            del self.controls["a"]
        self._runs = OrderedDict()
        self._make_player()
        self._make_views()
        first = [self.k, *([self.a] if quick else []), self.c, self.n_rounds, self.seed,
                 *([self.draft] if len(kinds) > 1 else [])]
        self.start([
            widgets.HTML(STYLE, layout=widgets.Layout(height="0", margin="0", overflow="hidden")),
            kit.row([control.widget for control in first], gap="2px 18px"),
            self.views["numbers"].widget,
            kit.row([self.play, *self._steps, self.frame, self.speed, *self._looks], gap="4px 10px"),
            kit.html_box(replay.legend()),
            self._stage,
            kit.row([self.round.widget, self.position.widget, self.views["block"].widget], gap="2px 18px"),
        ])
        self.widget.add_class("sdl-lab3d")

    def _set_models(self, target, draft, prompt, eos):
        given = [name for name, value in (("target", target), ("draft", draft), ("prompt", prompt)) if value is not None]
        if given and len(given) < 3:
            missing = next(name for name in ("target", "draft", "prompt") if name not in given)
            raise ValueError(f"{missing} must be given when {' and '.join(given)} {'is' if len(given) == 1 else 'are'}")
        self.eos, self._drafts = eos, None
        if not given:
            self.target = models.story_model()
            self.prompt = models.encode(self.target, PROMPT)
            return
        self.target = models.require_model("target", target, "vocabulary", "next_probs", "score")
        self._drafts = dict(draft) if isinstance(draft, dict) else {"draft": draft}
        if not self._drafts:
            raise ValueError("draft must be a model or some models by name, got none")
        for name, one in self._drafts.items():
            models.require_same_vocabulary(target, one, ("target", str(name)))
        self.prompt = models.as_tokens(target, "prompt", prompt)

    def _make_player(self):
        self.play = widgets.Play(interval=replay.SPEEDS["fast"], tooltip="Let the rounds unfold", show_repeat=False,
                                 layout=widgets.Layout(width="auto"))
        self.frame = widgets.IntSlider(readout=False, description="unfold", tooltip="How far the rounds have unfolded",
                                       style={"description_width": "initial"}, layout=widgets.Layout(width="200px"))
        self._link = widgets.jslink((self.play, "value"), (self.frame, "value"))
        self._steps = [kit.button("Back", "One step back", lambda: self.step(-1), icon="step-backward"),
                       kit.button("Step", "One step forward", lambda: self.step(1), icon="step-forward")]
        self.speed = widgets.Dropdown(options=replay.SPEEDS, value=replay.SPEEDS["fast"], description="speed",
                                      tooltip="Speed of the unfolding", style={"description_width": "initial"},
                                      layout=widgets.Layout(width="120px"))
        self.speed.observe(lambda change: setattr(self.play, "interval", change["new"]), names="value")
        self._looks = [kit.button("Reset view", "The camera where it stood at first", self.reset_view, icon="undo"),
                       kit.button("From above", "Look straight down", lambda: self.reset_view(from_above=True), icon="th")]
        self.frame.max = self.play.max = 2 * self.n_rounds.value
        self.frame.value = self.play.value = self.frame.max
        self.frame.observe(lambda _: self._quiet or self.update(), names="value")

    def _make_views(self):
        self.views["numbers"] = kit.View.words("laboratory", reading, "66px")
        self._map, self._block = kit.html_box(), kit.html_box(height="30px")
        self.views["map"] = kit.View(map_html, lambda shown: setattr(self._map, "value", shown), self._map)
        self.views["block"] = kit.View(detail_html, lambda shown: setattr(self._block, "value", shown), self._block)
        self.views["block"].widget.layout = widgets.Layout(flex="1 1 540px", width="auto", min_width="0")
        self.scene, space = None, widgets.Box(layout=widgets.Layout(width="100%", height=f"{scene.HEIGHT}px"))
        space.add_class("sdl-space")
        self.views["space"] = kit.View(drawn, self._show_space, widgets.VBox([kit.html_box(NO_WEBGL), space]))
        self._space = space
        self.views["space"].widget.layout = widgets.Layout(flex="3 1 420px", width="auto", min_width="0")
        self.views["map"].widget.layout = widgets.Layout(flex="0 0 310px", width="310px")
        self._stage = widgets.HBox([self.views["space"].widget, self.views["map"].widget],
                                   layout=widgets.Layout(flex_flow="row wrap", grid_gap="4px 16px", width="100%"))
        self._stage.add_class("sdl-stage")

    def _show_space(self, made):
        if self.scene is None:
            self.scene = scene.Scene(self.choose)
            self._space.children = [self.scene.plot]
        self.scene.show(made)

    # -- what the controls do --

    @property
    def trace(self):
        """The rounds of the present settings, run once and remembered. A ``Trace``."""
        a, kind = self.a.value, self.draft.value
        key = (self.k.value, self.n_rounds.value, self.seed.value, a if self._drafts is None else kind)
        if key not in self._runs:
            draft = models.AgreeingDraft(self.target, a) if self._drafts is None else self._drafts[kind]
            self._runs[key] = run(self.target, draft, self.prompt, *key[:3], eos=self.eos)
            if len(self._runs) > KEPT_RUNS:
                self._runs.popitem(last=False)
        return self._runs[key]

    @property
    def state(self):
        rounds = self.trace.rounds
        return {**super().state, "a": self.a.value if self._drafts is None else None, "rounds": rounds,
                "frame": min(self.frame.value, 2 * len(rounds)), "vocabulary": self.target.vocabulary}

    def react(self, names):
        if self._drafts is None:
            with self.quietly():
                if "draft" in names:
                    self.a.value = AGREEMENT[self.draft.value]
                elif "a" in names:
                    self.draft.value = _kind(self.a.value)
        self.update()

    def update(self):
        self._fit()
        super().update()

    def _fit(self):
        """Keep scrubber and chosen block inside what was run; all rounds stay on show if they were."""
        with self.quietly():
            last = 2 * len(self.trace.rounds)
            if last != self.frame.max:
                was_at_end = self.frame.value == self.frame.max
                self.frame.max = self.play.max = last
                if was_at_end:
                    self.frame.value = self.play.value = last
            for control, high in ((self.round, last // 2), (self.position, self.k.value + 1)):
                control.high = control.source.max = max(high, 1)

    def choose(self, row, column):
        """Choose the block in this row and column, counted from 0; nothing where there is none."""
        if 0 <= row < self.round.high and 0 <= column < self.position.high:
            self.set(round=row + 1, position=column + 1)

    def step(self, by):
        """Pause, and go ``by`` frames on (or back), as far as there are any."""
        self.play.playing = False
        self.frame.value = min(max(self.frame.value + by, 0), self.frame.max)

    def reset_view(self, from_above=False):
        """Put the camera back to where it stood at first, or above the middle."""
        if self.scene is not None:
            self.scene.look(from_above)

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)

    def close(self):
        if self.scene is not None:
            self.scene.close()
            self.scene = None
        super().close()


STYLE = """<style>
.sdl.sdl-lab3d dl.sdl-numbers { gap: 4px 18px; }
.sdl.sdl-lab3d dl.sdl-numbers dd small { font-size: 12px; }
.sdl .sdl-space { position: relative; border: 1px solid var(--sdl-rule); border-radius: 6px; box-sizing: border-box; overflow: hidden; }
.sdl .sdl-space .k3d-target { background: transparent !important; }
.sdl .sdl-space .k3d-target > div { color: var(--sdl-muted) !important; }
.sdl .sdl-space .k3d-target > div > div { color: inherit !important; }
.sdl p.sdl-nowebgl { position: absolute; top: 40%; left: 10%; right: 10%; margin: 0; text-align: center; color: var(--sdl-muted); }
.sdl .sdl-stage:has(canvas) p.sdl-nowebgl { display: none; }
.sdl .sdl-map { height: 400px; overflow-y: auto; box-sizing: border-box; border: 1px solid var(--sdl-rule); border-radius: 6px;
  padding: 5px 6px; }
.sdl .sdl-map ol { list-style: none; margin: 0; padding: 0; }
.sdl .sdl-map li { display: flex; align-items: center; gap: 7px; margin: 0 0 2px; position: relative; }
.sdl .sdl-map .sdl-n { flex: 0 0 17px; text-align: right; font-size: 11px; color: var(--sdl-muted); font-variant-numeric: tabular-nums; }
.sdl .sdl-map .sdl-cells { display: flex; gap: 1.5px; flex: 0 1 auto; min-width: 0; }
.sdl .sdl-map .sdl-out { flex: 1 1 0; min-width: 0; font-size: 11.5px; color: var(--sdl-muted); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.sdl .sdl-map i { font-style: normal; font-weight: 700; font-size: 11px; line-height: 16px; width: 19px; min-width: 13px; height: 18px;
  text-align: center; border-width: 1px; border-style: solid; border-radius: 3px; box-sizing: border-box; flex: 0 1 auto; }
.sdl .sdl-map i.sdl-s-discarded { border-style: dashed; }
.sdl .sdl-map i.sdl-own { margin-left: 3px; }
.sdl .sdl-map i.sdl-chosen { outline: 2px solid var(--sdl-now); outline-offset: 1px; z-index: 1; }
.sdl p.sdl-block { margin: 0; font-size: 14px; line-height: 30px; display: flex; flex-wrap: wrap; gap: 0 14px; align-items: center; }
.sdl p.sdl-block > span > b { font-variant-numeric: tabular-nums; }
.sdl p.sdl-block .sdl-chip { min-width: 26px; padding: 0 4px; }
</style>"""
NO_WEBGL = ('<p class="sdl-nowebgl">If no blocks appear here, this browser has no WebGL: the map shows the same rounds.</p>')


def _kind(a):
    return "aligned" if a >= sum(AGREEMENT.values()) / 2 else "weak"
