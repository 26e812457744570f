"""Our loop against an engine that others wrote: assisted generation of Hugging Face's transformers.

Optional: skipped where PyTorch or transformers are missing (requirements.txt beside this file brings them).
Nothing is downloaded. The models are Llamas of one layer, built from a config, whose attention and MLP
write zeros: the logits after a token are then one column of the output matrix, and the model is a table.
"""

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the cross-check needs tests/crosscheck/requirements.txt")
transformers = pytest.importorskip(
    "transformers", reason="the cross-check needs tests/crosscheck/requirements.txt")

from transformers.generation import utils as engine  # noqa: E402

from specdec_lessons import decoding, evidence, wrong_rules  # noqa: E402
from specdec_lessons.models import TableModel  # noqa: E402

P = [[0.25, 0.25, 0.5], [0.6, 0.1, 0.3], [0.25, 0.6, 0.15]]
Q = [[0.75, 0.125, 0.125], [0.2, 0.7, 0.1], [0.125, 0.125, 0.75]]
TARGET, DRAFT = TableModel("xyz", P), TableModel("xyz", Q)
LENGTH, K, TEXTS = 3, 2, 1500
RIGHT_LAW = evidence.chain_rule_law(TARGET, [0], LENGTH)


@pytest.fixture(autouse=True)
def one_thread():
    """Tables this small are slower on several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def llama(table, k=K):
    """A Llama whose next token is distributed as row i of ``table`` after token i; as a draft it drafts k."""
    size, width = len(table), 4
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=size, hidden_size=width, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, max_position_embeddings=64, rms_norm_eps=1e-12, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=None, pad_token_id=None)).eval()
    layer = model.model.layers[0]
    with torch.no_grad():
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, width))
        model.lm_head.weight.zero_()  # the norm makes the one of a one-hot row √width
        model.lm_head.weight[:, :size] = torch.tensor(np.log(table).T / np.sqrt(width))
    model.generation_config.num_assistant_tokens = k
    model.generation_config.num_assistant_tokens_schedule = "constant"
    model.generation_config.assistant_confidence_threshold = 0.0
    return model


def assisted(target, draft, n_tokens, **settings):
    prompt = torch.tensor([[0]])
    tokens = target.generate(prompt, attention_mask=torch.ones_like(prompt), assistant_model=draft,
                             do_sample=True, top_k=0, top_p=1.0, temperature=1.0, max_new_tokens=n_tokens,
                             **settings)
    return tuple(tokens[0, 1:].tolist())


def spied(monkeypatch):
    """The list into which every verdict of transformers will go: (number of drafts, number of matches)."""
    verdicts, original = [], engine._speculative_sampling

    def spy(candidate_input_ids, candidate_logits, candidate_length, new_logits, **kwargs):
        valid, matches = original(
            candidate_input_ids, candidate_logits, candidate_length, new_logits, **kwargs)
        verdicts.append((candidate_length, int(matches)))
        return valid, matches

    monkeypatch.setattr(engine, "_speculative_sampling", spy)
    return verdicts


def uniforms_instead(monkeypatch, draw):
    """Make torch's coins and draws take their uniform numbers from ``draw``, in the order of the calls."""
    def multinomial(probs, num_samples):
        assert num_samples == 1 and len(probs) == 1
        return torch.tensor([[decoding.token_at(draw(), normalised(probs[0]))]])

    def rand_like(like):
        return torch.tensor([draw() for _ in like], dtype=torch.float64)

    monkeypatch.setattr(torch, "rand_like", rand_like)
    monkeypatch.setattr(torch, "multinomial", multinomial)


def normalised(probs):
    probs = probs.detach().double().numpy()
    return probs / probs.sum()


class Script:
    """A source of the given uniform numbers, in this order, that must be used up."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def judge(drafted, draft_rows, target_rows, coins, last, rule=decoding.verify):
    """Our rule on coins that were all thrown beforehand, as transformers throws them."""
    kept = [coin * q[x] < p[x] for coin, x, q, p in zip(coins, drafted, draft_rows, target_rows)]
    reached = (kept + [False]).index(False) + 1
    script = Script([*coins[:reached], last])
    result = rule(drafted, draft_rows, target_rows, script)
    assert script.numbers == []
    return result


def verify_with_coins_beforehand(drafted, draft_rows, target_rows, rng):
    coins = [rng.random() for _ in drafted]
    return judge(drafted, draft_rows, target_rows, coins, rng.random())


def logits(rows):
    with np.errstate(divide="ignore"):
        return torch.tensor(np.log(np.array(rows)))[None]


def random_cases(count, seed):
    """Rounds of 1 to 5 drafts on 2 to 7 tokens, some of which p or q rule out, with their coins."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, size = int(rng.integers(1, 6)), int(rng.integers(2, 8))
        rows = rng.exponential(size=(2 * n + 1, size)) * (rng.random((2 * n + 1, size)) < 0.8)
        rows[:, 0] += rows.sum(-1) == 0
        rows /= rows.sum(-1, keepdims=True)
        q, p = rows[:n], rows[n:]
        drafted = tuple(decoding.token_at(rng.random(), row) for row in q)
        yield drafted, q, p, rng.random(n).tolist(), rng.random()


def theirs(monkeypatch, drafted, q, p, coins, last):
    uniforms_instead(monkeypatch, Script([*coins, last]).random)
    valid, matches = engine._speculative_sampling(
        torch.tensor([[0, *drafted]]), logits(q), len(drafted), logits(p))
    return tuple(valid[0].tolist()), int(matches)


# -- the same law -----------------------------------------------------------------------------------

def test_the_llama_is_the_table():
    rows = llama(P)(torch.tensor([[0, 1, 2]])).logits[0].softmax(-1)
    assert np.allclose(rows.detach(), P, atol=1e-6)


def test_transformers_and_our_loop_have_the_same_law(monkeypatch):
    verdicts, texts, first = spied(monkeypatch), Counter(), Counter()
    target, draft = llama(P), llama(Q)
    torch.manual_seed(20)
    for _ in range(TEXTS):
        before = len(verdicts)
        texts[assisted(target, draft, LENGTH)] += 1
        assert verdicts[before][0] == K  # it did speculate
        first[(verdicts[before][1],)] += 1
    rng = np.random.default_rng(21)
    ours = [decoding.speculative_decode(TARGET, DRAFT, [0], LENGTH, k=K, rng=rng) for _ in range(TEXTS)]
    assert evidence.joint_chi_square(texts, RIGHT_LAW).p_value > 1e-3
    assert evidence.joint_chi_square([trace.tokens for trace in ours], RIGHT_LAW).p_value > 1e-3

    def accepted_first(rng):
        return (decoding.speculative_decode(TARGET, DRAFT, [0], LENGTH, k=K, rng=rng).rounds[0].accepted,)

    kept = evidence.sequence_law(accepted_first)
    # By hand: Σ min(p, q) is 1/2 after x, 2/5 after y and z; after x, min(p, q) is (1/4, 1/8, 1/8).
    # Both drafts are kept with probability 1/4 · 1/2 + 1/8 · 2/5 + 1/8 · 2/5 = 9/40.
    assert kept == pytest.approx({(0,): 1 / 2, (1,): 11 / 40, (2,): 9 / 40})
    assert evidence.joint_chi_square(first, kept).p_value > 1e-3
    assert evidence.joint_chi_square([(t.rounds[0].accepted,) for t in ours], kept).p_value > 1e-3

    wrong_law = evidence.sequence_law(decoding.speculative_decode, TARGET, DRAFT, [0], LENGTH, k=K,
                                      verify=wrong_rules.resample_from_p)
    assert evidence.joint_chi_square(texts, wrong_law).p_value < 1e-9
    wrong = [decoding.speculative_decode(TARGET, DRAFT, [0], LENGTH, k=K, rng=rng,
                                         verify=wrong_rules.resample_from_p).tokens for _ in range(TEXTS)]
    assert evidence.joint_chi_square(wrong, RIGHT_LAW).p_value < 1e-9


def test_a_setting_of_transformers_that_is_not_exact_is_noticed():
    """With its ensemble weight w it judges by w p + (1 - w) q instead of p, which is a law of its own."""
    target, draft = llama(P), llama(Q)
    torch.manual_seed(24)
    texts = [assisted(target, draft, LENGTH, assistant_ensemble_weight=0.5) for _ in range(TEXTS // 3)]
    assert evidence.joint_chi_square(texts, RIGHT_LAW).p_value < 1e-6


# -- the same tokens --------------------------------------------------------------------------------

def test_one_round_token_for_token_on_the_same_coins(monkeypatch):
    seen = Counter()
    for case in random_cases(2000, seed=22):
        judged, emitted = judge(*case)
        matches = sum(one.accepted for one in judged)
        assert theirs(monkeypatch, *case) == (emitted, matches), case
        seen[len(case[0]), matches] += 1
    assert set(seen) == {(n, matches) for n in range(1, 6) for matches in range(n + 1)}  # every outcome came


def test_a_wrong_rule_gives_other_tokens(monkeypatch):
    differing = sum(theirs(monkeypatch, *case)[0] != judge(*case, rule=wrong_rules.resample_from_p)[1]
                    for case in random_cases(300, seed=23))
    assert differing > 30


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_whole_text_token_for_token_on_the_same_coins(monkeypatch, k):
    target, draft, verdicts = llama(P), llama(Q, k), spied(monkeypatch)
    for seed in range(20):
        verdicts.clear()
        uniforms_instead(monkeypatch, np.random.default_rng(seed).random)
        text = assisted(target, draft, 12)
        trace = decoding.speculative_decode(TARGET, DRAFT, [0], 12, k=k, rng=np.random.default_rng(seed),
                                            verify=verify_with_coins_beforehand)
        assert text == trace.tokens
        assert verdicts == [(len(r.drafted), r.accepted) for r in trace.rounds if r.drafted]


def test_the_one_difference_is_a_coin_of_exactly_zero(monkeypatch):
    """transformers accepts at coin ≤ p/q, the course at coin < p/q; it matters where p and the coin are 0."""
    case = (1,), np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]), [0.0], 0.5
    assert theirs(monkeypatch, *case) == ((1, 0), 1)  # token 1, which the target never says
    assert judge(*case)[1] == (0,)
