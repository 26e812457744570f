"""The loop: exact by enumeration of every path, greedy at temperature 0, honest in its trace."""

import math

import numpy as np
import pytest

from specdec_lessons import decoding, evidence
from specdec_lessons.decoding import Round, Trace, decode, speculative_decode, with_temperature
from specdec_lessons.models import MixtureModel, NgramModel, TableModel, ToyModel, story_model
from specdec_lessons.wrong_rules import WRONG_RULES

EXACT = 1e-12


def random_rows(rng, *shape, zeros=0.0):
    rows = rng.exponential(size=shape)
    rows *= rng.random(shape) >= zeros
    rows[..., -1] += (rows.sum(-1) == 0) * 1.0
    return rows / rows.sum(-1, keepdims=True)


def random_model(rng, size, zeros=0.0):
    rows = random_rows(rng, size, size, zeros=zeros)
    return TableModel(range(size), rows, random_rows(rng, size, zeros=zeros))


class PastModel(ToyModel):
    """A model whose next token depends on the whole context: an own random row for each."""

    def __init__(self, size, seed):
        super().__init__(range(size))
        self.seed, self.rows = seed, {}

    def next_probs(self, context):
        if context not in self.rows:
            rng = np.random.default_rng([self.seed, *context, len(context)])
            self.rows[context] = random_rows(rng, len(self.vocabulary))
        return self.rows[context]


class Warped(ToyModel):
    """Another model seen through a temperature of its own, or through its likeliest tokens alone."""

    def __init__(self, model, temperature=1.0, top=None):
        super().__init__(model.vocabulary)
        self.model, self.temperature, self.top = model, temperature, top

    def next_probs(self, context):
        probs = with_temperature(self.model.next_probs(context), self.temperature)
        if self.top is not None:
            probs = np.where(np.argsort(np.argsort(-probs, kind="stable")) < self.top, probs, 0)
        return probs / probs.sum()


def warped(probs, temperature):
    """probs^(1/T), normalised; written with the plain power, not with logarithms as in the package."""
    if temperature == 0:
        first = list(probs).index(max(probs))
        return [float(i == first) for i in range(len(probs))]
    powers = [x ** (1 / temperature) for x in probs]
    return [x / math.fsum(powers) for x in powers]


def right_law(model, prompt, n_tokens, temperature=1.0, eos=None):
    """The chain rule, with a text that ends at ``eos``."""
    law, finished = {(): 1.0}, {}
    for _ in range(n_tokens):
        longer = {}
        for text, chance in law.items():
            for token, p in enumerate(warped(model.next_probs((*prompt, *text)).tolist(), temperature)):
                if p > 0:
                    (finished if token == eos else longer)[(*text, token)] = chance * p
        law = longer
    return law | finished


def distance(one, other):
    return max(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in one.keys() | other.keys())


TARGET = TableModel("xyz", [[0.25, 0.25, 0.5], [0.6, 0.1, 0.3], [0.25, 0.6, 0.15]])
DRAFT = TableModel("xyz", [[0.75, 0.125, 0.125], [0.2, 0.7, 0.1], [0.125, 0.125, 0.75]])


# -- exactness, by enumeration ----------------------------------------------------------------------

def table_pairs():
    rng = np.random.default_rng(42)
    for size in (2, 3):
        for zeros in (0.0, 0.0, 0.5, 0.5):
            yield random_model(rng, size, zeros), random_model(rng, size, zeros)


PAIRS = list(table_pairs())
LENGTH = {2: {0: 4, 1: 4, 2: 5, 3: 5}, 3: {0: 3, 1: 3, 2: 4, 3: 4}}  # two rounds or more


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_every_path_of_the_loop_adds_up_to_the_targets_law(number, k):
    target, draft = PAIRS[number]
    n = LENGTH[len(target.vocabulary)][k]
    law = evidence.sequence_law(speculative_decode, target, draft, [0], n, k=k)
    assert distance(law, right_law(target, [0], n)) < EXACT
    assert distance(law, evidence.chain_rule_law(target, [0], n)) < EXACT


@pytest.mark.parametrize("temperature", [0, 0.3, 1, 2])
@pytest.mark.parametrize("number", [0, 2, 4, 6])
def test_at_every_temperature(number, temperature):
    target, draft = PAIRS[number]
    law = evidence.sequence_law(speculative_decode, target, draft, [], 4, k=2, temperature=temperature)
    assert distance(law, right_law(target, [], 4, temperature)) < EXACT


@pytest.mark.parametrize("eos", [0, 1])
@pytest.mark.parametrize("number, k", [(0, 3), (3, 2), (4, 2), (6, 3)])
def test_with_an_end_of_sequence(number, k, eos):
    target, draft = PAIRS[number]
    for temperature in (0.3, 1):
        law = evidence.sequence_law(speculative_decode, target, draft, [1], 4, k=k, eos=eos,
                                    temperature=temperature)
        assert distance(law, right_law(target, [1], 4, temperature, eos)) < EXACT


@pytest.mark.parametrize("warp", [
    dict(temperature=0), dict(temperature=0.4), dict(temperature=3), dict(top=1), dict(top=2)], ids=str)
def test_a_warp_of_the_draft_alone_is_still_exact(warp):
    """Exact because q is what was really drawn from; temperature 0 and top 1 make a greedy draft."""
    target, draft = PAIRS[4]
    law = evidence.sequence_law(speculative_decode, target, Warped(draft, **warp), [0], 4, k=2)
    assert distance(law, right_law(target, [0], 4)) < EXACT
    greedy_law = evidence.sequence_law(speculative_decode, Warped(target, **warp), draft, [0], 4, k=2)
    assert distance(greedy_law, right_law(Warped(target, **warp), [0], 4)) < EXACT


def test_models_that_see_the_whole_context():
    """A loop that scored a draft after the wrong context would be right on tables of one last token only."""
    for size, n, k in ((2, 4, 3), (3, 3, 2)):
        target, draft = PastModel(size, 1), PastModel(size, 2)
        law = evidence.sequence_law(speculative_decode, target, draft, [1, 0], n, k=k)
        assert distance(law, right_law(target, [1, 0], n)) < EXACT


@pytest.mark.parametrize("p, q", [([0, 1], [1, 0]), ([0.5, 0.5], [0.5, 0.5]), ([1, 0, 0], [0, 0.5, 0.5]),
                                  ([0.5, 0.5, 0], [0.5, 0.5, 0]), ([0.25, 0.25, 0.5], [0.75, 0.125, 0.125])])
def test_disjoint_equal_and_one_hot_rows(p, q):
    target, draft = TableModel(range(len(p)), p), TableModel(range(len(p)), q)
    law = evidence.sequence_law(speculative_decode, target, draft, [], 4, k=2)
    assert distance(law, right_law(target, [], 4)) < EXACT


def test_a_policy_that_looks_at_the_draft_and_the_past_is_still_exact():
    class Confident:
        def draft_more(self, past, drafted, rows):
            wanted = 3 if past and past[-1].last == "bonus" else 2
            return len(drafted) < wanted and (not rows or rows[-1][drafted[-1]] > 0.5)

    target, draft = PAIRS[0]
    law = evidence.sequence_law(speculative_decode, target, draft, [0], 5, k=Confident())
    assert distance(law, right_law(target, [0], 5)) < EXACT


@pytest.mark.parametrize("name", WRONG_RULES)
@pytest.mark.parametrize("pair, n, k", [
    ((TARGET, DRAFT), 3, 2), (PAIRS[0], 4, 3), (PAIRS[2], 4, 3)], ids="abc")
def test_the_enumeration_catches_every_wrong_rule(name, pair, n, k):
    """Negative control of all of the above."""
    target, draft = pair
    law = evidence.sequence_law(speculative_decode, target, draft, [0], n, k=k, verify=WRONG_RULES[name])
    assert sum(law.values()) == pytest.approx(1, abs=EXACT)
    difference = distance(law, right_law(target, [0], n))
    if name == "reuse the coin" and len(target.vocabulary) == 2:
        assert difference < EXACT  # of two tokens only one can have a deficit: there is nothing to draw
    else:
        assert difference > 1e-3


def test_plain_decoding_by_enumeration():
    for target, _ in PAIRS:
        law = evidence.sequence_law(decode, target, [0], 4, temperature=0.7, eos=1)
        assert distance(law, right_law(target, [0], 4, 0.7, 1)) < EXACT


# -- exactness, by chi-square -----------------------------------------------------------------------

FALSE_ALARM = 1e-9
N = 2500


def texts(rule=decoding.verify, target=TARGET, draft=DRAFT, n_tokens=3, k=3, n=N, seed=1):
    rng = np.random.default_rng(seed)
    return [speculative_decode(target, draft, [0], n_tokens, k=k, rng=rng, verify=rule).tokens
            for _ in range(n)]


def test_the_joint_law_of_three_tokens_by_chi_square():
    result = evidence.joint_chi_square(texts(), right_law(TARGET, [0], 3))
    assert result.p_value > FALSE_ALARM and result.dof >= 20 and result.n == N


@pytest.mark.parametrize("name", WRONG_RULES)
def test_the_very_same_chi_square_rejects_every_wrong_rule(name):
    result = evidence.joint_chi_square(texts(WRONG_RULES[name]), right_law(TARGET, [0], 3))
    assert result.p_value < FALSE_ALARM


def test_plain_decoding_passes_the_same_test():
    rng = np.random.default_rng(2)
    plain = [decode(TARGET, [0], 3, rng).tokens for _ in range(N)]
    assert evidence.joint_chi_square(plain, right_law(TARGET, [0], 3)).p_value > FALSE_ALARM


def test_one_coin_for_all_positions_is_invisible_in_single_tokens():
    """The first token of every pass has the right law; the joint law of three tokens has not."""
    p, q = [0.6, 0.4], [0.8, 0.2]
    target, draft = TableModel("xy", p), TableModel("xy", q)
    seen = texts(WRONG_RULES["one coin for all positions"], target, draft)
    first = evidence.joint_chi_square([text[:1] for text in seen], {(0,): 0.6, (1,): 0.4})
    joint = evidence.joint_chi_square(seen, right_law(target, [], 3))
    assert first.p_value > FALSE_ALARM > joint.p_value


def test_one_coin_for_all_positions_can_even_hide_at_every_position():
    """A fair coin as target, a draft that likes to repeat: by symmetry each token alone is fair, exactly."""
    target = TableModel("xy", [0.5, 0.5])
    draft = TableModel("xy", [[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5])
    rule = WRONG_RULES["one coin for all positions"]
    law = evidence.sequence_law(speculative_decode, target, draft, [], 4, k=3, verify=rule)
    for position in range(4):
        alone = sum(chance for text, chance in law.items() if text[position] == 0)
        assert alone == pytest.approx(0.5, abs=EXACT)
    assert distance(law, right_law(target, [], 4)) > 0.01

    rng = np.random.default_rng(3)
    seen = [speculative_decode(target, draft, [], 4, k=3, rng=rng, verify=rule).tokens for _ in range(N)]
    fair = {(0,): 0.5, (1,): 0.5}
    assert all(evidence.joint_chi_square([text[i:i + 1] for text in seen], fair).p_value > FALSE_ALARM
               for i in range(4))
    assert evidence.joint_chi_square(seen, right_law(target, [], 4)).p_value < FALSE_ALARM


# -- greedy -----------------------------------------------------------------------------------------

def model_with_ties(rng, size):
    rows = rng.integers(0, 3, (size, size)).astype(float)
    rows[np.arange(size), rng.integers(0, size, size)] += 2
    return TableModel(range(size), rows / rows.sum(1, keepdims=True))


@pytest.mark.parametrize("seed", range(20))
def test_greedy_texts_are_those_of_plain_decoding_ties_included(seed):
    rng = np.random.default_rng(seed)
    tied = 0
    for _ in range(15):
        size, k, n = int(rng.integers(2, 9)), int(rng.integers(0, 6)), int(rng.integers(0, 15))
        target, draft = model_with_ties(rng, size), model_with_ties(rng, size)
        eos = [None, 0, size - 1][rng.integers(3)]
        plain = decode(target, [1], n, rng, temperature=0, eos=eos)
        trace = speculative_decode(target, draft, [1], n, k, rng, temperature=0, eos=eos)
        assert trace.tokens == plain.tokens
        tied += sum(np.sum(row == row.max()) > 1 for row in target.score([0], range(size)))
    assert tied > 0


def test_greedy_takes_the_first_of_equals():
    model = TableModel("xyz", [0.2, 0.4, 0.4])
    assert decode(model, [], 3, temperature=0).tokens == (1, 1, 1)
    assert speculative_decode(model, model, [], 3, temperature=0).tokens == (1, 1, 1)


def test_greedy_on_the_story_with_a_draft_that_reads_less():
    target = story_model()
    draft = NgramModel(target.vocabulary, range(len(target.vocabulary)), 1, 1.0)
    draft = MixtureModel(target, draft, 0.6)
    plain = decode(target, [3], 60, temperature=0)
    for k in (0, 1, 4, 20):
        trace = speculative_decode(target, draft, [3], 60, k=k, temperature=0)
        assert trace.tokens == plain.tokens
        assert trace.target_passes <= plain.target_passes == 60


def test_a_tiny_temperature_is_greedy_where_there_is_no_tie_and_never_fails():
    rng = np.random.default_rng(1)
    target, draft = random_model(rng, 5, 0.3), random_model(rng, 5, 0.3)
    for temperature in (1e-3, 1e-9, 1e-300, 5e-324):
        trace = speculative_decode(target, draft, [0], 12, rng=rng, temperature=temperature)
        assert trace.tokens == decode(target, [0], 12, temperature=0).tokens


@pytest.mark.parametrize("temperature", [0, 1e-320, 0.01, 0.5, 1, 7, 1e6, 1e308])
def test_a_temperature_keeps_zeros_and_the_order(temperature):
    probs = np.array([0.1, 0.0, 0.5, 0.4])
    got = with_temperature(probs, temperature)
    assert got.sum() == pytest.approx(1, abs=1e-14) and got[1] == 0
    assert got[2] >= got[3] >= got[0] >= 0
    right = warped(probs.tolist(), temperature if temperature >= 0.01 else 0)
    assert np.allclose(got, right, rtol=0, atol=1e-12)


# -- what the trace says ----------------------------------------------------------------------------

def check_trace(trace, n_tokens, k, eos=None):
    emitted = 0
    for number, r in enumerate(trace.rounds):
        last_round = number == len(trace.rounds) - 1
        assert len(r.drafted) <= min(k, n_tokens - emitted - 1)
        assert r.emitted[:r.accepted] == r.drafted[:r.accepted]
        assert [one.token for one in r.judged] == list(r.drafted[:len(r.judged)])
        verdicts = [one.accepted for one in r.judged]
        assert verdicts == [True] * r.accepted + [False] * (len(r.judged) - r.accepted)
        for one in r.judged:
            assert one.accepted == (one.coin < one.p / one.q) and one.q > 0 and type(one.coin) is float
        if r.last == "correction":
            assert len(r.judged) == r.accepted + 1 and len(r.emitted) == r.accepted + 1
        elif r.last == "bonus":
            assert r.accepted == len(r.drafted) == len(r.judged) and len(r.emitted) == r.accepted + 1
        else:
            assert r.last == "stopped" and r.emitted[-1] == eos
            assert len(r.emitted) == r.accepted == len(r.judged)
        assert eos not in r.emitted[:-1] and (last_round or r.emitted[-1] != eos)
        emitted += len(r.emitted)
    assert emitted == len(trace.tokens) <= n_tokens
    assert emitted == n_tokens or trace.tokens[-1] == eos
    assert trace.target_passes == len(trace.rounds)
    assert trace.draft_steps == sum(len(r.drafted) for r in trace.rounds)
    assert all(type(token) is int for token in trace.tokens)


@pytest.mark.parametrize("seed", range(30))
def test_traces_are_consistent(seed):
    rng = np.random.default_rng(seed)
    size, k, n = int(rng.integers(2, 7)), int(rng.integers(0, 7)), int(rng.integers(0, 30))
    eos = [None, 0][seed % 2]
    target, draft = random_model(rng, size, 0.3), random_model(rng, size, 0.3)
    check_trace(speculative_decode(target, draft, [1], n, k, rng, eos=eos), n, k, eos)


def test_every_kind_of_ending_occurs():
    rng = np.random.default_rng(0)
    target, draft = PAIRS[4]
    seen = {r.last for _ in range(50)
            for r in speculative_decode(target, draft, [1], 9, 3, rng, eos=0).rounds}
    assert seen == {"correction", "bonus", "stopped"}


class Counting(ToyModel):
    """Counts how it is asked."""

    def __init__(self, model):
        super().__init__(model.vocabulary)
        self.model, self.steps, self.passes = model, 0, []

    def next_probs(self, context):
        self.steps += 1
        return self.model.next_probs(context)

    def score(self, context, drafts):
        self.passes.append(len(drafts) + 1)
        return self.model.score(context, drafts)


def test_the_counts_of_a_trace_are_the_calls_that_were_made():
    target, draft = map(Counting, PAIRS[0])
    trace = speculative_decode(target, draft, [0], 30, k=3, rng=np.random.default_rng(0))
    assert target.passes == [len(r.drafted) + 1 for r in trace.rounds]
    assert target.steps == 0  # every use of the target is one parallel pass
    assert draft.steps == trace.draft_steps
    plain = decode(target, [0], 30, rng=np.random.default_rng(0))
    assert target.steps == plain.target_passes == 30 and plain.draft_steps == 0


def test_the_same_seed_gives_the_same_trace():
    one, two = (speculative_decode(TARGET, DRAFT, [0], 20, rng=np.random.default_rng(5)) for _ in range(2))
    assert one == two
    assert one != speculative_decode(TARGET, DRAFT, [0], 20, rng=np.random.default_rng(6))


def test_nothing_wanted_is_nothing_done():
    assert decode(TARGET, [0], 0) == speculative_decode(TARGET, DRAFT, [0], 0) == Trace(())


def test_prompts_may_be_lists_arrays_or_empty():
    for prompt in ([0, 1], (0, 1), np.array([0, 1]), np.int32([0, 1]), iter([0, 1]), [0.0, 1.0]):
        trace = speculative_decode(TARGET, DRAFT, prompt, 8, rng=np.random.default_rng(5))
        assert trace == speculative_decode(TARGET, DRAFT, [0, 1], 8, rng=np.random.default_rng(5))
    assert len(speculative_decode(TARGET, DRAFT, [], 8).tokens) == 8


def test_an_equal_draft_is_always_accepted():
    trace = speculative_decode(TARGET, TARGET, [0], 100, k=4, rng=np.random.default_rng(0))
    assert trace.target_passes == 20 and all(r.last == "bonus" for r in trace.rounds)


# -- verify, by hand --------------------------------------------------------------------------------

class Scripted:
    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


P, Q = np.array([0.25, 0.25, 0.5]), np.array([0.75, 0.125, 0.125])


def test_every_coin_and_every_draw_takes_a_fresh_number():
    rng = Scripted(0.3, 0.1, 0.9)  # coin for 0: 0.3 < 1/3; coin for 1: ratio 1; the bonus
    judged, emitted = decoding.verify((0, 1), (Q, Q), (P, P, P), rng)
    assert emitted == (0, 1, 2) and [one.coin for one in judged] == [0.3, 0.1] and not rng.numbers

    rng = Scripted(0.9, 0.2)  # coin for 0 rejects; 0.2 in the residual (0, 1/4, 3/4) is token 1
    judged, emitted = decoding.verify((0, 1), (Q, Q), (P, P, P), rng)
    assert emitted == (1,) and len(judged) == 1 and not rng.numbers


def test_a_coin_of_zero_does_not_accept_an_impossible_token():
    sure = np.array([0.0, 1.0])
    _, emitted = decoding.verify((0,), (np.array([1.0, 0.0]),), (sure, sure), Scripted(0.0, 0.0))
    assert emitted == (1,)


# -- bad input --------------------------------------------------------------------------------------

class Odd(ToyModel):
    """A model with a fault of its own."""

    def __init__(self, row=(1 / 3, 1 / 3, 1 / 3), rows=None):
        super().__init__("xyz")
        self.row, self.rows = row, rows

    def next_probs(self, context):
        return np.array(self.row)

    def score(self, context, drafts):
        return np.array([self.row] * (len(drafts) + 1 if self.rows is None else self.rows))


LONG = " ".join(["word"] * 100)


def arguments(**changed):
    return dict(prompt=[0], n_tokens=3, rng=np.random.default_rng(0), temperature=1.0, eos=None) | changed


@pytest.mark.parametrize("changed, says", [
    (dict(prompt="the old"),
     "prompt must be a sequence of token ids below 3 (models.encode makes them from text)"),
    (dict(prompt=LONG), "prompt must be a sequence of token ids"),
    (dict(prompt=["x"]), "prompt must be a whole number or an array of whole numbers, got ['x']"),
    (dict(prompt=[[0, 1]]), "got [[0, 1]]"),
    (dict(prompt=0), "prompt must be a sequence of token ids below 3"),
    (dict(prompt=None), "prompt must be a sequence of token ids below 3"),
    (dict(prompt=[3]), "prompt must be a sequence of token ids below 3"),
    (dict(prompt=[-1]), "prompt must be a whole number of at least 0, got -1"),
    (dict(prompt=[0.5]), "prompt must be a whole number of at least 0, got 0.5"),
    (dict(n_tokens=-1), "n_tokens must be a whole number of at least 0, got -1"),
    (dict(n_tokens=2.5), "n_tokens must be a whole number of at least 0, got 2.5"),
    (dict(n_tokens=None), "n_tokens must be a whole number"),
    (dict(n_tokens=[3]), "n_tokens must be a single whole number"),
    (dict(temperature=-0.1), "temperature must be finite and at least 0, got -0.1"),
    (dict(temperature=np.nan), "temperature must be finite and at least 0, got nan"),
    (dict(temperature=np.inf), "temperature must be finite and at least 0, got inf"),
    (dict(temperature=None), "temperature must be a number"),
    (dict(temperature="0.7"), "got '0.7'"),
    (dict(temperature=[1, 2]), "temperature must be a single number"),
    (dict(eos=3), "eos must be a sequence of token ids below 3"),
    (dict(eos=-1), "eos must be a whole number of at least 0, got -1"),
    (dict(eos="."), "eos must be a whole number"),
    (dict(eos=True), "eos must be a whole number"),
    (dict(eos=[1]), "eos must be a sequence of token ids below 3"),
    (dict(rng=42), "rng must be a numpy.random.Generator, got 42"),
    (dict(rng="seed"), "rng must be a numpy.random.Generator, got 'seed'"),
    (dict(rng=np.random.default_rng), "rng must be a numpy.random.Generator"),
])
def test_bad_settings(changed, says):
    for call in (lambda **kw: decode(TARGET, **kw), lambda **kw: speculative_decode(TARGET, DRAFT, **kw)):
        with pytest.raises(ValueError) as error:
            call(**arguments(**changed))
        assert says in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize("target, draft, says", [
    (TARGET, TableModel("xyzw", np.eye(4)), "target and draft must share one vocabulary, got 3 and 4 tokens"),
    (TARGET, TableModel("zyx", np.eye(3)),
     "target and draft must share one vocabulary, got different tokens"),
    (TARGET, [0.5, 0.5], "draft must be a language model"),
    ("gpt", DRAFT, "target must be a language model (with vocabulary, next_probs), got 'gpt'"),
    (TableModel, DRAFT, "target must be a language model"),
    (Odd([0.5, 0.5]), DRAFT, "the target's score must give 3 probabilities, got 2"),
    (Odd([0.5, 0.6, 0.1]), DRAFT, "the target's score must sum to 1, got a sum of 1.2"),
    (Odd([np.nan, 0.5, 0.5]), DRAFT, "the target's score must hold probabilities in [0, 1], got nan"),
    (Odd(rows=2), DRAFT, "the target's score must have 3 rows, got 2"),
    (TARGET, Odd([0.5, 0.5]), "the draft's next_probs must give 3 probabilities, got 2"),
    (TARGET, Odd([2.0, -1.0, 0.0]), "the draft's next_probs must hold probabilities in [0, 1], got"),
])
def test_bad_models(target, draft, says):
    with pytest.raises(ValueError) as error:
        speculative_decode(target, draft, [0], 3, k=2)
    assert says in str(error.value)


def test_a_bad_model_in_plain_decoding():
    for model, says in ((None, "model must be a language model"),
                        (Odd([1.0]), "must give 3 probabilities, got 1")):
        with pytest.raises(ValueError, match=says):
            decode(model, [0], 2)


@pytest.mark.parametrize("call, says", [
    (lambda: decoding.token_at(1.0, [0.5, 0.5]), "uniform must be a number in [0, 1), got 1.0"),
    (lambda: decoding.token_at(-0.1, [0.5, 0.5]), "uniform must be a number in [0, 1), got -0.1"),
    (lambda: decoding.token_at(np.nan, [0.5, 0.5]), "uniform must be a number in [0, 1), got nan"),
    (lambda: decoding.token_at("x", [0.5, 0.5]), "uniform must be a number in [0, 1), got 'x'"),
    (lambda: decoding.token_at(0.5, [0.5, 0.6]), "p must be a distribution of shape (V,) with sum 1"),
    (lambda: decoding.token_at(0.5, [0, 0]), "p must be a distribution of shape (V,) with sum 1"),
    (lambda: decoding.token_at(0.5, []), "p must be a distribution of shape (V,) with sum 1"),
    (lambda: decoding.token_at(0.5, None), "p must be a number or an array of numbers, got None"),
    (lambda: decoding.accept_ratio(0, [0.5, 0.5], [0, 1]), "q must be above 0 at the drafted token 0, got 0"),
    (lambda: decoding.accept_ratio(2, [0.5, 0.5], [0, 1]), "token must be a token id of p and q, got 2"),
    (lambda: decoding.accept_ratio("x", [0.5, 0.5], [0, 1]), "token must be a token id of p and q, got 'x'"),
    (lambda: decoding.verify((0, 1), (Q,), (P, P, P), Scripted()),
     "must hold 2 and 3 distributions, got 1 and 3"),
    (lambda: decoding.verify((0,), (Q,), (P,), Scripted()), "must hold 1 and 2 distributions, got 1 and 1"),
    (lambda: with_temperature([0.5, 0.6], 1), "probs must sum to 1, got a sum of 1.1"),
    (lambda: with_temperature([0.5, 0.5], -1), "temperature must be finite and at least 0, got -1"),
])
def test_bad_pieces(call, says):
    with pytest.raises(ValueError) as error:
        call()
    assert says in str(error.value)


def test_numpy_zeros_in_accept_ratio_are_refused_without_a_warning():
    with pytest.raises(ValueError, match="q must be above 0"):
        decoding.accept_ratio(0, np.array([0.5, 0.5]), np.array([0.0, 1.0]))


def test_a_round_can_be_made_by_hand():
    assert Trace((Round((1, 2), 1, (1, 0), "correction"),)).tokens == (1, 0)
