"""The laboratory without a browser: rounds, what they come to, blocks in space, and the lab's handlers."""

import gc
import io
import re
import subprocess
import sys
import time

import ipywidgets
import numpy as np
import pytest
from PIL import Image

from specdec_lessons import models
from specdec_lessons.decoding import Judged, Round
from specdec_lessons.evidence import acceptance_estimate
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import LaboratoryLab, kit, laboratory, rounds, scene

WORDS = ("the", "cat", "<dog>", "sat", "ran")
REJECTED = Round((0, 1, 2, 3), 1, (0, 4), "correction",
                 (Judged(0, 0.5, 0.4, 0.3, True), Judged(1, 0.1, 0.8, 0.9, False)))
ACCEPTED = Round((0, 1), 2, (0, 1, 3), "bonus",
                 (Judged(0, 0.5, 0.5, 0.7, True), Judged(1, 0.25, 0.5, 0.2, True)))
STOPPED = Round((0, 1, 2), 1, (0,), "stopped", (Judged(0, 1.0, 1.0, 0.5, True),))


def state(**changes):
    return {"rounds": (REJECTED, ACCEPTED), "frame": 4, "k": 4, "a": 0.8, "c": 0.1, "round": 1, "position": 1,
            "vocabulary": WORDS, **changes}


def numbers(reading):
    return {quantity.key: quantity.text for quantity in reading.quantities}


@pytest.fixture
def lab():
    made = LaboratoryLab(n_rounds=12)
    yield made
    made.close()


# ---- rounds ---------------------------------------------------------------------------------------------

def test_states_of_each_kind_of_round():
    assert rounds.states_of(REJECTED) == ("accepted", "rejected", "discarded", "discarded", "correction")
    assert rounds.states_of(ACCEPTED) == ("accepted", "accepted", "bonus")
    assert rounds.states_of(STOPPED) == ("accepted", "discarded", "discarded")


def test_unfolding_shows_the_drafts_before_their_verdicts():
    shown = [rounds.unfolded((REJECTED, ACCEPTED), frame) for frame in range(5)]
    assert shown[0] == ()
    assert shown[1] == (("drafted",) * 4,)
    assert shown[2] == (rounds.states_of(REJECTED),)
    assert shown[3] == (rounds.states_of(REJECTED), ("drafted",) * 2)
    assert shown[4] == (rounds.states_of(REJECTED), rounds.states_of(ACCEPTED))


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("a", [0.0, 0.5, 1.0])
def test_a_run_has_as_many_rounds_as_asked_for(k, a):
    target = models.story_model()
    draft, prompt = models.AgreeingDraft(target, a), models.encode(target, "the old woman")
    trace = rounds.run(target, draft, prompt, k, 20, seed=3)
    assert len(trace.rounds) == 20 and {len(one.drafted) for one in trace.rounds} == {k}
    assert {0.0: {0}, 1.0: {k}}.get(a, set(range(k + 1))) >= {one.accepted for one in trace.rounds}


def test_more_rounds_begin_like_fewer():
    target = models.story_model()
    draft = models.AgreeingDraft(target, 0.7)
    short, long = (rounds.run(target, draft, (0,), 4, n, seed=1).rounds for n in (10, 30))
    assert long[:10] == short


def test_a_run_ends_with_the_text():
    loop = models.TableModel(["a", "b", "end"], [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    trace = rounds.run(loop, loop, (0,), 4, 20, seed=0, eos=2)
    assert trace.tokens == (1, 2) and [one.last for one in trace.rounds] == ["stopped"]


@pytest.mark.parametrize("a", [0.25, 0.6, 0.8, 0.95])
def test_the_set_agreement_is_met(a):
    target = models.story_model()
    draft, prompt = models.AgreeingDraft(target, a), models.encode(target, "the old woman")
    traces = [rounds.run(target, draft, prompt, 8, 64, seed) for seed in range(12)]
    estimate = acceptance_estimate(traces, confidence=0.9999)
    assert estimate.low <= a <= estimate.high and estimate.high - estimate.low < 0.12
    contexts = [prompt + traces[0].tokens[:n] for n in range(0, len(traces[0].tokens), 7)]
    shared = [np.minimum(target.next_probs(one), draft.next_probs(one)).sum() for one in contexts]
    assert np.allclose(shared, a)


# ---- numbers --------------------------------------------------------------------------------------------

def test_numbers_of_two_rounds_by_hand():
    found = rounds.reading(state())  # 5 tokens from 2 passes; 6 drafts, 3 accepted, 4 judged
    assert numbers(found) == {
        "tokens_per_pass": "2.50", "net_speedup": f"{5 / 2.6:.2f}", "target_calls_replaced": "3",
        "relative_latency": "52", "wasted_drafts": "3", "acceptance_measured": "0.75"}
    units = {quantity.key: quantity.unit for quantity in found.quantities}
    assert units["tokens_per_pass"] == "formula 3.36" and units["net_speedup"] == "× formula 2.40×"
    assert units["target_calls_replaced"] == "of 5" and units["wasted_drafts"] == "of 6"
    assert units["acceptance_measured"] == "/ 0.80 (0.19–0.99)"  # Clopper–Pearson, 3 of 4
    assert found.sentence == ("2 rounds: 5 tokens from 2 target passes, 3 of 6 drafts wasted; "
                              "at draft cost 0.10, 1.92 times plain speed.")


def test_the_words_of_the_readouts():
    labels = [quantity.label for quantity in rounds.reading(state()).quantities]
    assert labels == ["tokens per pass", "net speedup", "target calls replaced", "relative latency",
                      "wasted drafts", "acceptance measured / set"]


def test_numbers_count_only_finished_rounds():
    assert rounds.reading(state(frame=3)) == rounds.reading(state(frame=2))
    assert rounds.reading(state(frame=3)).sentence.startswith("1 round: 2 tokens from 1 target pass, 3 of 4 ")
    nothing = rounds.reading(state(frame=1))
    assert set(numbers(nothing).values()) == {"–"}
    assert nothing.sentence.startswith("Nothing is verified yet: 4 drafts")


def test_models_that_decide_the_rate():
    found = rounds.reading(state(a=None))
    assert found.quantities[5].unit.startswith("not set: the models decide it")
    assert found.quantities[0].unit == "formula 3.05"  # 1 + .75 + … + .75^4


# ---- the chosen block and the map -----------------------------------------------------------------------

@pytest.mark.parametrize("number, position, expected", [
    (1, 1, {"token": "the", "p": "0.500", "q": "0.400", "coin": "0.300",
            "verdict": "accepted: coin < min(1, p/q) = 1.000"}),
    (1, 2, {"token": "cat", "p": "0.100", "q": "0.800", "coin": "0.900",
            "verdict": "rejected: coin ≥ min(1, p/q) = 0.125"}),
    (1, 3, {"token": "<dog>", "p": "–", "verdict": "never judged: a draft before it was rejected"}),
    (1, 5, {"token": "ran", "verdict": "drawn from the residual, in place of the rejected draft 2"}),
    (2, 3, {"token": "sat", "verdict": "drawn by the target itself, after all drafts were accepted"}),
    (2, 4, {"verdict": "Round 2 has no position 4."}),
    (3, 1, {"verdict": "Round 3 has not begun."}),
])
def test_what_is_known_of_a_block(number, position, expected):
    found = rounds.detail(state(round=number, position=position))
    assert {name: found.get(name) for name in expected} == expected
    page = rounds.detail_html(state(round=number, position=position))
    verdict = expected["verdict"].replace("<", "&lt;")
    assert "<dog>" not in page and f'data-quantity="verdict">{verdict}<' in page


def test_a_draft_that_waits_and_one_behind_the_end():
    assert rounds.detail(state(frame=1))["verdict"] == "drafted, waiting for the target’s pass"
    assert rounds.detail(state(frame=1, position=5))["verdict"] == "Round 1 has no position 5 yet."
    stopped = state(rounds=(STOPPED,), frame=2, position=3)
    assert rounds.detail(stopped)["verdict"] == "never judged: the text had ended before it"


def test_map_has_a_line_a_round_a_sign_a_token_and_words():
    page = rounds.map_html(state(round=1, position=2))
    lines = re.findall("<li>.*?</li>", page)
    cells = [re.search('sdl-cells" aria-hidden="true">(.*?)</span>', line).group(1) for line in lines]
    assert [re.sub("<.*?>", "", one) for one in cells] == ["✓✗––↺", "✓✓★"]
    assert "Round 1: 1 accepted, 1 rejected, 2 discarded, then a correction." in lines[0]
    assert "Round 2: 2 accepted, then a bonus." in lines[1]
    assert page.count("sdl-chosen") == 1 and 'sdl-s-rejected sdl-chosen' in lines[0]
    assert "the ran" in lines[0] and "the cat sat" in lines[1]
    assert "&lt;dog&gt;" in rounds.map_html(state(rounds=(Round((), 0, (2,), "bonus"),), frame=2))


def test_figure_says_what_it_shows():
    fig = rounds.figure(state())
    assert "A map of 2 rounds" in fig.alt and "2 rounds: 5 tokens" in fig.alt
    assert {text.get_text() for text in fig.axes[0].texts} == {"✓", "✗", "–", "↺", "★"}


# ---- space ----------------------------------------------------------------------------------------------

BLOCKS = scene.blocks([rounds.states_of(one) for one in (REJECTED, ACCEPTED)] + [("drafted",) * 3])


def boxes(made, width, n_rows=scene.MOST_ROWS):
    """Corners (24, 3) of the blocks that have a size, in the order of the array."""
    corners = scene.vertices(made, scene.room(n_rows, 16, finished=False), width).reshape(-1, 24, 3)
    return corners[np.ptp(corners, axis=1).any(axis=1)]


def test_each_block_stands_in_its_own_place():
    found = boxes(BLOCKS, 1.5)
    assert len(found) == len(BLOCKS)
    by_state = [block for name in STATES for block in BLOCKS if block.state == name]
    for block, corners in zip(by_state, found):
        start = 1.5 * block.column + (0.35 if block.state in ("correction", "bonus") else 0)
        assert start < corners[:, 0].min() and corners[:, 0].max() < start + 1.5
        assert -block.row - 1 < corners[:, 1].min() and corners[:, 1].max() < -block.row
        assert corners[:, 2].min() == 0 and corners[:20, 2].max() == pytest.approx(scene.HEIGHTS[block.state])


def test_what_stays_is_taller_than_what_is_thrown_away():
    kept, lost = ("accepted", "correction", "bonus"), ("rejected", "discarded")
    assert min(scene.HEIGHTS[name] for name in kept) > 2 * max(scene.HEIGHTS[name] for name in lost)


def test_sides_face_outwards_and_signs_upwards():
    corners = boxes(BLOCKS[:1], 1.0)[0]
    middle = corners[:20].mean(axis=0)
    for first, second, third in scene.quads(6):
        normal = np.cross(corners[second] - corners[first], corners[third] - corners[first])
        assert normal @ (corners[first] - middle) > 0
    assert np.allclose(np.cross(corners[21] - corners[20], corners[22] - corners[20])[:2], 0)


def test_a_full_laboratory_is_two_meshes_of_one_size():
    full = scene.blocks([("accepted",) * 16 + ("bonus",)] * 64)
    room = scene.room(64, 16)
    empty = scene.vertices((), room, 1.0)
    assert len(boxes(full, 1.0)) == 64 * 17
    assert scene.vertices(full, room, 1.0).shape == empty.shape and not empty.any()
    places = sum(room.values())
    assert scene.texture_places(room).shape == (24 * places, 2) and empty.shape == (24 * places, 3)
    assert scene.quads(6 * places).max() == 24 * places - 1


@pytest.mark.parametrize("n, k", [(1, 1), (24, 8), (25, 8), (24, 9), (64, 16), (3, 16)])
def test_meshes_hold_any_outcome(n, k):
    size = next(size for size in scene.SIZES if n <= size[0] and k <= size[1])
    for row in (("accepted",) * k + ("bonus",), ("rejected",) + ("discarded",) * (k - 1) + ("correction",)):
        made = scene.blocks([row] * n)
        corners = scene.vertices(made, scene.room(*size), 1.0).reshape(-1, 24, 3)
        assert np.ptp(corners, axis=1).any(axis=1).sum() == len(made)
    assert np.ptp(scene.vertices(scene.blocks([("drafted",) * k]), scene.PRESENT, 1.0), axis=0).all()


def test_texture_holds_colour_and_sign_of_each_state():
    image = np.asarray(Image.open(io.BytesIO(scene.texture())).convert("RGB")).astype(int)
    assert image.shape == (256, 128 * 6, 3)
    tiles = [image[128:, 128 * i:128 * (i + 1)] for i in range(6)]
    for tile, one in zip(tiles, STATES.values()):
        colour = [int(one.colour[i:i + 2], 16) for i in (1, 3, 5)]
        paper = colour if one.filled else [255] * 3
        sign = (np.abs(tile - paper).max(axis=2) > 80).mean()
        assert (tile == paper).all(axis=2).mean() > 0.3 and 0.02 < sign < 0.5
    for i in range(6):
        for j in range(i):
            assert np.abs(tiles[i] - tiles[j]).max(axis=2).mean() > 10


@pytest.mark.parametrize("corner, state_name", [(0, "drafted"), (5, "bonus")])
def test_texture_coordinates_point_into_the_tile_of_the_state(corner, state_name):
    uvs = scene.texture_places(scene.PRESENT).reshape(-1, 24, 2)
    place = {"drafted": 0, "bonus": len(uvs) - 1}[state_name]
    column = list(STATES).index(state_name)
    assert (column / 6 < uvs[place][:, 0]).all() and (uvs[place][:, 0] < (column + 1) / 6).all()
    assert (uvs[place][:20, 1] < 0.5).all() and (uvs[place][20:, 1] > 0.5).all()
    left, right = uvs[place][20], uvs[place][21]
    assert left[0] < right[0] and left[1] == right[1] > uvs[place][23][1]  # upright


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("width", [1.0, 2.6])
def test_a_click_finds_the_block_it_hits(width, above):
    made = scene.blocks([("accepted",) * 4 + ("correction",)] * 6)
    eye = np.array(scene.camera(6, 5, width, from_above=above)[:3])
    for block in made:
        top = boxes([block], width)[0][:4].mean(axis=0)
        ground = eye + (top - eye) * (eye[2] + 0.05) / (eye[2] - top[2])
        assert scene.hit(eye, ground, made, width) == block
    assert scene.hit(eye, (60.0, 60.0, 0.0), made, width) is None
    assert scene.hit(eye, (0.0, 0.0, 0.0), (), width) is None


def test_a_click_hits_the_nearer_of_two_blocks():
    near, far = scene.Block(1, 0, "accepted"), scene.Block(0, 0, "accepted")
    assert scene.hit((0.5, -9.0, 0.5), (0.5, 9.0, 0.5), (far, near), 1.0) == near


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("n, columns", [(1, 2), (16, 5), (64, 17), (12, 17), (64, 2)])
def test_the_camera_sees_every_block(n, columns, above):
    width = scene.brick_width(n, columns)
    numbers = np.array(scene.camera(n, columns, width, from_above=above))
    eye, target, up = numbers.reshape(3, 3)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    half = np.tan(np.radians(15))
    seen = []
    for row, column in ((0, 0), (0, columns - 1), (n - 1, 0), (n - 1, columns - 1)):
        for corner in boxes([scene.Block(row, column, "bonus")], width)[0] - eye:
            depth = corner @ forward
            upward = np.cross(right, forward)
            seen.append((corner @ right / depth / half / 1.5, corner @ upward / depth / half))
    assert np.abs(seen).max() <= 1.0
    assert np.abs(seen).max() > 0.6  # and they fill the picture


def test_round_labels():
    assert scene.row_labels(1) == (1,)
    for n in range(1, 65):
        found = scene.row_labels(n)
        assert found[0] == 1 and found[-1] == n and list(found) == sorted(set(found)) and len(found) <= 8


def test_the_frame_encloses_its_block():
    block = BLOCKS[4]
    corners, edges = scene.frame_lines(block, 1.5)
    inner = boxes([block], 1.5)[0]
    assert (corners.min(axis=0) < inner.min(axis=0)).all() and (corners.max(axis=0) > inner.max(axis=0)).all()
    assert sorted(np.ptp(corners[edge], axis=0).astype(bool).sum() for edge in edges) == [1] * 12


# ---- the lab --------------------------------------------------------------------------------------------

def shown(lab):
    return lab.views["numbers"].widget.children[0].children[1].value


def test_a_new_k_rebuilds_the_scene(lab):
    before = lab.scene.past.vertices
    lab.k.source.value = 9
    assert {len(one.drafted) for one in lab.trace.rounds} == {9}
    assert not np.array_equal(lab.scene.past.vertices, before)
    assert lab.position.high == lab.position.source.max == 10
    assert "Nothing is verified yet: 9 drafts" in shown(lab)


def test_agreement_changes_numbers_and_draft_kind(lab):
    before = shown(lab)
    lab.a.source.value = 0.3
    assert shown(lab) != before and "/ 0.30 (" in shown(lab) and lab.draft.value == "weak"
    lab.draft.source.value = "aligned"
    lab.frame.value = 24
    assert lab.a.value == 0.9 and "/ 0.90 (" in shown(lab)


def test_draft_cost_decodes_nothing_again(lab, monkeypatch):
    run, tokens = lab.trace, numbers(lab.reading())["tokens_per_pass"]
    monkeypatch.setattr(rounds, "run", lambda *_: pytest.fail("decoded again"))
    lab.c.source.value = 0.5
    assert lab.trace is run and numbers(lab.reading())["tokens_per_pass"] == tokens
    drafts, kept = run.draft_steps, len(run.tokens)
    assert numbers(lab.reading())["net_speedup"] == f"{kept / (12 + 0.5 * drafts):.2f}"


def test_seeds_differ_and_return(lab):
    first = lab.trace.rounds
    lab.seed.source.value = 1
    assert lab.trace.rounds != first
    lab.seed.source.value = 0
    assert lab.trace.rounds == first


def test_unfolding_by_steps(lab):
    assert lab.frame.value == lab.frame.max == 24
    lab.step(-1)
    assert lab.frame.value == 23 and "11 rounds: " in shown(lab)
    assert lab.views["map"].widget.children[0].value.count("<li>") == 12
    for _ in range(40):
        lab.step(-1)
    assert lab.frame.value == 0 and "Nothing is verified yet" in shown(lab)
    lab.n_rounds.source.value = 5
    assert lab.frame.max == lab.play.max == 10 and lab.frame.value == 0


@pytest.mark.parametrize("name, value", [("a", 0.3), ("c", 0.4), ("n_rounds", 20), ("seed", 7), ("round", 3)])
def test_most_changes_set_nothing_off(lab, name, value):
    lab.controls[name].source.value = value
    assert not lab.play.playing and lab.frame.value == lab.frame.max and lab.restarts == 0


@pytest.mark.parametrize("name, value", [("k", 7), ("draft", "weak"), ("drafting", "adaptive")])
def test_a_new_k_or_draft_unfolds_the_rounds_anew(lab, name, value):
    lab.controls[name].source.value = value
    assert lab.play.playing and lab.restarts == 1
    assert lab.frame.value == lab.play.value == 0 and lab.frame.max == 24
    assert lab.scene._drawn.past == () and "Nothing is verified yet" in shown(lab)
    lab.frame.value = 6
    assert "3 rounds: " in shown(lab)
    lab.a.source.value = 0.7
    assert lab.restarts == 1 and lab.frame.value == 6  # neither begins anew nor jumps


def test_adaptive_drafting_grows_after_full_rounds_and_shrinks_after_misses(lab):
    lab.drafting.source.value = "adaptive"
    assert lab.play.playing and lab.restarts == 1
    run = lab.trace.rounds
    lengths = [len(one.drafted) for one in run]
    assert len(run) == 12 and lengths[0] == 4 and len(set(lengths)) > 2
    for one, after in zip(run, lengths[1:]):
        whole = one.accepted == len(one.drafted)
        assert after == min(max(len(one.drafted) + (2 if whole else -1), 1), 16)
    assert lab.scene._drawn.n_columns == lab.position.high == max(lengths) + 1
    found = lab.reading()
    assert found.quantities[0].unit == f"with {sum(lengths) / 12:.1f} drafts"
    assert found.quantities[1].unit == "×"  # there is no formula for it
    lab.drafting.source.value = "fixed k"
    assert {len(one.drafted) for one in lab.trace.rounds} == {4}


def test_adaptive_drafting_at_its_ends(lab):
    lab.set(drafting="adaptive", a=0.0)
    assert [len(one.drafted) for one in lab.trace.rounds] == [4, 3, 2] + [1] * 9
    lab.a.source.value = 1.0
    assert [len(one.drafted) for one in lab.trace.rounds] == [4, 6, 8, 10, 12, 14] + [16] * 6
    lab.n_rounds.source.value = 64
    assert len(lab.trace.rounds) == 64


def test_who_reads_without_a_kernel_sees_all_rounds_while_they_unfold(lab):
    lab.k.source.value = 7
    assert lab.frame.value == 0
    assert lab.reading().sentence.startswith("12 rounds: ") and "A map of 12 rounds" in lab.figure().alt
    lab.step(2)
    assert lab.reading().sentence.startswith("1 round: ")


def test_less_motion_has_all_rounds_at_once(lab):
    still = lab.views["still"].widget.children[0]
    assert still.value == "" and "sdl-auto" not in lab.moving._dom_classes
    lab.k.source.value = 7
    assert "sdl-auto" in lab.moving._dom_classes  # the style sheet then shows what stands still
    assert still.value.count("<li>") == 12 and "12 rounds: " in still.value
    assert "sdl-chosen" not in still.value
    before = still.value
    lab.frame.value = 5
    assert still.value == before
    lab.show_space.click()
    assert still.value == "" and "sdl-auto" not in lab.moving._dom_classes
    assert not lab.play.playing and lab.frame.value == 24
    lab.k.source.value = 5
    assert not lab.play.playing and lab.restarts == 1 and lab.frame.value == 24
    assert "of 60" in shown(lab)


def test_a_step_ends_what_plays_by_itself(lab):
    lab.draft.source.value = "weak"
    lab.step(1)
    assert not lab.play.playing and lab.frame.value == 1 and "sdl-auto" not in lab.moving._dom_classes


def test_a_click_chooses_a_block_and_the_controls_follow(lab):
    lab.reset_view(from_above=True)
    place = [2.5 * lab.scene._drawn.width, -3.5, 0.05]
    eye = np.array(lab.scene.plot.camera[:3])
    lab.scene._clicked({"position": list(eye + (place - eye) * (eye[2] + 0.05) / (eye[2] - 0.05))})
    assert (lab.round.value, lab.position.value) == (4, 3)
    assert lab.scene.frame.visible
    assert rounds.detail(lab.state)["token"] in lab.views["block"].widget.children[0].value
    lab.choose(99, 0)
    assert lab.round.value == 4


def test_the_chosen_block_stays_inside(lab):
    lab.set(round=12, position=5)
    lab.set(n_rounds=3, k=1)
    assert (lab.round.value, lab.position.value) == (3, 2)


def test_reset_view_sends_the_first_camera(lab):
    home = list(lab.scene.plot.camera)
    lab.scene.plot.camera = [1.0] * 9
    lab.reset_view()
    assert list(lab.scene.plot.camera) == home
    lab.reset_view(from_above=True)
    assert list(lab.scene.plot.camera) != home


def test_a_broken_view_is_one_line_and_heals(lab, capsys):
    view = lab.views["space"]
    good = view.compute
    view.compute = lambda state: {}["missing"]
    lab.k.source.value = 5
    assert view.error.value.count("<p") == 1 and 'role="alert"' in view.error.value
    assert "Traceback" not in view.error.value and capsys.readouterr() == ("", "")
    assert lab.views["map"].error.value == ""
    view.compute = good
    lab.k.source.value = 4
    assert view.error.value == ""


def test_without_k3d_the_lab_still_gives_numbers_and_map(monkeypatch):
    monkeypatch.setitem(sys.modules, "k3d", None)
    lab = LaboratoryLab()
    line = lab.views["space"].error.value
    assert "This view cannot be shown" in line and "k3d" in line
    assert "16 rounds: " in shown(lab) and lab.views["map"].widget.children[0].value.count("<li>") == 16
    lab.reset_view()
    lab.close()


def test_models_of_ones_own():
    target = models.TableModel(["a", "b"], [0.5, 0.5])
    close, far = models.TableModel(["a", "b"], [0.6, 0.4]), models.TableModel(["a", "b"], [0.9, 0.1])
    lab = LaboratoryLab(target, {"aligned": close, "weak": far}, (0,), k=3, n_rounds=60)
    assert "a" not in lab.controls and lab.state["a"] is None
    rates = {}
    for kind in ("aligned", "weak"):
        lab.draft.source.value = kind
        rates[kind] = acceptance_estimate(lab.trace, 0.9999)
    assert rates["aligned"].low <= 0.9 <= rates["aligned"].high  # Σ min(p, q)
    assert rates["weak"].low <= 0.6 <= rates["weak"].high
    lab.close()
    one = LaboratoryLab(target, close, (0,), n_rounds=4)
    assert "draft" not in one.controls and len(one.trace.rounds) == 4
    one.close()


@pytest.mark.parametrize("arguments, words", [
    ({"k": 17}, r"k must lie in \[1, 16\], got 17"),
    ({"a": 1.2}, r"a must lie in \[0, 1\], got 1.2"),
    ({"n_rounds": 0}, r"n_rounds must lie in \[1, 64\], got 0"),
    ({"target": models.TableModel(["a"], [1.0])}, "draft must be given together with target, got None"),
    ({"target": models.TableModel(["a"], [1.0]), "draft": models.TableModel(["b"], [1.0]), "prompt": ()},
     "share one vocabulary"),
    ({"target": models.TableModel(["a"], [1.0]), "draft": {}, "prompt": ()}, "draft must be"),
])
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        LaboratoryLab(**arguments)


def test_display_twice_and_static_twin(lab):
    alive = len(kit._all_parts(lab.widget))
    first, second = lab._repr_mimebundle_(), lab._repr_mimebundle_()
    assert first == second and len(kit._all_parts(lab.widget)) == alive
    assert "application/vnd.jupyter.widget-view+json" in first
    for quantity in lab.reading().quantities:
        assert f'data-quantity="{quantity.key}">{quantity.text}' in first["text/html"]
    assert first["text/plain"].startswith("12 rounds: ")


def test_closing_leaves_nothing_behind():
    def alive():
        gc.collect()
        return len(ipywidgets.widgets.widget._instances)

    LaboratoryLab().close()
    before = alive()
    for _ in range(2):
        lab = LaboratoryLab(k=2, n_rounds=3)
        lab.k.source.value = 8
        lab.close()
        lab.close()
    assert alive() == before


def test_runs_that_are_remembered_are_few(lab):
    for seed in range(90):
        lab.seed.source.value = seed
    assert len(lab._runs) == laboratory.KEPT_RUNS


def test_importing_the_labs_does_not_load_k3d():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, specdec_lessons.labs as labs\n"
         "def loaded(): return 'k3d' in sys.modules\n"
         "print(loaded()); labs.LaboratoryLab; print(loaded()); labs.LaboratoryLab(); print(loaded())"],
        capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr


def test_a_redraw_at_full_size_is_quick():
    lab = LaboratoryLab(k=16, n_rounds=64)
    spent = []
    for a in (0.5, 0.6, 0.7, 0.8, 0.9):
        start = time.process_time()
        lab.a.source.value = a
        spent.append(time.process_time() - start)
    lab.close()
    assert sorted(spent)[2] < 0.3  # seconds; about 0.07 on two quiet cores
