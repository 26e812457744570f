"""The labs without a browser: their views are pure, their handlers are few, their errors are one line."""

import base64
import gc
import html
import io
import re

import ipywidgets
import numpy as np
import pytest
from PIL import Image

from specdec_lessons import decoding, models
from specdec_lessons.decoding import Judged, Round, Trace
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import (
    BarsLab,
    CounterReaderLab,
    LoadLab,
    PolicyRaceLab,
    ReplayLab,
    RooflineLab,
    SpeedupLab,
    bars,
    counter_reader,
    kit,
    load,
    replay,
    roofline,
    speedup,
)

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WORDS = ("the", "cat", "dog", "sat", "ran")


def rejected_round():
    """Drafts the, cat, dog, sat; the first is accepted, the second rejected for 'ran', two are discarded."""
    judged = (Judged(0, 0.5, 0.4, 0.3, True), Judged(1, 0.1, 0.8, 0.9, False))
    return Round((0, 1, 2, 3), 1, (0, 4), "correction", judged)


def accepted_round():
    """Two drafts, both accepted, and a bonus token."""
    return Round((0, 1), 2, (0, 1, 3), "bonus")


MAKERS = {
    "speedup": SpeedupLab,
    "speedup without replay": lambda: SpeedupLab(show="speedup", with_replay=False),
    "roofline": RooflineLab,
    "bars": BarsLab,
    "load": LoadLab,
    "counter reader": CounterReaderLab,
    "policy race": PolicyRaceLab,
    "replay": lambda: ReplayLab(Trace((rejected_round(), accepted_round())), WORDS),
}


@pytest.fixture(params=MAKERS)
def lab(request):
    made = MAKERS[request.param]()
    yield made
    made.close()


@pytest.fixture
def speed():
    made = SpeedupLab()
    yield made
    made.close()


def numbers(reading):
    return {quantity.key: quantity.text for quantity in reading.quantities}


def shown(lab):
    """The HTML of the numbers that the page shows now."""
    return lab.views["numbers"].widget.children[0].children[1].value


# ---- views ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, k, tokens, gain",
    [(0.8, 4, "3.36", "2.40"), (0.9, 4, "4.10", "2.93"), (0.5, 4, "1.94", "1.38"), (0.8, 2, "2.44", "2.03")],
)
def test_the_table_of_lesson_3(a, k, tokens, gain):
    found = speedup.reading({"a": a, "k": k, "c": 0.1})
    assert numbers(found)["expected_tokens"] == tokens
    assert numbers(found)["speedup"] == gain
    assert found.sentence == (
        f"With a = {a:.2f} and k = {k}, one pass yields {tokens} tokens on average; net speedup {gain}×."
    )


@pytest.mark.parametrize(
    "a, c, best, gain", [(0.8, 0.1, "6", "2.47"), (0.5, 0.5, "0", "1.00"), (0.7, 0.5, "1", "1.13")]
)
def test_best_draft_length(a, c, best, gain):
    found = numbers(speedup.reading({"a": a, "k": 4, "c": c}))
    assert (found["best_draft_length"], found["best_speedup"]) == (best, gain)


def test_wasted_drafts():
    assert numbers(speedup.reading({"a": 0.8, "k": 4, "c": 0.1}))["wasted_drafts"] == "1.64"


def test_a_pass_that_is_not_free():
    assert numbers(speedup.reading({"a": 0.8, "k": 5, "c": 0.05, "v": 2.0}))["speedup"] == "1.64"
    measured = np.array([1.0, 3.0, 3.0, 3.0, 3.0, 3.0])
    assert numbers(speedup.reading({"a": 0.8, "k": 0, "c": 0.05, "v": measured}))["speedup"] == "1.00"


def test_a_slowdown_is_called_one():
    assert speedup.reading({"a": 0.2, "k": 8, "c": 0.5}).sentence.endswith("×, slower than plain decoding.")


@pytest.mark.parametrize("a", [0.0, 1.0])
@pytest.mark.parametrize("k", [0, 16])
@pytest.mark.parametrize("c", [0.0, 1.0])
@pytest.mark.parametrize("name", speedup.VIEWS)
def test_every_corner_has_finite_curves(name, a, k, c):
    curves = speedup.VIEWS[name]({"a": a, "k": k, "c": c})
    assert all(np.all(np.isfinite(xy)) for pair in curves.xy.values() for xy in pair)
    assert np.max(curves.xy["now"][1]) <= curves.top


def test_the_point_lies_on_its_curve():
    for name, view in speedup.VIEWS.items():
        curves = view({"a": 0.8, "k": 4, "c": 0.1})
        x, y = curves.xy["now"]
        assert np.interp(x, *curves.xy["curve"]) == pytest.approx(y), name


def test_bars_of_the_first_example():
    state = {"p": (0.6, 0.4), "weights": (80.0, 20.0), "temperature": 1.0, "words": ("cat", "dog")}
    assert numbers(bars.reading(state))["acceptance_probability"] == "0.800"
    assert numbers(bars.reading(state))["total_variation"] == "0.200"
    table = bars.table_html(state)
    for key, text in (
        ("accept_ratio_0", "0.750"),
        ("accept_ratio_1", "1.000"),
        ("residual_0", "0.000"),
        ("residual_1", "1.000"),
    ):
        assert f'data-quantity="{key}">{text}<' in table


def test_bars_split_p_and_q_without_remainder():
    here = bars.position(
        {"p": (0.25, 0.25, 0.5), "weights": (75, 12.5, 12.5), "temperature": 1.0, "words": "abc"}
    )
    assert here["agreed"] + here["deficit"] == pytest.approx(here["p"])
    assert here["agreed"] + here["surplus"] == pytest.approx(here["q"])
    assert here["residual"] == pytest.approx([0, 0.25, 0.75])


def test_a_cold_draft_is_one_hot():
    q = bars.draft_law({"weights": (3.0, 5.0, 1.0), "temperature": 0.0})
    assert q.tolist() == [0, 1, 0]


def test_roofline_of_the_opening_example():
    state = {"hardware": "A100 80GB SXM", "model": "7B", "batch": 1, "context": 0, "positions": 1}
    found = numbers(roofline.reading(state))
    assert found["milliseconds_per_pass"] == f"{14e9 / 2.039e12 * 1e3:.2f}"
    assert (found["bound"], found["verify_cost"]) == ("memory", "1.00")
    assert numbers(roofline.reading({**state, "positions": 512}))["bound"] == "compute"


def test_roofline_says_when_a_model_does_not_fit():
    state = {"hardware": "L4", "model": "Llama-3.1-70B", "batch": 1, "context": 0, "positions": 5}
    assert "do not fit into its 24 GB" in roofline.reading(state).sentence


# ---- the replay -----------------------------------------------------------------------------------------


def test_frames_follow_the_round():
    made = replay.frames(Trace((rejected_round(), accepted_round())), WORDS)
    first = [frame for frame in made if frame.round == 1]
    assert [len(frame.chips) for frame in first[:4]] == [1, 2, 3, 4]
    assert first[4].checking and first[4].passes == 1 and first[3].passes == 0
    assert [state for _, state in first[-1].chips] == ["accepted", "rejected", "discarded", "discarded"]
    assert first[-1].last == (4, "correction")
    assert first[-1].committed == ((0, "accepted"), (4, "correction"))
    assert made[-1].committed[2:] == ((0, "accepted"), (1, "accepted"), (3, "bonus"))
    assert replay.summary(made[-1]) == (
        "After 2 of 2 rounds: 5 tokens from 2 target passes; plain decoding would have needed 5."
    )


def test_nothing_is_committed_before_its_pass():
    for frame in replay.frames(Trace((rejected_round(), accepted_round())), WORDS):
        assert frame.ends_round or frame.fresh == 0
        assert len(frame.committed) == {1: 2 * frame.ends_round, 2: 2 + 3 * frame.ends_round}[frame.round]


def test_a_round_without_drafts_and_a_stopped_one():
    plain = replay.frames(Trace((Round((), 0, (3,), "bonus"),)), WORDS)
    assert plain[-1].committed == ((3, "bonus"),)
    stopped = replay.frames(Trace((Round((0, 4, 1), 2, (0, 4), "stopped"),)), WORDS)
    assert [state for _, state in stopped[-1].chips] == ["accepted", "accepted", "discarded"]
    assert stopped[-1].last is None and stopped[-1].committed == ((0, "accepted"), (4, "accepted"))


def test_frames_commit_the_text_of_a_real_trace():
    target = models.story_model()
    trace = decoding.speculative_decode(
        target, models.AgreeingDraft(target, 0.6), (), 30, 3, np.random.default_rng(5)
    )
    last = replay.frames(trace, target.vocabulary)[-1]
    assert tuple(token for token, _ in last.committed) == trace.tokens
    assert last.passes == trace.target_passes


def test_every_state_has_its_sign_and_word_in_the_page():
    page = replay.render(replay.frames(Trace((rejected_round(),)), WORDS)[-1], WORDS)
    for state in STATES.values():
        assert f">{state.sign}</i>{state.label}</li>" in page
    for state in ("accepted", "rejected", "discarded", "correction"):
        assert re.search(
            f'sdl-s-{state}" title="{state}"><i aria-hidden="true">{STATES[state].sign}</i>', page
        )


def test_words_are_escaped():
    page = replay.render(
        replay.frames(Trace((Round((0,), 1, (0, 1), "bonus"),)), ("<b>", "&"))[-1], ("<b>", "&")
    )
    assert "&lt;b&gt;" in page and "<span><b></span>" not in page


def test_player_steps_and_stays_within_its_frames():
    lab = ReplayLab(Trace((accepted_round(),)), WORDS)
    for _ in range(50):
        lab.player.step(1)
    assert lab.player.frame is lab.player.frames[-1]
    for _ in range(50):
        lab.player.step(-1)
    assert lab.player.frame is lab.player.frames[0]
    assert not lab.player.play.playing
    lab.close()


def test_a_longer_and_a_shorter_trace_after_each_other(speed):
    for k in (16, 1, 0, 9):
        speed.k.value = k
        assert speed.player.slider.max == speed.player.play.max == len(speed.player.frames) - 1
        speed.player.slider.value = speed.player.slider.max
        assert speed.player.frame.ends_round


# ---- the shell ------------------------------------------------------------------------------------------


def test_dragging_a_recomputes_and_does_not_replay(speed):
    before, frame = speed.player.restarts, speed.player.slider.value
    for a in np.linspace(0, 1, 101):
        speed.a.source.value = a
    assert 'data-quantity="expected_tokens">5.00<' in shown(speed)
    assert speed.player.restarts == before and speed.player.slider.value == frame
    assert not speed.player.play.playing


def test_a_new_k_replays(speed):
    speed.k.source.value = 2
    assert speed.player.restarts == 1 and speed.player.slider.value == 0 and speed.player.play.playing
    assert max(len(frame.chips) for frame in speed.player.frames) == 2
    assert 'data-quantity="expected_tokens">2.44<' in shown(speed)


@pytest.mark.parametrize("kind, a", [("weak", 0.4), ("aligned", 0.9)])
def test_another_draft_sets_a_and_replays(speed, kind, a):
    speed.draft.source.value = kind
    assert speed.a.value == a and speed.a.typed.value == a and speed.player.restarts == 1
    assert f"With a = {a:.2f}" in shown(speed)
    speed.a.value = 0.7
    assert speed.draft.value is None and speed.player.restarts == 1


def test_replayed_rounds_accept_at_the_rate_that_is_set():
    judged = [
        one.accepted
        for seed in range(60)
        for r in speedup.example_trace(0.7, 4, seed).rounds
        for one in r.judged
    ]
    spread = (0.7 * 0.3 / len(judged)) ** 0.5
    assert abs(np.mean(judged) - 0.7) < 4 * spread


def test_replay_shows_six_rounds():
    assert len(speedup.example_trace(1.0, 16, 0).rounds) == speedup.ROUNDS
    assert len(speedup.example_trace(0.0, 3, 0).rounds) == speedup.ROUNDS


def test_typed_values_are_taken_or_explained(speed):
    speed.a.typed.value = 0.55
    assert speed.state["a"] == 0.55 and speed.a.source.value == 0.55
    speed.a.typed.value = 1.5
    assert speed.state["a"] == 1.0 and speed.a.typed.value == 1.0
    assert "acceptance a runs from 0 to 1: 1.5 was set to 1." in speed.views["numbers"].error.value
    speed.a.typed.value = 2.5  # again, and the slider is at its end already
    assert "2.5 was set to 1." in speed.views["numbers"].error.value
    speed.a.typed.value = 0.5
    assert speed.views["numbers"].error.value == ""


def test_a_value_finer_than_a_slider_step_is_kept(speed):
    speed.a.typed.value = 0.8125
    assert speed.state["a"] == 0.8125


def test_setting_a_value_out_of_range_is_an_error(speed):
    with pytest.raises(ValueError, match=r"acceptance a must lie in \[0, 1\], got 1.2"):
        speed.a.value = 1.2


def test_several_controls_one_drawing(speed):
    drawn = []
    original = speed.views["numbers"].compute
    speed.views["numbers"].compute = lambda state: drawn.append(state) or original(state)
    speed.set(a=0.5, k=2, c=0.2)
    assert [(state["a"], state["k"], state["c"]) for state in drawn] == [(0.5, 2, 0.2)]


def test_words_are_sent_before_pictures_and_no_step_back_to_its_slider(speed, monkeypatch):
    sent = []
    for part in kit._all_parts([speed.widget]):
        monkeypatch.setattr(part, "send_state", lambda key=None, part=part: sent.append((part, key)))
    message = {"method": "update", "state": {"value": 0.55}, "buffer_paths": []}
    echoes = []
    monkeypatch.setattr(speed.a.source, "_send", lambda data, buffers=None: echoes.append(data))
    speed.a.source._handle_msg({"content": {"data": message}, "buffers": []})
    parts = [part for part, _ in sent]
    words = speed.views["numbers"].widget.children[0].children[1]
    picture = speed.views["speedup_by_length"].widget.children[0].children[1]
    assert parts.index(words) < parts.index(picture)
    assert echoes == []


def test_a_broken_view_is_one_line_and_heals(speed, capsys):
    view = speed.views["speedup_by_length"]
    good = view.compute
    view.compute = lambda state: {}["missing"]
    speed.a.value = 0.5
    assert view.error.value.count("<p") == 1 and 'role="alert"' in view.error.value
    assert "Traceback" not in view.error.value and capsys.readouterr() == ("", "")
    assert 'data-quantity="expected_tokens">1.94<' in shown(speed)
    view.compute = good
    speed.a.value = 0.6
    assert view.error.value == ""


def test_no_weight_at_all_is_one_line_in_the_bars_lab():
    lab = BarsLab("greedy draft (one-hot)")
    lab.weights[0].value = 0.0
    assert "must not all be 0" in lab.views["bars"].error.value
    lab.draw()
    lab.weights[1].value = 3.0
    assert lab.views["bars"].error.value == ""
    lab.close()


def test_bars_presets_draws_and_seed():
    lab = BarsLab()
    for name, (p, q) in bars.PRESETS.items():
        lab.preset.value = name
        assert lab.reading().quantities[0].text == f"{np.minimum(*bars_pair(p, q)).sum():.3f}"
        lab.draw()
        assert sum(lab.state["counts"]) == bars.DRAWS
        assert all(view.error.value == "" for view in lab.views.values())
    first = lab.state["counts"]
    lab.draw()
    assert sum(lab.state["counts"]) == 2 * bars.DRAWS
    lab.forget_and_show()
    lab.draw()
    assert lab.state["counts"] == first
    lab.temperature.value = 0.5
    assert sum(lab.state["counts"]) == 0
    lab.close()


def bars_pair(p, q):
    pair = np.zeros((2, len(bars.WORDS)))
    pair[0, : len(p)], pair[1, : len(q)] = p, q
    return pair


def test_own_weights_leave_the_preset():
    lab = BarsLab()
    lab.weights[0].value = 60.0
    assert lab.preset.value == bars.OWN
    assert lab.state["p"] == pytest.approx(bars.PRESETS["five words"][0])
    lab.close()


def test_own_laws():
    lab = BarsLab(p=[0.5, 0.5], q=[1.0, 0.0], words=("yes", "no"))
    assert numbers(lab.reading())["acceptance_probability"] == "0.500"
    lab.close()
    with pytest.raises(ValueError, match="q must be given"):
        BarsLab(p=[0.5, 0.5], words=("yes", "no"))
    with pytest.raises(ValueError, match="p must sum to 1"):
        BarsLab(p=[0.5, 0.4], q=[1.0, 0.0], words=("yes", "no"))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: SpeedupLab(show="everything"), "show must be one of"),
        (lambda: SpeedupLab(verify_cost=[1.0, -2.0]), "verify_cost must be"),
        (lambda: RooflineLab(model="GPT-99"), "model must be one of"),
        (lambda: BarsLab("no such"), "preset must be one of"),
        (lambda: LoadLab(hardware="abacus"), "hardware must be one of"),
        (lambda: CounterReaderLab("no such"), "example must be one of"),
        (lambda: ReplayLab(Trace(()), WORDS), "trace must hold at least one round"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_measured_pass_cost_limits_k():
    lab = SpeedupLab(verify_cost=[1, 2.2, 2.5, 2.6, 2.8], with_replay=False)
    assert lab.k.high == 4 and "v" not in lab.controls
    assert numbers(lab.reading())["speedup"] == f"{3.3616 / (2.8 + 0.4):.2f}"
    lab.close()


# ---- display --------------------------------------------------------------------------------------------


def handlers(lab):
    """How many Python callbacks hang on the values of a lab's controls."""
    return sum(
        len(part._trait_notifiers.get("value", {}).get("change", [])) for part in kit._all_parts(lab.widget)
    )


def test_displaying_twice_adds_nothing(lab):
    before, alive = handlers(lab), len(kit._all_parts(lab.widget))
    bundles = [lab._repr_mimebundle_() for _ in range(2)]
    assert handlers(lab) == before and len(kit._all_parts(lab.widget)) == alive
    assert bundles[0] == bundles[1]


def test_bundle_holds_the_live_lab_and_its_static_twin(lab):
    bundle = lab._repr_mimebundle_()
    sentence = lab.reading().sentence
    assert bundle[WIDGET_VIEW]["model_id"] == lab.widget.model_id
    assert bundle["text/plain"] == sentence
    twin = bundle["text/html"]
    assert "<svg" not in twin and "<style" not in twin and "<script" not in twin
    alt, source = re.search(r'<img alt="([^"]+)" src="data:image/png;base64,([^"]+)"', twin).groups()
    assert len(alt) > 60 and source == bundle["image/png"]
    assert Image.open(io.BytesIO(base64.b64decode(source))).width > 800
    assert html.escape(sentence) in twin
    for quantity in lab.reading().quantities:
        assert f'data-quantity="{quantity.key}">{quantity.text}' in twin


def test_every_control_has_description_and_tooltip(lab):
    for part in kit._all_parts(lab.widget):
        if isinstance(
            part,
            (
                ipywidgets.IntSlider,
                ipywidgets.FloatSlider,
                ipywidgets.Dropdown,
                ipywidgets.ToggleButtons,
                ipywidgets.Button,
                ipywidgets.ToggleButton,
                ipywidgets.IntText,
                ipywidgets.FloatText,
            ),
        ):
            assert part.description and part.tooltip
        if isinstance(part, ipywidgets.Play):  # its own buttons have no name: a named one stands for them
            assert "sdl-hidden" in part._dom_classes


def test_the_sentence_stands_in_a_live_element_that_a_lasting_region_owns(lab):
    pages = [part.value for part in kit._all_parts(lab.widget) if isinstance(part, ipywidgets.HTML)]
    owned = [ident for page in pages for ident in re.findall(r'aria-owns="([^"]+)"', page)]
    assert owned
    for ident in owned:
        assert sum(f'id="{ident}" aria-live="polite"' in page for page in pages) == 1


def test_closing_leaves_no_widget_behind():
    def alive():
        gc.collect()
        return len(ipywidgets.widgets.widget._instances)

    for make in MAKERS.values():
        make().close()
    before = alive()
    for _ in range(3):
        for make in MAKERS.values():
            lab = make()
            lab.close()
            assert lab._repr_mimebundle_() == {"text/plain": f"{lab.title}: closed"}
            lab.close()
    assert alive() == before


def test_a_cell_that_runs_again_leaves_one_live_lab(monkeypatch):
    running = {"cell": ("cell-1", "run-1")}
    monkeypatch.setattr(kit, "_running_cell", lambda: running["cell"])
    monkeypatch.setattr(kit, "_shown", {})
    first, beside = SpeedupLab(with_replay=False), RooflineLab()
    running["cell"] = ("cell-2", "run-2")
    elsewhere = BarsLab()
    assert first.widget and beside.widget
    running["cell"] = ("cell-1", "run-3")
    again = SpeedupLab(with_replay=False)
    assert first.widget is None and beside.widget is None
    assert elsewhere.widget and again.widget
    again.close()
    elsewhere.close()


def test_a_figure_leaves_no_pyplot_state():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    lab = SpeedupLab()
    for _ in range(3):
        lab.twin()
    assert plt.get_fignums() == before
    lab.close()


# ---- colour vision --------------------------------------------------------------------------------------

# Machado, Oliveira, Fernandes, IEEE TVCG 15(6), 2009, doi 10.1109/TVCG.2009.113: full severity, linear RGB.
COLOUR_VISION = {
    "trichromacy": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
# Linear sRGB to CIE XYZ under D65 (IEC 61966-2-1).
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab_colour(colour, vision):
    """CIE L*a*b* of '#rrggbb' as that kind of colour vision sees it."""
    encoded = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(COLOUR_VISION[vision] @ linear, 0, 1)
    xyz = TO_XYZ @ seen / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(first, second, vision):
    """The CIE 1976 colour difference; about 2.3 is just noticeable (Mahy et al. 1994)."""
    return float(np.linalg.norm(lab_colour(first, vision) - lab_colour(second, vision)))


@pytest.mark.parametrize("vision", COLOUR_VISION)
def test_the_six_states_stay_apart_for_every_colour_vision(vision):
    states = list(STATES.values())
    assert len({state.sign for state in states}) == len({state.label for state in states}) == 6
    for i, one in enumerate(states):
        for other in states[:i]:
            alike = (one.filled, one.hatch) == (other.filled, other.hatch)
            assert not alike or difference(one.colour, other.colour, vision) > 15, (one.label, other.label)


def test_the_simulation_of_colour_vision_confuses_what_it_should():
    assert difference("#FFFFFF", "#000000", "trichromacy") == pytest.approx(100, abs=0.1)
    for vision in ("protanopia", "deuteranopia"):  # white stays; a red and a green of like lightness meet
        assert difference("#FFFFFF", "#000000", vision) == pytest.approx(100, abs=0.1)
    assert difference("#C03000", "#607000", "trichromacy") > 60
    assert difference("#C03000", "#607000", "deuteranopia") < 20


# ---- greedy and sampling --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_greedy_is_read_off_a_trace_and_its_text_is_the_plain_one(seed):
    target = models.story_model()
    draft = models.AgreeingDraft(target, 0.6)
    greedy = decoding.speculative_decode(target, draft, (), 20, 3, temperature=0)
    sampled = decoding.speculative_decode(target, draft, (), 20, 3, np.random.default_rng(seed))
    assert replay.is_greedy(greedy) and not replay.is_greedy(sampled)
    assert greedy.tokens == decoding.decode(target, (), 20, temperature=0).tokens
    assert not replay.is_greedy(Trace((Round((), 0, (3,), "bonus"),)))
    for trace, words in ((greedy, "the two texts are the same"), (sampled, "not the same draw")):
        lab = ReplayLab(trace, target.vocabulary)
        assert words in lab.player.picture.value and words in lab.player.still.value
        lab.close()


def test_the_plain_text_is_as_far_as_its_passes():
    made = replay.frames(Trace((rejected_round(), accepted_round())), WORDS)
    page = replay.render(made[-1], WORDS)
    assert (
        '<span class="sdl-done">the ran</span> <span class="sdl-here">after 2 passes</span> '
        '<span class="sdl-missing">the cat sat</span>'
    ) in page
    assert 'data-quantity="speculative_passes">2<' in page and 'data-quantity="plain_passes">5<' in page


def test_step_through_stops_what_plays_by_itself(speed):
    speed.k.value = 3
    assert "sdl-auto" in speed.player.widget._dom_classes and speed.player.play.playing
    speed.player.step_through()
    assert "sdl-auto" not in speed.player.widget._dom_classes
    assert not speed.player.play.playing and speed.player.slider.value == 0
    speed.k.value = 2
    assert "sdl-auto" in speed.player.widget._dom_classes and not speed.player.play.playing


# ---- cells ----------------------------------------------------------------------------------------------


def test_a_lab_shown_by_another_cell_outlives_a_second_run_of_its_own(monkeypatch):
    running = {"cell": ("maker", "run-1")}
    monkeypatch.setattr(kit, "_running_cell", lambda: running["cell"])
    monkeypatch.setattr(kit, "_shown", {})
    old = SpeedupLab(with_replay=False)
    running["cell"] = ("shower", "run-2")
    old._repr_mimebundle_()
    running["cell"] = ("maker", "run-3")
    new = SpeedupLab(with_replay=False)
    assert old.widget and new.widget
    running["cell"] = ("shower", "run-4")
    new._repr_mimebundle_()
    assert old.widget is None and new.widget
    new.close()


def test_a_lab_shown_twice_repeats_no_id():
    lab = SpeedupLab()
    lab._repr_mimebundle_()
    pages = [part.value for part in kit._all_parts(lab.widget) if isinstance(part, ipywidgets.HTML)]
    assert any(" id=" in page for page in pages)
    lab._repr_mimebundle_()
    pages = [part.value for part in kit._all_parts(lab.widget) if isinstance(part, ipywidgets.HTML)]
    assert not any(" id=" in page or "aria-owns" in page for page in pages)
    assert sum('aria-live="polite"' in page for page in pages) >= 2
    lab.close()


# ---- lesson 8: load and counters -------------------------------------------------------------------------

LOAD = {"hardware": "A100 80GB SXM", "model": "Llama-3.1-8B", "batch": 64, "context": 256}
LOAD |= {"a": 0.7, "c": 0.15, "k": 4}
PASTE = {"engine": counter_reader.ANY, "k": 0, "c": 0.1, "v": 1.0}


def test_load_by_the_data_sheet():
    found = numbers(load.reading(LOAD))
    read = 2 * 8_030_261_248 + 64 * 256 * 131_072  # weights and cache, in bytes
    worked = 64 * (5 * 2 * 8_030_261_248 + 4 * 32 * 32 * 128 * (5 * 256 + 15))
    v = worked / 312e12 / (read / 2.039e12)
    assert found["verify_cost"] == f"{v:.2f}"
    assert found["speedup"] == f"{sum(0.7**i for i in range(5)) / (v + 0.6):.2f}"
    assert found["best_draft_length"] == "2"


def test_load_says_when_nothing_pays_and_what_does_not_fit():
    assert "No draft pays here: switch speculation off." in load.reading({**LOAD, "batch": 256}).sentence
    assert "do not fit into its 80 GB" in load.reading({**LOAD, "context": 65536}).sentence
    assert numbers(load.reading({**LOAD, "k": 0}))["last_batch"] == "none"


@pytest.mark.parametrize("batch", [1, load.MOST_SEQUENCES])
@pytest.mark.parametrize("context", [0, load.LONGEST_CONTEXT])
@pytest.mark.parametrize("k", [0, 16])
@pytest.mark.parametrize("a", [0.0, 1.0])
def test_load_at_every_corner(batch, context, k, a):
    state = {**LOAD, "batch": batch, "context": context, "k": k, "a": a}
    for view in load.VIEWS.values():
        curves = view(state)
        assert all(np.all(np.isfinite(xy)) for pair in curves.xy.values() for xy in pair)
        assert np.max(curves.xy["now"][1]) <= curves.top
    assert load.reading(state).sentence


@pytest.mark.parametrize(
    "example, tokens, a",
    [
        ("llama.cpp, 2023", "5.00", "0.927"),
        ("SGLang", "2.47", "0.617"),
        ("llama.cpp", "2.92", "0.793"),
        ("vLLM, 15 drafts", "2.37", "0.578"),
    ],
)
def test_counters_of_the_clinic(example, tokens, a):
    found = numbers(counter_reader.reading({**PASTE, "text": counter_reader.counters.EXAMPLES[example][0]}))
    assert (found["tokens_per_pass"], found["a"]) == (tokens, a)


def test_counter_reader_decides():
    def decision(example, **state):
        text = counter_reader.counters.EXAMPLES[example][0]
        return numbers(counter_reader.reading({**PASTE, "text": text, **state}))["decision"]
    assert decision("vLLM, a draft that does not fit") == "switch off"
    assert decision("vLLM, 15 drafts") == "set k = 3"
    assert decision("llama.cpp, 2023", c=0.3) == "leave it on"
    assert decision("llama.cpp", v=8.0) == "switch off"


@pytest.mark.parametrize(
    "text",
    ["", "nothing", "draft acceptance = 1 ( 9 accepted / 3 generated)", "accept len: 2.7", "<b>accept len:</b>"],
)
def test_unreadable_text_is_one_line_and_stays(text):
    lab = CounterReaderLab()
    before = lab.reading().sentence
    lab.text.source.value = text
    assert lab.text.value == text and lab.example.value == counter_reader.OWN
    line = lab.views["numbers"].error.value
    assert line.count("<p") == 1 and 'role="alert"' in line and "Not read" in line and "<b>" not in line
    assert {q.text for q in lab.reading().quantities} == {"–"} and lab.reading().sentence != before
    assert all(view.error.value == "" for name, view in lab.views.items() if name != "numbers")
    lab.k.value = 4
    assert lab.text.value == text
    lab.text.source.value = "accept len: 2.7, accept rate: 0.57"
    assert lab.views["numbers"].error.value == "" and numbers(lab.reading())["tokens_per_pass"] == "2.70"
    lab.close()


def test_an_example_does_not_lose_what_was_typed():
    lab = CounterReaderLab("SGLang")
    lab.text.source.value = "my own log, not finished"
    lab.example.source.value = "llama.cpp"
    assert "167 accepted" in lab.text.value and numbers(lab.reading())["tokens_per_pass"] == "2.92"
    lab.example.source.value = counter_reader.OWN
    assert lab.text.value == "my own log, not finished"
    lab.close()


def test_curves_of_the_counter_reader_are_finite():
    examples = [text for text, _ in counter_reader.counters.EXAMPLES.values()]
    for text in (*examples, "", "passes = 9, generated = 90"):
        for c in (0.0, 1.0):
            state = {**PASTE, "text": text, "c": c, "k": 12 if "passes" in text else 0}
            for view in counter_reader.VIEWS.values():
                curves = view(state)
                assert all(np.all(np.isfinite(xy)) for pair in curves.xy.values() for xy in pair)
