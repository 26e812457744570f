"""Lesson 6: its loop is exact, its numbers fit one another and the formulas; figures."""

import re
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import evidence, figures, models, publish, race, rejection
from specdec_lessons.decoding import Round, speculative_decode, token_at
from specdec_lessons.exercises import lesson06
from specdec_lessons.race import Race

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "06_the_full_loop.ipynb"


@pytest.fixture(scope="module")
def cells():
    return [cell for cell in publish.read(NOTEBOOK).cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def printed(cells):
    """What the one cell whose source holds a given text has printed."""

    def find(source):
        found = [cell for cell in cells if source in cell.source]
        assert len(found) == 1, f"{len(found)} cells hold {source!r}"
        return "".join(output.get("text", "") for output in found[0].outputs)

    return find


@pytest.fixture(scope="module")
def the_loop(cells):
    source, = (cell.source for cell in cells if "def the_loop" in cell.source)
    assert len(source.splitlines()) <= 15
    names = {"token_at": token_at, "residual": rejection.residual}
    exec(source, names)
    return names["the_loop"]


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+|\d+", text)]


def geometric(a, k):
    return sum(a**i for i in range(k + 1))


# -- the loop of the notebook -------------------------------------------------------------------------

WORDS = ["cat", "dog", "owl"]
TARGET = models.TableModel(
    WORDS, [[0.1, 0.3, 0.6], [0.5, 0.1, 0.4], [0.3, 0.6, 0.1]], start=[0.25, 0.25, 0.5])
DRAFT = models.TableModel(
    WORDS, [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], start=[0.75, 0.125, 0.125])


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_loop_has_the_targets_exact_law(the_loop, k):
    """Every path through the notebook's own lines, against the chain rule."""
    right = evidence.chain_rule_law(TARGET, [], 3)
    law = evidence.sequence_law(lambda rng: the_loop(TARGET, DRAFT, (), 3, k, rng))
    assert law == pytest.approx(right, abs=1e-12)


def test_control_a_loop_that_resamples_from_p_is_seen(cells):
    source, = (cell.source for cell in cells if "def the_loop" in cell.source)
    names = {"token_at": token_at, "residual": lambda p, q: p}
    exec(source, names)
    law = evidence.sequence_law(lambda rng: names["the_loop"](TARGET, DRAFT, (), 3, 2, rng))
    right = evidence.chain_rule_law(TARGET, [], 3)
    assert max(abs(law[text] - right[text]) for text in right) > 0.01


@pytest.mark.parametrize("n_tokens", [0, 1, 7, 24])
def test_the_loop_writes_what_the_package_writes(the_loop, n_tokens):
    for seed in range(20):
        mine = the_loop(TARGET, DRAFT, (1,), n_tokens, 4, np.random.default_rng(seed))
        theirs = speculative_decode(TARGET, DRAFT, (1,), n_tokens, 4, np.random.default_rng(seed))
        assert mine == theirs.tokens


def test_the_same_tokens_on_the_real_pair(printed):
    assert printed("mine = the_loop").startswith("the same tokens: True")


# -- what the lesson prints ---------------------------------------------------------------------------

def test_a_word_that_returns_is_harder_than_a_new_one(printed):
    rows = {line[:16].strip(): numbers(line[16:]) for line in printed("for name, rows in found").splitlines()}
    (_, sure_new, kept_new), (_, sure_back, kept_back) = rows["chosen, new"], rows["chosen, returns"]
    assert sure_new < 0.4 and kept_new > 0.7, "unsure, and yet kept"
    assert sure_back > 0.8 and kept_back < 0.4, "sure, and yet rejected"
    assert rows["all other words"][2] > 0.9


def test_acceptance_and_expected_tokens(printed):
    lines = printed('traces = {"aligned"').splitlines()
    for counts, *both in zip(lines[::3], lines[1::3], lines[2::3]):
        accepted, judged, a, low, high = numbers(counts)
        assert a == pytest.approx(accepted / judged, abs=6e-4) and low < a < high
        deviation = (a * (1 - a) / judged) ** 0.5
        assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
        (a_all, formula, counted), (a_full, formula_full, counted_full) = map(numbers, both)
        assert a_all == a and formula == pytest.approx(geometric(a, 6), abs=0.015)
        assert formula_full == pytest.approx(geometric(a_full, 6), abs=0.015)
        assert 0 < formula_full / counted_full - 1 < 0.02, "lesson 3.6: the rate flatters, here by little"
        assert counted < counted_full and formula / counted > formula_full / counted_full


def test_acceptance_depends_on_text_and_temperature(printed):
    warm, cold, odd = map(numbers, (line.split("aligned")[1] for line in printed("odd = [").splitlines()))
    assert cold[0] > warm[0] > odd[0] + 0.03 and cold[1] > warm[1] > odd[1]


def test_prediction_from_three_measured_numbers(printed):
    step, per_second, c, v, positions, _ = numbers(printed("costs = race.measure_costs"))
    assert per_second == pytest.approx(1000 / step, rel=0.02) and positions == 5
    E, _, cost, S = numbers(printed("S = formulas.expected_tokens"))
    assert cost == pytest.approx(v + 4 * c, abs=0.03) and S == pytest.approx(E / cost, abs=0.02)


def test_every_row_of_the_race_obeys_the_formulas(printed):
    rows = [numbers(line) for line in printed("race.race_table(several)").splitlines() if re.match(r" *\d", line)]
    assert len(rows) == 7
    for k, a, c, v, formula, counted, predicted, measured, _ in rows:
        assert formula == pytest.approx(geometric(a, int(k)), rel=0.06)
        assert predicted == pytest.approx(formula / (v + k * c), rel=0.08)
        assert 1 <= counted <= k + 1 and measured > 0


@pytest.mark.parametrize("done, shown", [((), []), (("aligned",), ["aligned"])])
def test_after_an_interrupt_the_finished_races_are_shown(cells, capsys, done, shown):
    one = Race(2, 100, 1.0, 0.5, 40, 0.8, 0.1, 1.2)
    names = {"races": {name: [one] * (name in done) for name in ("aligned", "weak", "n-gram")},
             "race": race, "figures": figures}
    for cell in cells:
        if cell.source.startswith("finished =") or "predicted_and_measured(finished)" in cell.source:
            exec(cell.source, names)
    assert list(names["finished"]) == shown
    assert [line for line in capsys.readouterr().out.splitlines() if line.isalpha()] == shown


def test_the_target_as_its_own_draft_gains_nothing(printed):
    rows = [numbers(line) for line in printed("formulas.expected_tokens(1.0, k)").splitlines()]
    assert [row[0] for row in rows] == [1, 2, 4, 8]
    for k, E, free, dear, v in rows:
        assert (E, free, v) == (k + 1, 1.0, 1.5) and dear == pytest.approx((k + 1) / (k + 1.5), abs=0.005)


def test_the_two_factors_of_the_gap_multiply_to_it(printed):
    quotient, tokens, steps = numbers(printed("tokens = one.tokens_per_pass / one.expected"))
    assert tokens * steps == pytest.approx(quotient, abs=0.02)


def test_the_right_rule_passes_and_the_wrong_one_is_caught(printed):
    right, wrong, aligned = printed("law = evidence.chain_rule_law").splitlines()
    assert numbers(right)[-1] > 1e-3 and wrong.endswith("WRONG")
    assert "p-value" in aligned, "with a good draft the fault slips through this small test"


def test_greedy_texts_are_the_same(printed):
    lines = printed("exact = pair.load_pair").splitlines()
    assert len(lines) == 5 and all("the same text: True" in line for line in lines)
    assert all(numbers(line)[1] < numbers(line)[2] for line in lines), "fewer passes with the aligned draft"


def test_the_end_inside_a_draft(printed):
    drafted, emitted, guess = printed('encode(target, "¶")').splitlines()
    words = drafted.removeprefix("drafted: ").split()
    assert words.index("¶") == 2 and len(words) == 6
    assert emitted == "emitted: " + " ".join(words[:3]) + " (stopped)" and guess.endswith("it is 3 tokens.")


def test_never_past_what_is_wanted(printed):
    wanted = 8
    for line in printed("eight = speculative").splitlines():
        left, drafts, emits = map(int, numbers(line))
        assert left == wanted and drafts == min(4, left - 1) and emits <= drafts + 1
        wanted -= emits
    assert wanted == 0 and drafts < 4


def test_positions_that_the_draft_reads(printed):
    lines = printed("short = speculative_decode").splitlines()
    for line in lines:
        reads = [int(number) for number in re.search(r"\[(.*)\]", line)[1].split(",")]
        assert reads == [2 if "full accept" in line else 1] + [1] * (len(reads) - 1)
    assert any("full accept" in line for line in lines) and any("rejection" in line for line in lines)


def test_bad_input_in_one_line_each(printed):
    lines = printed("for bad in").splitlines()
    assert len(lines) == 4 and "got 'laptop'" in lines[0] and lines[3] == "no tokens wanted: 0 passes"


def test_longer_drafts_waste_more(printed):
    rows = [numbers(line) for line in printed("drafted = sum(one.draft_steps").splitlines()]
    for k, _, tokens, drafted, wasted in rows:
        assert wasted == pytest.approx(drafted - (tokens - 1), abs=0.02) and drafted <= k
    assert [row[4] for row in rows] == sorted(row[4] for row in rows)


def test_the_weak_draft_is_no_match_even_for_nothing(printed):
    rows = [numbers(line.split("c = ")[1]) for line in printed("best_draft_length(rate").splitlines()[:3]]
    (_, _, aligned, _), (_, _, weak, _), (_, _, free, ceiling) = rows
    a = numbers(printed('traces = {"aligned"').splitlines()[3])[0:2]
    assert ceiling == pytest.approx(1 / (1 - a[0] / a[1]), abs=0.01)
    assert weak < free < ceiling < aligned


# -- exercises ----------------------------------------------------------------------------------------

def test_one_round_agrees_with_the_package():
    """The exercise's reference against what speculative_decode does with the same coins."""
    for seed in range(200):
        trace = speculative_decode(TARGET, DRAFT, (0,), 6, 3, np.random.default_rng(seed), eos=2)
        for one in trace.rounds:
            if one.last == "stopped" or not one.drafted:
                continue
            ratios = [min(1.0, judged.p / judged.q) for judged in one.judged]
            coins = [judged.coin for judged in one.judged]
            own = [None] * len(one.drafted) + [None]
            own[one.accepted] = one.emitted[-1]
            got = lesson06.one_round.reference(list(one.drafted), ratios, coins, own, 2)
            assert got == list(one.emitted)


@pytest.mark.parametrize("n, k", [(1, 5), (8, 4), (10, 4), (11, 4), (23, 3), (4, 0)])
def test_draft_lengths_are_those_of_a_perfect_draft(n, k):
    trace = speculative_decode(TARGET, TARGET, (0,), n, k, np.random.default_rng(0))
    assert lesson06.draft_lengths.reference(n, k) == [len(one.drafted) for one in trace.rounds]


def test_predicted_speedup_by_hand():
    # a = 1/2, k = 1: E = 3/2; c = 1/2, v = 3/2: S = 3/4
    assert lesson06.predicted_speedup.reference(2.0, 1.0, 3.0, 5, 10, 1) == pytest.approx(3 / 4)


# -- figures and the bar ------------------------------------------------------------------------------

def test_trace_in_words_tells_each_fate():
    trace = speculative_decode(TARGET, DRAFT, (0,), 12, 3, np.random.default_rng(1))
    alt = figures.trace_in_words(trace.rounds, WORDS).alt
    rejected = sum(one.last == "correction" for one in trace.rounds)
    assert alt.count("✗") == alt.count("↺") == rejected > 0
    assert alt.count("★") == sum(one.last == "bonus" for one in trace.rounds)
    assert alt.count("–") == sum(len(one.drafted) - len(one.judged) for one in trace.rounds)


def test_an_end_inside_a_draft_discards_what_is_behind_it():
    trace = speculative_decode(TARGET, TARGET, (0,), 12, 5, np.random.default_rng(3), eos=1)
    last = trace.rounds[-1]
    assert last.last == "stopped" and len(last.drafted) > last.accepted
    alt = figures.trace_in_words([last], WORDS).alt
    assert alt.count("–") == len(last.drafted) - last.accepted and "✗" not in alt


@pytest.mark.parametrize("call, message", [
    (lambda: figures.trace_in_words([], WORDS), "rounds must hold 1 to 12 rounds"),
    (lambda: figures.trace_in_words([Round((0,) * 9, 0, (1,), "correction")], WORDS), "at most 8 drafts"),
    (lambda: figures.agreement_along(["a"], [0.5, 0.5]), "overlaps must be one number for each"),
    (lambda: figures.agreement_along(["a"], [1.5]), "overlaps must lie in [0, 1]"),
    (lambda: figures.acceptance_by_place({}, 2), "counts must hold a list of k = 2 pairs"),
    (lambda: figures.acceptance_by_place({"a": [(1, 2)]}, 2), "counts must hold a list of k = 2 pairs"),
    (lambda: figures.predicted_and_measured({"a": []}), "races must hold at least one race"),
])
def test_figures_refuse_what_they_cannot_draw(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)


def test_predicted_and_measured_draws_a_mark_for_each_race():
    races = {"aligned": [Race(k, 100, 1.0, 0.5, 40, 0.8, 0.1, 1.2) for k in (1, 2, 4)]}
    fig = figures.predicted_and_measured(races)
    marks = [line for line in fig.axes[0].lines if line.get_marker() == "o"]
    assert [list(line.get_ydata()) for line in marks] == [[2.0, 2.0, 2.0]]
