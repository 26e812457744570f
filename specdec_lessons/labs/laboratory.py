"""The laboratory of lesson 6: rounds of the real loop as blocks in space, and what can be measured on them.

``rounds`` holds its views, which are pure; ``scene`` the 3-D picture; here they meet their controls.
"""

from collections import OrderedDict

import ipywidgets as widgets

from specdec_lessons import drafting, models
from specdec_lessons.labs import kit, replay, rounds, scene

LONGEST, MOST_ROUNDS = scene.MOST_COLUMNS - 1, scene.MOST_ROWS
AGREEMENT = {"aligned": 0.9, "weak": 0.4}  # acceptance rate that each kind of draft sets
PROMPT = "the old woman"
SPEEDS = {"slow": 550, "normal": 220, "fast": 110}  # milliseconds a frame, of which a round has two
KEPT_RUNS = 32  # runs that are remembered, so that a change of the draft cost decodes nothing
STYLE = """<style>
.sdl.sdl-lab3d dl.sdl-numbers { gap: 4px 18px; }
.sdl.sdl-lab3d dl.sdl-numbers dd small { font-size: 12px; }
.sdl .sdl-space { position: relative; border: 1px solid var(--sdl-rule); border-radius: 6px;
  box-sizing: border-box; overflow: hidden; }
.sdl .sdl-space .k3d-target { background: transparent !important; }
.sdl .sdl-space .k3d-target > div { color: var(--sdl-muted) !important; }
.sdl .sdl-space .k3d-target > div > div { color: inherit !important; }
.sdl .sdl-frame3d { position: relative; }
.sdl p.sdl-nowebgl { position: absolute; top: 180px; left: 10%; right: 10%; margin: 0; text-align: center;
  color: var(--sdl-muted); }
.sdl .sdl-frame3d:has(canvas) p.sdl-nowebgl { display: none; }
.sdl .sdl-map { height: 400px; overflow-y: auto; box-sizing: border-box; border: 1px solid var(--sdl-rule);
  border-radius: 6px; padding: 5px 6px; }
.sdl .sdl-map ol { list-style: none; margin: 0; padding: 0; }
.sdl .sdl-map li { display: flex; align-items: center; gap: 7px; margin: 0 0 2px; position: relative; }
.sdl .sdl-map .sdl-n { flex: 0 0 17px; text-align: right; font-size: 11px; color: var(--sdl-muted);
  font-variant-numeric: tabular-nums; }
.sdl .sdl-map .sdl-cells { display: flex; gap: 1.5px; flex: 0 1 auto; min-width: 0; }
.sdl .sdl-map .sdl-out { flex: 1 1 0; min-width: 0; font-size: 11.5px; color: var(--sdl-muted);
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.sdl .sdl-map i { font-style: normal; font-weight: 700; font-size: 11px; line-height: 16px; width: 19px;
  min-width: 13px; height: 18px; text-align: center; border-width: 1px; border-style: solid;
  border-radius: 3px; box-sizing: border-box; flex: 0 1 auto; }
.sdl .sdl-map i.sdl-s-discarded { border-style: dashed; }
.sdl .sdl-map i.sdl-own { margin-left: 3px; }
.sdl .sdl-map i.sdl-chosen { outline: 2px solid var(--sdl-now); outline-offset: 1px; z-index: 1; }
.sdl .sdl-wholerun { height: 538px; display: flex; flex-direction: column; }
.sdl .sdl-wholerun .sdl-map { flex: 1 1 0; min-height: 0; margin-top: 4px; }
.sdl p.sdl-block { margin: 0; font-size: 14px; line-height: 30px; display: flex; flex-wrap: wrap; gap: 0 14px;
  align-items: center; }
.sdl p.sdl-block > span > b { font-variant-numeric: tabular-nums; }
.sdl p.sdl-block .sdl-chip { min-width: 26px; padding: 0 4px; }
</style>"""
NO_WEBGL = ('<p class="sdl-nowebgl">If no blocks appear here, this browser has no WebGL: '
            "the map shows the same rounds.</p>")


class LaboratoryLab(kit.Lab):
    """Rounds of speculative decoding in 3-D: set proposal length and agreement, unfold, orbit, pick a block.

    Without models it runs the course's story model with a draft that is accepted at the rate that is set.
    With ``target``, ``draft`` and ``prompt`` (token ids) it runs these: ``draft`` is one model, or several by
    name, such as ``{"aligned": …, "weak": …}``, and the models decide the acceptance rate. ``k``, ``a``,
    ``c``, ``n_rounds`` and ``seed`` are what the controls begin with; ``eos`` is a token id that ends the
    text. Drafting is a fixed k, or adaptive: from k on, two drafts more after a round without a miss and one
    fewer after a miss (``drafting.AdditiveSchedule``). A new k, draft or drafting lets the rounds unfold
    anew; nothing else does. ValueError for bad values.

    >>> lab = LaboratoryLab(n_rounds=12)
    >>> lab.reading().sentence.startswith("12 rounds: ")
    True
    >>> lab.close()
    """

    title = "the laboratory: rounds in 3-D"

    def __init__(self, target=None, draft=None, prompt=None, k=4, a=0.8, c=0.1, n_rounds=16, seed=0,
                 eos=None):
        super().__init__()
        self._set_models(target, draft, prompt, eos)
        for name, value, low, high in (("k", k, 1, LONGEST), ("a", a, 0, 1), ("c", c, 0, 1),
                                       ("n_rounds", n_rounds, 1, MOST_ROUNDS), ("seed", seed, 0, 99)):
            if not low <= value <= high:
                raise ValueError(f"{name} must lie in [{low}, {high}], got {value!r}")
        self._runs = OrderedDict()
        self._make_controls(k, a, c, n_rounds, seed)
        self._make_player()
        self._make_views()
        settings = [self.controls[name].widget for name in ("k", "a", "c", "n_rounds", "seed", "draft",
                                                                  "drafting") if name in self.controls]
        self.moving = widgets.VBox([
            self.views["numbers"].widget,
            kit.row([self.play, self.toggle, self.show_space, *self._steps, self.frame, self.speed,
                     *self._looks], gap="4px 10px"),
            kit.html_box(replay.legend()),
            widgets.HBox([self.views["space"].widget, self.views["map"].widget],
                         layout=widgets.Layout(flex_flow="row wrap", grid_gap="4px 16px", width="100%")),
            widgets.HBox([self.round.widget, self.position.widget, self.views["block"].widget],
                         layout=widgets.Layout(flex_flow="row wrap", grid_gap="2px 18px",
                                               align_items="flex-start")),
            self.views["still"].widget,
        ], layout=widgets.Layout(width="100%", grid_gap="4px"))
        self.start([
            widgets.HTML(STYLE, layout=widgets.Layout(height="0", margin="0", overflow="hidden")),
            kit.row(settings, gap="2px 18px"),
            self.moving,
        ])
        self.widget.add_class("sdl-lab3d")

    def _set_models(self, target, draft, prompt, eos):
        pair = {"target": target, "draft": draft, "prompt": prompt}
        missing = [name for name, value in pair.items() if value is None]
        if 0 < len(missing) < 3:
            given = " and ".join(name for name in pair if name not in missing)
            raise ValueError(f"{missing[0]} must be given together with {given}, got None")
        self.eos, self.drafts = eos, None
        if missing:
            self.target = models.story_model()
            self.prompt = models.encode(self.target, PROMPT)
            return
        self.target = models.require_model("target", target, "vocabulary", "next_probs", "score")
        self.drafts = dict(draft) if isinstance(draft, dict) else {"draft": draft}
        if not self.drafts:
            raise ValueError("draft must be a model or some models by name, got none")
        for name, one in self.drafts.items():
            models.require_same_vocabulary(target, one, ("target", str(name)))
        self.prompt = models.as_tokens(target, "prompt", prompt)

    def _make_controls(self, k, a, c, n_rounds, seed):
        toy = self.drafts is None  # quick enough to follow each step of a slider

        def number(label, value, low, high, step, hint, follow=True, width="256px"):
            return kit.Number(label, value, low, high, step, hint, follow, width)

        self.k = number("proposal length k", int(k), 1, LONGEST, 1,
                        "Tokens drafted before each target pass.", toy)
        self.a = number("agreement a", float(a), 0.0, 1.0, 0.01,
                        "How often the target accepts a judged draft.")
        self.c = number("draft cost c", float(c), 0.0, 1.0, 0.01, "One draft step, in target steps.")
        self.n_rounds = number("rounds", int(n_rounds), 1, MOST_ROUNDS, 1, "Target passes to run.", toy)
        self.seed = number("seed", int(seed), 0, 99, 1, "Another seed gives other coins.", toy)
        kinds = list(AGREEMENT if toy else self.drafts)
        self.draft = kit.Choice(
            "draft", kinds, _kind(a) if toy else kinds[0], "Aligned: accepted 9 times in 10. Weak: 4 in 10."
            if toy else "Which draft model proposes.", buttons=True, width="210px")
        self.drafting = kit.Choice(
            "drafting", [rounds.FIXED, rounds.ADAPTIVE], rounds.FIXED, "Fixed: k drafts in every round. "
            "Adaptive: from k on, two more after a round without a miss, one fewer after a miss.",
            buttons=True, width="230px")
        self.round = number("round", 1, 1, int(n_rounds), 1, "The round of the chosen block.", width="200px")
        self.position = number("position", 1, 1, int(k) + 1, 1, "The place of the chosen block in its round; "
                               "the last is the target’s own token.", width="200px")
        self.controls = {"k": self.k, "c": self.c, "n_rounds": self.n_rounds, "seed": self.seed,
                         "drafting": self.drafting, "round": self.round, "position": self.position}
        if toy:
            self.controls["a"] = self.a
        if len(kinds) > 1:
            self.controls["draft"] = self.draft

    def _make_player(self):
        """Play, step, scrub, speed; with less motion nothing is seen to play, and all rounds show at once."""
        self.play = widgets.Play(interval=SPEEDS["normal"], show_repeat=False)
        self.toggle, pressed = kit.play_button(self.play, "Let the rounds unfold, or pause")
        self.frame = widgets.IntSlider(
            readout=False, description="unfold", tooltip="How far the rounds have unfolded",
            style={"description_width": "initial"}, layout=widgets.Layout(width="200px"))
        self.links = [widgets.jslink((self.play, "value"), (self.frame, "value")), pressed]
        self._steps = [kit.button("Back", "One step back", lambda: self.step(-1), icon="step-backward"),
                       kit.button("Step", "One step forward", lambda: self.step(1), icon="step-forward")]
        self.show_space = kit.button(
            "Show in 3-D", "All rounds as blocks; from now on nothing plays by itself", self.calm_down)
        self.speed = widgets.Dropdown(
            options=SPEEDS, value=SPEEDS["normal"], description="speed",
            tooltip="Speed of the unfolding", style={"description_width": "initial"},
            layout=widgets.Layout(width="120px"))
        self.speed.observe(lambda change: setattr(self.play, "interval", change["new"]), names="value")
        self._looks = [
            kit.button("Reset view", "The camera where it stood at first", self.reset_view, icon="undo"),
            kit.button("From above", "Look straight down", lambda: self.reset_view(True), icon="th")]
        self.restarts, self.calm, self.by_itself = 0, False, False
        self.frame.max = self.play.max = 2 * self.n_rounds.value
        self.frame.value = self.play.value = self.frame.max
        self.frame.observe(self._moved, names="value")

    def _make_views(self):
        def html_view(compute, height=None):
            box = kit.html_box(height=height)
            return kit.View(compute, lambda shown: setattr(box, "value", shown), box)

        self.views["numbers"] = kit.View.words("laboratory", rounds.reading, "66px")
        self.views["map"] = html_view(rounds.map_html)
        self.views["block"] = html_view(rounds.detail_html, "30px")
        self.views["still"] = html_view(lambda state: rounds.whole_html(state) if self.by_itself else "")
        self.scene = None
        self._space = widgets.Box(layout=widgets.Layout(width="100%", height=f"{scene.HEIGHT}px"))
        self._space.add_class("sdl-space")
        framed = widgets.VBox([kit.html_box(NO_WEBGL, "0"), self._space], layout=widgets.Layout(width="100%"))
        framed.add_class("sdl-frame3d")
        self.views["space"] = kit.View(rounds.drawn, self._show_space, framed)
        for name, flex in (("space", "3 1 420px"), ("map", "0 0 310px"), ("block", "1 1 540px")):
            layout = self.views[name].widget.layout
            layout.flex, layout.width, layout.min_width = flex, "auto", "0"
        byhand = [self.views[name].widget for name in ("numbers", "space", "map", "block")]
        byhand += [*self._steps, self.frame, *self._looks, self.round.widget, self.position.widget]
        for name, parts in (("sdl-motion", [self.toggle, self.speed]), ("sdl-byhand", byhand),
                            ("sdl-less", [self.show_space, self.views["still"].widget])):
            for part in parts:
                part.add_class(name)  # the style sheet says which of them to hide where less motion is wanted

    def _show_space(self, drawn):
        if self.scene is None:
            self.scene = scene.Scene(self.choose)
            self._space.children = [self.scene.plot]
        self.scene.show(drawn)

    # ---- what the controls do ---------------------------------------------------------------------------

    @property
    def trace(self):
        """The rounds of the present settings, run once and remembered. A ``Trace``."""
        a, kind = self.a.value, self.draft.value
        policy = (drafting.Fixed if self.drafting.value == rounds.FIXED else drafting.AdditiveSchedule)(
            self.k.value)
        key = (policy, self.n_rounds.value, self.seed.value, a if self.drafts is None else kind)
        if key not in self._runs:
            draft = models.AgreeingDraft(self.target, a) if self.drafts is None else self.drafts[kind]
            self._runs[key] = rounds.run(self.target, draft, self.prompt, *key[:3], eos=self.eos)
            if len(self._runs) > KEPT_RUNS:
                self._runs.popitem(last=False)
        return self._runs[key]

    @property
    def state(self):
        run = self.trace.rounds
        return {**super().state, "a": self.a.value if self.drafts is None else None, "rounds": run,
                "frame": min(self.frame.value, 2 * len(run)), "vocabulary": self.target.vocabulary}

    def react(self, names):
        if self.drafts is None:
            with self.quietly():
                if "draft" in names:
                    self.a.value = AGREEMENT[self.draft.value]
                elif "a" in names:
                    self.draft.value = _kind(self.a.value)
        if {"k", "draft", "drafting"} & set(names) and not self.calm:
            self.restart()
        else:
            self.update()

    def restart(self):
        """Let the rounds unfold from the first, playing by themselves."""
        with self.quietly():
            self.frame.value = self.play.value = 0
        self.restarts += 1
        self._set_by_itself(True)
        self.update()
        self.play.playing = True

    def calm_down(self):
        """Show all rounds as they are; from now on nothing plays by itself."""
        self.calm, self.play.playing = True, False
        with self.quietly():
            self.frame.value = self.play.value = self.frame.max
        self._set_by_itself(False)
        self.update()

    def _moved(self, _):
        if self._quiet:
            return
        if not self.play.playing and self.frame.value < self.frame.max:
            self._set_by_itself(False)
        self.update()

    def _set_by_itself(self, whether):
        """Whether the frames on show came by themselves: where less motion is wanted, they are not shown."""
        self.by_itself = whether
        (self.moving.add_class if whether else self.moving.remove_class)("sdl-auto")

    def update(self):
        self._fit()
        super().update()

    def _fit(self):
        """Keep scrubber and chosen block inside what was run; all rounds stay on show if they were."""
        last, longest = 2 * len(self.trace.rounds), rounds.columns(self.state)
        with self.quietly():
            if last != self.frame.max:
                whole = self.frame.value == self.frame.max
                self.frame.max = self.play.max = last
                if whole:
                    self.frame.value = self.play.value = last
            for control, high in ((self.round, last // 2), (self.position, longest)):
                control.high = control.source.max = max(high, 1)

    def choose(self, row, column):
        """Choose the block in this row and column, counted from 0; nothing happens where there is none."""
        if 0 <= row < self.round.high and 0 <= column < self.position.high:
            self.set(round=row + 1, position=column + 1)

    def step(self, by):
        """Pause, and go ``by`` frames on (or back), as far as there are any."""
        self.play.playing = False
        self._set_by_itself(False)
        self.frame.value = min(max(self.frame.value + by, 0), self.frame.max)

    def reset_view(self, from_above=False):
        """Put the camera back to where it stood at first, or above the middle."""
        if self.scene is not None:
            self.scene.look(from_above)

    def reading(self):
        return rounds.reading(self._kept_state)

    def figure(self):
        return rounds.figure(self._kept_state)

    @property
    def _kept_state(self):
        """The state that a reader without a kernel sees: all rounds, if these are just unfolding."""
        return rounds.whole(self.state) if self.by_itself else self.state

    def close(self):
        if self.scene is not None:
            self._space.children = ()
            self.scene.close()
            self.scene = None
        super().close()


def _kind(a):
    return "aligned" if a >= sum(AGREEMENT.values()) / 2 else "weak"
