"""The lab of lesson 7: its numbers are those of the race, its rounds those of the run, its words true."""

import re

import numpy as np
import pytest

from specdec_lessons import drafting
from specdec_lessons import policy_race as races
from specdec_lessons.labs import PolicyRaceLab
from specdec_lessons.labs import policy_race as view

STATE = {
    "world": "easy and hard stretches",
    "c": "c = 0.1",
    "k": 4,
    "threshold": 0.5,
    "price": 0.2,
    "policy": "confidence",
    "round": 1,
}


def numbers(reading):
    return {quantity.key: quantity.text for quantity in reading.quantities}


def in_page(page, key):
    return re.search(f'data-quantity="{key}">([^<]*)<', page)[1]


@pytest.fixture
def lab():
    made = PolicyRaceLab()
    yield made
    made.close()


@pytest.mark.parametrize("policy", view.POLICIES)
@pytest.mark.parametrize("world", view.WORLDS)
def test_numbers_are_those_of_runs_counted_by_hand(world, policy):
    state = {**STATE, "world": world, "policy": policy}
    place, policies = view.chosen(state)
    runs = [races.play(place, policies[policy], view.TOKENS, seed) for seed in view.SEEDS]
    passes = sum(len(run.rounds) for run in runs)
    drafted = sum(len(r.drafted) for run in runs for r in run.rounds)
    kept = sum(r.accepted for run in runs for r in run.rounds)
    speed = np.mean(
        [view.TOKENS / (len(run.rounds) + 0.1 * sum(len(r.drafted) for r in run.rounds)) for run in runs]
    )
    found = numbers(view.reading(state))
    assert found["speedup"] == f"{speed:.2f}"
    assert found["tokens_per_pass"] == f"{view.TOKENS * len(runs) / passes:.2f}"
    assert found["drafted_per_pass"] == f"{drafted / passes:.2f}"
    assert found["wasted_drafts"] == f"{(drafted - kept) / passes:.2f}"
    assert in_page(view.bars_html(state), f"speedup_{view._key(policy)}") == f"{speed:.2f}"


def test_sentence_names_the_fastest_and_its_share():
    sentence = view.reading(STATE).sentence
    results, _ = view.race(STATE)
    best = max((one for name, one in results.items() if name != "oracle"), key=lambda one: one.speedup.mean)
    assert f"{best.name} is fastest of the four with {best.speedup.mean:.2f}×" in sentence
    assert f"the oracle’s {results['oracle'].speedup.mean:.2f}×" in sentence
    slow = view.reading({**STATE, "c": "c = 0.3", "k": 16, "threshold": 0.0, "price": 0.0})
    assert "+2 / −1 is fastest" in slow.sentence and "slower than plain decoding" not in slow.sentence


def test_bars_have_intervals_around_their_means():
    page = view.bars_html(STATE)
    for key in ("fixed", "schedule", "confidence", "survival", "oracle"):
        low, mean, high = (
            float(in_page(page, name + key)) for name in ("speedup_low_", "speedup_", "speedup_high_")
        )
        assert low < mean < high
    assert in_page(page, "share_oracle") == "100"


@pytest.mark.parametrize("policy", view.POLICIES)
@pytest.mark.parametrize("number", [1, 3, 12, 40])
def test_a_round_is_the_round_and_its_reason_is_true(policy, number):
    state = {**STATE, "world": "the story", "policy": policy, "round": number}
    world, one, sure, shown, why = view.explain(state)
    chosen = view.chosen(state)[1][policy]
    rounds = races.play(world, chosen, view.TOKENS, 0).rounds
    assert one is rounds[shown - 1] and shown == min(number, len(rounds)) and len(sure) == len(one.drafted)
    page = view.round_html(state)
    assert in_page(page, "round_kept") == f"{one.accepted} of {len(one.drafted)} kept"
    assert page.count("sdl-chip sdl-s-") == len(one.drafted) + 1
    if policy == "confidence" and "stopped behind" in why:
        assert sure[-1] < 0.5 and all(x >= 0.5 for x in sure[:-1]) and f"{sure[-1]:.2f}." in why
    if policy == "fixed k":
        assert why == "Always 4 drafts, whatever they are."
    if policy in ("survival", "oracle") and "not above" in why:
        chance, price = map(float, re.findall(r"(\d\.\d\d),? not above the price (\d\.\d\d)", why)[0])
        assert chance <= price


def test_the_schedule_says_what_the_last_round_was():
    first = view.explain({**STATE, "policy": "+2 / −1", "round": 1})[4]
    second = view.explain({**STATE, "policy": "+2 / −1", "round": 2})[4]
    assert first == "It starts with 4 drafts."
    assert second.startswith("The 4 of the round before were all kept: two more, so 6 drafts")


def test_an_empty_and_a_last_round():
    assert view.explain({**STATE, "policy": "fixed k", "k": 0})[4] == "Always 0 drafts, whatever they are."
    lab = PolicyRaceLab(k=16, policy="fixed k", world="alike everywhere")
    lab.set(price=1.0, policy="survival")
    assert in_page(lab.views["round"].widget.children[0].value, "round_kept") == "0 of 0 kept"
    lab.close()


def test_the_end_of_the_text_is_called_one():
    world, _ = view.chosen(STATE)
    rounds = races.play(world, drafting.Fixed(16), view.TOKENS, 0).rounds
    why = view.explain({**STATE, "k": 16, "policy": "fixed k", "round": len(rounds)})[4]
    assert "text was nearly full" in why or len(rounds) > view.ROUNDS


def test_controls_reach_all_views(lab):
    before = lab.views["bars"].widget.children[0].value
    lab.k.source.value = 9
    after = lab.views["bars"].widget.children[0].value
    assert in_page(before, "speedup_fixed") != in_page(after, "speedup_fixed")
    assert in_page(before, "speedup_oracle") == in_page(after, "speedup_oracle")
    lab.policy.value = "fixed k"
    assert "Round 1 of fixed k" in lab.views["round"].widget.children[0].value
    lab.round.source.value = 2
    assert "Round 2 of fixed k" in lab.views["round"].widget.children[0].value
    lab.k.typed.value = 99
    assert lab.k.value == 16 and "99 was set to 16" in lab.views["numbers"].error.value


@pytest.mark.parametrize("world", view.WORLDS)
@pytest.mark.parametrize("c", view.COSTS)
def test_every_corner_of_the_controls_is_shown_without_error(lab, world, c):
    for k, threshold, price in ((0, 0.0, 0.0), (16, 1.0, 1.0)):
        lab.set(world=world, c=c, k=k, threshold=threshold, price=price, round=view.ROUNDS)
        for policy in view.POLICIES:
            lab.policy.value = policy
            assert [one.error.value for one in lab.views.values()] == ["", "", ""]


def test_sliders_of_the_race_wait_for_their_release_and_the_round_follows(lab):
    assert not any(control.source.continuous_update for control in (lab.k, lab.threshold, lab.price))
    assert lab.round.source.continuous_update


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"world": "moon"}, "world must be one of alike everywhere"),
        ({"c": 0.17}, "c must be one of 0.02, 0.05"),
        ({"policy": "luck"}, "policy must be one of fixed k"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PolicyRaceLab(**arguments)
