"""Ideas beyond one chain: fractions by hand and from papers, exactness by enumeration, negative controls."""

from fractions import Fraction as F
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdec_lessons import beyond, decoding, models, rejection
from specdec_lessons.evidence import chain_rule_law, sequence_law

P, Q = [F(3, 5), F(2, 5)], [F(4, 5), F(1, 5)]
A_RARE, A_OFTEN = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]


@st.composite
def laws(draw, size=None, least=0):
    size = size or draw(st.integers(2, 3))
    weights = draw(st.lists(st.integers(least, 9), min_size=size, max_size=size).filter(sum))
    return [F(w, sum(weights)) for w in weights]


@st.composite
def pairs(draw, least=0):
    size = draw(st.integers(2, 3))
    return draw(laws(size)), draw(laws(size, least))


# -- several candidates ------------------------------------------------------------------------------


def test_two_candidates():
    assert beyond.recursive_acceptance(P, Q) == F(21, 25)
    assert beyond.membership_acceptance(P, Q) == F(18, 25)
    assert beyond.recursive_acceptance(P, Q, 1) == F(4, 5)
    assert beyond.membership_acceptance(P, Q, 1) == F(3, 5) * F(4, 5) + F(2, 5) * F(1, 5)
    assert beyond.recursive_acceptance(P, Q, replacement=False) == 1


def test_best_rule_by_hand():
    # The second token, wanted with 2/5, is one of two candidates with 1 − (4/5)² = 9/25; the first is no bound.
    assert beyond.best_acceptance(P, Q) == F(9, 25) + F(3, 5)


@given(pairs(least=1), st.integers(1, 3), st.booleans())
def test_recursive_rejection_is_exact(pair, candidates, replacement):
    p, q = pair
    assume(replacement or candidates <= len(q))
    assert beyond.recursive_output(p, q, candidates, replacement) == p


@given(pairs(least=1), st.integers(1, 3))
def test_rules_are_ordered(pair, candidates):
    p, q = pair
    best = beyond.best_acceptance(p, q, candidates)
    recursive = beyond.recursive_acceptance(p, q, candidates)
    assert beyond.membership_acceptance(p, q, candidates) <= best and recursive <= best
    assert recursive >= beyond.recursive_acceptance(p, q, 1) == beyond.best_acceptance(p, q, 1)


def test_control_judging_the_second_against_p_again_is_not_exact():
    first = [min(a, b) for a, b in zip(P, Q)]
    refused = 1 - sum(first)
    second = [refused * min(a, b) for a, b in zip(P, Q)]  # the wrong rule: p again, not the residual
    rest = refused * (1 - sum(first))
    residual = [F(0), F(1)]
    assert [a + b + rest * r for a, b, r in zip(first, second, residual)] != P


# -- block verification ------------------------------------------------------------------------------


def test_block_verification_of_the_paper():
    assert beyond.expected_accepted(A_RARE, A_OFTEN, 2) == F(10, 9)
    assert beyond.expected_accepted(A_RARE, A_OFTEN, 2, "block") == F(11, 9)


def test_block_keeps_ab_always_and_aa_a_quarter():
    assert beyond.block_chances(A_RARE, A_OFTEN, (0, 1)) == [0, 1]
    assert beyond.block_chances(A_RARE, A_OFTEN, (0, 0)) == [0, F(1, 4)]


@given(pairs(least=1), st.integers(1, 4))
def test_block_is_never_worse(pair, k):
    p, q = pair
    token, block = (beyond.expected_accepted(p, q, k, rule) for rule in ("token", "block"))
    assert block >= token == sum(sum(min(a, b) for a, b in zip(p, q)) ** i for i in range(1, k + 1))
    if k == 1:
        assert block == token


def output_law(p, q, k):
    """The exact law of the first k + 1 tokens under block verification, in fractions, from the paper."""
    law = dict.fromkeys(product(range(len(p)), repeat=k + 1), F(0))
    for drafted in product(range(len(q)), repeat=k):
        chance, weights = F(1), [F(1)]
        for token in drafted:
            chance *= q[token]
            weights.append(min(F(1), weights[-1] * p[token] / q[token]))
        later = F(1)
        for kept in range(k, -1, -1):
            owed = [max(F(0), weights[kept] * a - b) for a, b in zip(p, q)]
            if kept == k:
                stop, last = weights[k], p
            else:
                full = sum(owed) + 1 - weights[kept]
                stop = F(1) if kept == 0 or full == 0 else sum(owed) / full
                last = [x / sum(owed) for x in owed] if sum(owed) else p
            for token, share in enumerate(last):
                start = (*drafted[:kept], token)
                for rest in product(range(len(p)), repeat=k - kept):
                    tail = F(1)
                    for x in rest:
                        tail *= p[x]
                    law[(*start, *rest)] += chance * later * stop * share * tail
            later *= 1 - stop
    return law


@given(pairs(least=1), st.integers(1, 3))
def test_block_verification_is_exact_in_fractions(pair, k):
    p, q = pair
    for tokens, chance in output_law(p, q, k).items():
        exact = F(1)
        for token in tokens:
            exact *= p[token]
        assert chance == exact


@pytest.mark.parametrize("k", [1, 2, 3])
def test_block_verify_in_the_real_loop(k):
    target = models.TableModel(
        "abc", [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.0, 0.4, 0.6]], start=[0.2, 0.2, 0.6]
    )
    draft = models.TableModel("abc", [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    law = sequence_law(decoding.speculative_decode, target, draft, (), 3, k=k, verify=beyond.block_verify)
    exact = chain_rule_law(target, (), 3)
    assert set(law) == set(exact)
    assert all(abs(law[text] - exact[text]) < 1e-12 for text in exact)


def test_control_a_block_rule_without_its_own_residual_is_found():
    def wrong(drafted, draft_rows, target_rows, rng):
        judged, emitted = beyond.block_verify(drafted, draft_rows, target_rows, rng)
        kept = len(emitted) - 1
        if kept == len(drafted):
            return judged, emitted
        law = rejection.residual(target_rows[kept], draft_rows[kept])  # lesson 5's, not the block's
        return judged, (*emitted[:-1], decoding.token_at(rng.random(), law))

    # After a, whose weight is 0.4, two tokens are owed, in another proportion than lesson 5's residual has.
    target = models.TableModel("abc", 3 * [[0.1, 0.5, 0.4]], start=[0.3, 0.4, 0.3])
    draft = models.TableModel("abc", 3 * [[0.8, 0.1, 0.1]], start=[0.75, 0.15, 0.1])
    law = sequence_law(decoding.speculative_decode, target, draft, (), 3, k=2, verify=wrong)
    exact = chain_rule_law(target, (), 3)
    assert max(abs(law.get(text, 0) - exact[text]) for text in exact) > 0.001


# -- prompt lookup -----------------------------------------------------------------------------------


def lookup_by_definition(context, longest):
    for length in range(min(longest, len(context) - 1), 0, -1):
        starts = [
            s
            for s in range(len(context) - length)
            if context[s : s + length] == context[len(context) - length :]
        ]
        if starts:
            return context[max(starts) + length]
    return None


@given(st.lists(st.integers(0, 2), max_size=12), st.integers(1, 4))
def test_lookup_by_definition(context, longest):
    draft = beyond.PromptLookupDraft(models.TableModel("abc", [1 / 3] * 3), longest)
    found = draft.lookup(context)
    assert found == lookup_by_definition(tuple(context), longest)
    row = draft.next_probs(context)
    assert row.sum() == pytest.approx(1) and (found is None or row[found] == 1)


@pytest.mark.parametrize("prompt", [(), (0, 1, 0), (1, 1, 1, 0)])
def test_prompt_lookup_is_exact(prompt):
    target = models.TableModel("ab", [[0.3, 0.7], [0.6, 0.4]])
    draft = beyond.PromptLookupDraft(target, 2)
    law = sequence_law(
        decoding.speculative_decode, target, draft, prompt, 4, k=draft.while_it_matches(prompt, 3)
    )
    exact = chain_rule_law(target, prompt, 4)
    assert all(abs(law.get(text, 0) - exact[text]) < 1e-12 for text in exact)


def test_no_match_no_draft():
    target = models.TableModel("abc", [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    draft = beyond.PromptLookupDraft(target)
    trace = decoding.speculative_decode(
        target, draft, (0,), 7, draft.while_it_matches((0,), 4), np.random.default_rng(0)
    )
    assert trace.tokens == (1, 2, 0, 1, 2, 0, 1)
    assert [len(one.drafted) for one in trace.rounds[:3]] == [0, 0, 0]  # a, b, c: nothing repeats yet
    assert trace.rounds[3].accepted == len(trace.rounds[3].drafted) == 3


# -- lossy rules -------------------------------------------------------------------------------------


def test_lenience_by_hand():
    assert beyond.lenient_output(P, Q, F(1)) == (F(4, 5), P)
    assert beyond.lenient_output(P, Q, F(9, 10)) == (F(13, 15), [F(2, 3), F(1, 3)])
    assert beyond.lenient_output(P, Q, F(3, 4)) == (1, Q)


@given(pairs(least=1), st.integers(1, 20))
def test_lenience_keeps_its_promise(pair, twentieths):
    p, q = pair
    lenience = F(twentieths, 20)
    accepted, output = beyond.lenient_output(p, q, lenience)
    assert sum(output) == 1 and all(out <= a / lenience for out, a in zip(output, p))
    assert beyond.lenient_output(p, q, F(1))[1] == p
    assert accepted >= beyond.recursive_acceptance(p, q, 1)


def test_typical_acceptance_by_hand():
    assert beyond.typical_output(P, Q) == (1, Q) and beyond.shift(P, Q) == F(1, 5)
    p, q = [F(12, 20), F(7, 20), F(1, 20)], [F(4, 20), F(6, 20), F(10, 20)]
    assert (
        min(0.09, 0.3 * exp(float(sum(float(x) * np.log(float(x)) for x in p)))) == 0.09
    )  # above 1/20, below 7/20
    assert beyond.typical_output(p, q) == (F(1, 2), [F(1, 2), F(19, 40), F(1, 40)])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: beyond.recursive_acceptance([0.5, 0.4], [0.5, 0.5]), "p must sum to 1"),
        (lambda: beyond.recursive_acceptance([1.0], [0.5, 0.5]), "same length"),
        (lambda: beyond.recursive_acceptance(P, Q, 0), "candidates must be"),
        (
            lambda: beyond.recursive_acceptance(P, Q, 3, replacement=False),
            "at most 2 without replacement, got 3",
        ),
        (lambda: beyond.expected_accepted(P, Q, 2, "both"), "rule must be 'token' or 'block'"),
        (lambda: beyond.lenient_output(P, Q, 0), r"lenience must lie in \(0, 1\]"),
        (lambda: beyond.typical_output(P, Q, epsilon=2), r"epsilon must lie in \[0, 1\]"),
        (lambda: beyond.PromptLookupDraft(models.story_model(), 0), "longest must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
