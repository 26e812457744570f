"""The race: its courses have the loop's law, its worlds the stated chances, its prophets their place."""

import numpy as np
import pytest

from specdec_lessons import drafting, evidence
from specdec_lessons import policy_race as races
from specdec_lessons.decoding import speculative_decode
from specdec_lessons.drafting import (
    AdditiveSchedule,
    ConfidenceThreshold,
    Fixed,
    Oracle,
    SurvivalProduct,
    chance_of,
)
from specdec_lessons.formulas import speedup
from specdec_lessons.models import TableModel

EXACT = 1e-12
TARGET, DRAFT = TableModel("xy", [[0.9, 0.1], [0.4, 0.6]]), TableModel("xy", [[0.8, 0.2], [0.55, 0.45]])
THREE = (TableModel("xyz", [[0.25, 0.25, 0.5], [0.6, 0.0, 0.4], [0.25, 0.6, 0.15]]),
         TableModel("xyz", [[0.75, 0.0, 0.25], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]]))


# -- the course -------------------------------------------------------------------------------------

@pytest.mark.parametrize("target, draft, n", [(TARGET, DRAFT, 5), (*THREE, 4)], ids=["2 words", "3 words"])
@pytest.mark.parametrize("name, policy", [
    ("fixed", lambda target, draft: Fixed(2)),
    ("confidence", lambda target, draft: ConfidenceThreshold(0.6, most=3)),
    ("schedule", lambda target, draft: AdditiveSchedule(start=2, most=3)),
    ("survival", lambda target, draft: SurvivalProduct(0.3, 0.7, most=3)),
    ("oracle", lambda target, draft: Oracle(chance_of(target, draft), 0.5, most=3)),
])
def test_text_passes_and_drafts_have_the_joint_law_of_the_loop(target, draft, n, name, policy):
    """Every path of both: the loop that drafts and judges, and the course that draws the text first."""
    world = races.World(name, target, draft, 1, (0,))
    policy = policy(target, draft)

    def by_course(rng):
        run = races.run_over(races.lay_course(world, n, rng), world, policy, rng)
        return shape(run)

    def by_loop(rng):
        return shape(speculative_decode(target, draft, [0], n, k=policy, rng=rng))

    def shape(run):
        return tuple((*r.drafted, "|", *r.emitted, r.last) for r in run.rounds)

    law, right = evidence.sequence_law(by_course), evidence.sequence_law(by_loop)
    assert law.keys() == right.keys() and len(right) > 50
    assert max(abs(law[key] - right[key]) for key in right) < EXACT


def test_control_a_course_with_the_wrong_law_is_caught():
    """Verdicts drawn with p/q instead of q/p: the text is right, the rounds are not."""
    world = races.World("wrong", TARGET, DRAFT, 1, (0,))
    for context in ((0,), (1,)):
        place = world.at(context)
        place.kept[:] = [min(1, x) for x in (TARGET.next_probs(context) / DRAFT.next_probs(context))]

    def passes(run):
        return (run.passes if hasattr(run, "passes") else run.target_passes,)

    def over(rng):
        return passes(races.run_over(races.lay_course(world, 4, rng), world, Fixed(2), rng))

    law = evidence.sequence_law(over)
    right = evidence.sequence_law(lambda rng: passes(speculative_decode(TARGET, DRAFT, [0], 4, k=2, rng=rng)))
    assert max(abs(law[key] - right[key]) for key in right) > 0.01


def test_all_policies_run_over_the_same_text():
    world = races.story_world()
    runs = [races.play(world, policy, 80, 3) for policy in (Fixed(0), Fixed(5), AdditiveSchedule())]
    texts = {tuple(t for r in run.rounds for t in r.emitted) for run in runs}
    assert texts == {races.course_of(world, 80, 3).tokens}
    for run in runs:
        assert run.tokens == 80 == run.passes + run.accepted
        assert len(run.verdicts) == sum(min(len(r.drafted), r.accepted + 1) for r in run.rounds)
        assert sum(run.verdicts) == run.accepted
    assert runs[0].passes == 80 and runs[0].drafted == 0


# -- the worlds -------------------------------------------------------------------------------------

@pytest.mark.parametrize("a", [0.1, 0.5, 0.8, 1.0])
def test_iid_world_has_one_chance_and_one_confidence(a):
    world = races.iid_world(a)
    places = races.course_of(world, 200, 0).places
    assert {round(place.chance, 12) for place in places} == {a}
    assert len({place.confidence for place in places}) == 1


@pytest.mark.parametrize("easy, hard, stay", [(0.95, 0.3, 0.95), (0.9, 0.5, 0.8), (1.0, 0.0, 0.5)])
def test_two_state_world_has_its_chances_and_stretches(easy, hard, stay):
    world = races.two_state_world(easy, hard, stay)
    for token in range(20):
        p, q = world.target.next_probs((token,)), world.draft.next_probs((token,))
        assert np.minimum(p, q).sum() == pytest.approx(easy if token < 10 else hard)
        assert p[:10].sum() == pytest.approx(stay if token < 10 else 1 - stay)
        assert q[:10].sum() == pytest.approx(p[:10].sum())
    assert world.at((0,)).confidence > world.at((10,)).confidence


@pytest.mark.parametrize("name", races.WORLDS)
def test_drafts_are_kept_as_often_as_the_chances_say(name):
    world = races.WORLDS[name]()
    courses = [races.course_of(world, 600, seed) for seed in range(20)]
    kept = np.array([k for course in courses for k in course.kept], dtype=float)
    chance = np.array([place.chance for course in courses for place in course.places])
    spread = np.sqrt((chance * (1 - chance)).sum())
    assert abs((kept - chance).sum()) < 4.5 * spread


def two_state_tokens_per_pass(easy, hard, stay, k):
    """Exact, from the two kinds at the start of a round: its tokens, and where the next starts."""
    a, move = (easy, hard), ((stay, 1 - stay), (1 - stay, stay))

    def one_round(kind, drafts):
        """[(probability, tokens, kind after them)]"""
        if drafts == 0:
            return [(move[kind][after], 1, after) for after in (0, 1)]
        missed = [((1 - a[kind]) * move[kind][after], 1, after) for after in (0, 1)]
        return missed + [(a[kind] * move[kind][after] * chance, 1 + tokens, end)
                         for after in (0, 1) for chance, tokens, end in one_round(after, drafts - 1)]

    rounds = [one_round(kind, k) for kind in (0, 1)]
    tokens = [sum(chance * n for chance, n, _ in one) for one in rounds]
    to_easy = [sum(chance for chance, _, end in one if end == 0) for one in rounds]
    share = to_easy[1] / (1 - to_easy[0] + to_easy[1])  # of rounds that start on an easy position
    return share * tokens[0] + (1 - share) * tokens[1]


@pytest.mark.parametrize("k", [1, 3, 6])
def test_fixed_lengths_on_stretches_against_the_exact_value(k):
    world = races.two_state_world()
    runs = [races.play(world, Fixed(k), 4000, seed) for seed in range(12)]
    found = races.interval([run.tokens / run.passes for run in runs])
    exact = two_state_tokens_per_pass(0.95, 0.3, 0.95, k)
    assert abs(found.mean - exact) < 4.4 / 2.2 * (found.high - found.mean)  # 4.4 standard errors


@pytest.mark.parametrize("k", [2, 6, 12])
def test_fixed_lengths_where_all_is_alike_against_the_formula(k):
    found = races.race(races.iid_world(0.8), {"k": k}, 0.1, seeds=range(30), n_tokens=1000)[0].speedup
    assert abs(found.mean - speedup(0.8, k, 0.1)) < 2.2 * (found.high - found.mean)


# -- the prophets -----------------------------------------------------------------------------------

@pytest.mark.parametrize("name", races.WORLDS)
@pytest.mark.parametrize("c", [0.05, 0.3])
def test_nobody_beats_the_clairvoyant_on_any_text(name, c):
    world = races.WORLDS[name]()
    ceiling = races.clairvoyant(world, c, range(8), 300)
    policies = {str(k): k for k in (0, 1, 2, 4, 8, 16)} | {
        "+2": AdditiveSchedule(), "sure": ConfidenceThreshold(0.3), "oracle": races.stored_oracle(name, c)}
    for one in races.race(world, policies, c, range(8), 300):
        assert np.all(np.array(one.speedups) <= np.array(ceiling.speedups) + EXACT), one.name


@pytest.mark.parametrize("a, c, value", [
    (0.8, 0.1, 1 / 0.28), (0.9, 0.05, 1 / 0.145), (0.5, 0.0, 2.0), (0.7, 2.0, 1.0),
    (1.0, 0.1, 10.0), (0.0, 0.1, 1.0)])
def test_clairvoyant_by_hand(a, c, value):
    assert races.clairvoyant_speedup(a, c) == pytest.approx(value)


def test_the_paying_price_where_all_is_alike_is_c_times_s():
    world = races.iid_world(0.8)
    policy = races.pay_its_way(world, lambda price: SurvivalProduct(price, 0.8, lambda row: 0.8), 0.1)
    assert policy.price == pytest.approx(0.1 * speedup(0.8, 6, 0.1), rel=0.03)
    assert sum(policy.draft_more((), (0,) * k, (None,) * k) for k in range(16)) == 6
    assert races.best_of(world, [Fixed(k) for k in range(17)], 0.1).k in (5, 6, 7)


def test_the_stored_oracle_is_the_one_that_is_found():
    found = races.local_oracle(races.two_state_world(), 0.1)
    stored = races.stored_oracle("two-state", 0.1)
    assert stored.price.prices == pytest.approx(found.price.prices, abs=1e-3)
    drafted = [races.play(races.two_state_world(), oracle).drafted for oracle in (found, stored)]
    assert drafted[0] == drafted[1]


def test_prices_follow_the_pace_of_the_place():
    """c·S of each kind of stretch, if it went on for ever: 0.118 and 0.448; the real ones end."""
    hard, easy = races.stored_oracle("two-state", 0.1).price.prices
    assert 0.1 * speedup(0.3, 1, 0.1) < hard < 0.19 < easy < 0.1 * speedup(0.95, 15, 0.1)


@pytest.mark.parametrize("name", ["iid", "two-state"])
def test_no_policy_of_the_field_beats_the_oracle_by_more_than_chance(name):
    world = races.WORLDS[name]()
    results = races.race(world, races.field_of(world, 0.1), 0.1)
    for one in results[:-1]:
        assert one.share_of(results[-1]).low <= 1.001, one.name


def test_adapting_pays_on_stretches_and_not_where_all_is_alike():
    for name, low, high in (("iid", 0.7, 0.85), ("two-state", 1.1, 1.3)):
        world = races.WORLDS[name]()
        field = races.field_of(world, 0.1)
        fixed, sure = races.race(world, {key: field[key] for key in ("best fixed k", "confidence")}, 0.1)
        gain = sure.share_of(fixed)
        assert low < gain.low and gain.high < high, name


# -- bad input --------------------------------------------------------------------------------------

@pytest.mark.parametrize("make, message", [
    (lambda: races.race(races.iid_world(), {}, 0.1), "policies must map names to policies"),
    (lambda: races.race(races.iid_world(), {"x": 2}, -1), "c must be finite and at least 0"),
    (lambda: races.race(races.iid_world(), {"x": 2.5}, 0.1), "k must be a whole number"),
    (lambda: races.interval([1.0]), "values must be at least two numbers"),
    (lambda: races.clairvoyant_speedup(1.0, 0.0), "a must be below 1"),
    (lambda: races.clairvoyant_speedup(1.2, 0.1), r"a must lie in \[0, 1\], got 1.2"),
    (lambda: races.two_state_world(easy=1.5), r"easy must lie in \[0, 1\], got 1.5"),
    (lambda: races.stored_oracle("two-state", 0.17), "c must be one of 0.02, 0.05, 0.1, 0.2, 0.3"),
    (lambda: races.stored_oracle("moon", 0.1), "in one of iid, two-state, story, got 0.1 in 'moon'"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_default_lengths_are_those_of_the_policies():
    assert max(p.most for p in (drafting.ConfidenceThreshold(0.5), AdditiveSchedule())) == drafting.LONGEST
