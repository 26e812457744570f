"""Counters of real engines: posted logs against what their threads say, and how a paste can go wrong."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_lessons import counters, evidence, formulas
from specdec_lessons.counters import EXAMPLES, advise, read_counters

TIMED = """prompt eval time =     648.99 ms /   133 tokens (    4.88 ms per token,   204.94 tokens per second)
       eval time =   30387.12 ms /  2048 tokens (   14.84 ms per token,    67.40 tokens per second)
draft acceptance rate = 0.98260 ( 1186 accepted /  1207 generated)"""


def vllm_line(histogram):
    """What vLLM prints for these passes (entry i: passes that accepted i drafts), by its definitions."""
    k, drafts = len(histogram) - 1, sum(histogram)
    accepted = sum(i * n for i, n in enumerate(histogram))
    survival = ", ".join(f"{sum(histogram[i:]) / drafts:.3f}" for i in range(1, k + 1))
    return (
        f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, Accepted throughput: "
        f"1.00 tokens/s, Drafted throughput: 1.00 tokens/s, Accepted: {accepted} tokens, "
        f"Drafted: {k * drafts} tokens, "
        f"Per-position acceptance rate: {survival}, Avg Draft acceptance rate: "
        f"{100 * accepted / (k * drafts):.1f}%"
    )


def solves(a, k, tokens):
    """Whether 1 + a + … + a^k is this number of tokens, to four digits of a."""

    def total(x):
        return sum(x**i for i in range(k + 1))

    return total(a - 5e-5) < tokens < total(a + 5e-5)


def test_llamacpp_of_2023():
    log = read_counters(EXAMPLES["llama.cpp, 2023"][0])
    assert (log.engine, log.k, log.passes, log.accepted, log.drafted) == ("llama.cpp", 5, 52, 208, 260)
    assert log.tokens_per_pass == 5.0 and log.per_draft_rate == 0.8
    assert solves(log.a, 5, 5.0) and round(log.a, 3) == 0.927
    assert log.a == evidence.from_counters(260, 208, 52, 5).a


def test_llamacpp_of_2026():
    log = read_counters(EXAMPLES["llama.cpp"][0])
    assert (log.k, log.passes, log.accepted, log.drafted) == (3, 87, 167, 259)  # 87 passes, says the thread
    assert log.tokens_per_pass == pytest.approx(1 + 167 / 87, abs=0.005) and 1 + sum(log.survival) == 2.92
    assert [round(rate, 3) for rate in log.conditional] == [0.805, 0.785, 0.764]
    assert log.accepted_over_judged == pytest.approx(1.920 / 2.437)


def test_sglang_histogram():
    log = read_counters(EXAMPLES["SGLang"][0])
    assert (log.k, log.passes, log.accepted, log.drafted) == (5, 43, 63, 215)
    assert log.tokens_per_pass == pytest.approx(106 / 43) and round(log.tokens_per_pass, 3) == 2.465
    assert log.per_draft_rate == pytest.approx(0.2930232558139535)
    assert log.survival == pytest.approx([32 / 43, 18 / 43, 7 / 43, 3 / 43, 3 / 43])


def test_vllm_counts_survival_and_its_own_token():
    log = read_counters(EXAMPLES["vLLM, 15 drafts"][0])
    assert (log.k, log.passes) == (15, 65) and 15 * 65 == 975
    assert log.tokens_per_pass == pytest.approx(1 + 89 / 65, abs=0.005)
    assert log.per_draft_rate == pytest.approx(89 / 975) and round(100 * log.per_draft_rate, 1) == 9.1
    assert solves(log.a, 15, log.tokens_per_pass)


@given(st.lists(st.integers(0, 400), min_size=2, max_size=8).filter(lambda h: sum(h[1:]) > 0))
def test_any_vllm_line_is_read_within_its_rounding(histogram):
    log = read_counters(vllm_line(histogram))
    tokens = 1 + sum(i * n for i, n in enumerate(histogram)) / sum(histogram)
    assert log.k == len(histogram) - 1
    assert log.tokens_per_pass == pytest.approx(tokens, abs=0.0051)
    assert 1 + sum(log.survival) == pytest.approx(tokens, abs=0.0006 * len(histogram))


def test_several_vllm_lines_are_added_up():
    first, second = [10, 5, 5], [0, 0, 100]
    log = read_counters(vllm_line(first) + "\nsomething else\n" + vllm_line(second))
    assert log.accepted == 5 + 10 + 200 and log.tokens_per_pass == pytest.approx(1 + 215 / 120, abs=0.01)
    assert log.survival == pytest.approx([110 / 120, 105 / 120], abs=0.01)


def test_sglang_decode_line_gives_k_by_its_later_definition():
    log = read_counters(
        "Decode batch, #running-req: 4, accept len: 2.70, accept rate: 0.57, cuda graph: True"
    )
    assert (log.engine, log.k, log.tokens_per_pass) == ("SGLang", 3, 2.70)  # 1.70 / 3 = 0.567
    assert read_counters("accept len: 2.70, accept rate: 0.57", k=4).k == 4


def test_sglang_lines_weigh_by_running_requests():
    text = (
        "Decode batch, #running-req: 30, accept len: 3.00, accept rate: 0.50\n"
        "Decode batch, #running-req: 10, accept len: 2.00, accept rate: 0.25"
    )
    assert read_counters(text).tokens_per_pass == pytest.approx(2.75)


def test_llamacpp_passes_from_the_tokens_include_those_without_a_draft():
    log = read_counters(TIMED, k=3)
    assert log.passes == 2048 - 1186 - 1 and log.tokens_per_pass == pytest.approx(2047 / 861)
    assert any("1.4 tokens long on average, not 3" in note for note in log.notes)
    assert advise(log, 0.1).speedup_now == pytest.approx((2047 / 861) / (1 + 0.1 * 1207 / 861))


def test_a_percentage_alone_does_not_give_passes():
    line = "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)"
    with pytest.raises(ValueError, match="k must be given"):
        read_counters(line)
    assert read_counters(line, k=3).tokens_per_pass == pytest.approx(1 + 171 / 99)


def test_own_counts_of_transformers():
    log = read_counters("passes = 52, generated = 260, k = 5")
    assert log.tokens_per_pass == 5.0 and log.accepted == 208
    with pytest.raises(ValueError, match="k must be given"):
        read_counters("passes: 52, accepted: 208").a


@pytest.mark.parametrize(
    "text, engine, words",
    [
        (
            "",
            None,
            '"draft acceptance" (llama.cpp) or "passes = …" (your own counts)',
        ),
        ("it was fine", None, "text must hold"),
        ("accept len: 2.5", "vLLM", "Mean acceptance length: 2.4"),
        ("Mean acceptance length: 2.5", "SGLang", "accept len: 2.7"),
        ("Mean acceptance length: 0.5", None, "tokens per pass must be at least 1, got 0.5"),
        (
            "draft acceptance = 1.2 ( 12 accepted / 10 generated), mean acceptance length = 2.0",
            None,
            "accepted must be at most drafted = 10, got 12",
        ),
        (
            "draft acceptance = 0.5 ( 5 accepted / 10 generated), mean acceptance length = 2.0, "
            "acceptance rate per position = (0.4, 0.6)",
            None,
            "must fall",
        ),
        ("passes = 52, generated = 20", None, "generated must be at least passes = 52, got 20"),
        ("spec_accept_histogram: [0, 0]", None, "at least one pass"),
    ],
)
def test_unreadable_text_is_one_line(text, engine, words):
    with pytest.raises(ValueError) as caught:
        read_counters(text, engine)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((3,), "text must be a string"),
        (("x", "TensorRT"), "engine must be one of"),
        (("x", None, 0), "k must be"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        read_counters(*arguments)


def test_a_k_that_cannot_give_these_tokens():
    with pytest.raises(ValueError, match="k must be at least 4 for 5.00 tokens per pass, got 3"):
        read_counters("passes = 52, generated = 260", k=3).a


@given(st.text(max_size=300))
def test_no_paste_breaks_the_reader(text):
    try:
        read_counters(text)
    except ValueError as error:
        assert "\n" not in str(error)


@given(
    st.lists(st.sampled_from([text for text, _ in EXAMPLES.values()]), min_size=1, max_size=3),
    st.integers(0, 400),
    st.integers(0, 400),
)
def test_cut_and_doubled_logs_are_read_or_refused(logs, start, length):
    text = "\n".join(logs)[start : start + length]
    try:
        log = read_counters(text, k=20)
        assert 1 <= log.tokens_per_pass <= 21 and 0 <= log.a <= 1
    except ValueError as error:
        assert "\n" not in str(error)


# -- advice -----------------------------------------------------------------------------------------


def speedup(survival, k, c, v):
    return (1 + sum(survival[:k])) / ((v if k else 1) + k * c)


def test_advice_uses_the_measured_survival():
    log = read_counters(EXAMPLES["SGLang"][0])
    kept = [Fraction(n, 43) for n in (32, 18, 7, 3, 3)]
    exact = [speedup(kept, k, Fraction(1, 10), 1) for k in range(6)]
    advice = advise(log, c=0.1, k_max=5)
    assert advice.best_k == exact.index(max(exact)) == 2
    assert advice.best_speedup == pytest.approx(float(exact[2])) and advice.speedup_now == pytest.approx(
        float(exact[5])
    )


def test_advice_without_survival_is_the_formula():
    log = read_counters(EXAMPLES["llama.cpp, 2023"][0])
    for v in (1.0, 2.0):
        best = max(range(17), key=lambda k: formulas.speedup(log.a, k, 0.1, v if k else 1.0))
        assert advise(log, 0.1, v).best_k == best


def test_when_to_switch_off():
    bad = read_counters(EXAMPLES["vLLM, a draft that does not fit"][0])
    assert advise(bad, 0.1).switch_off and advise(bad, 0.1).sentence.startswith("Switch it off")
    assert not advise(bad, 0.0).switch_off
    good = read_counters(EXAMPLES["llama.cpp"][0])
    assert advise(good, 0.1, verify_cost=5.0).switch_off
    assert not advise(good, 0.1).switch_off


def test_a_list_of_pass_costs():
    log = read_counters("passes = 100, generated = 250, k = 2")
    assert advise(log, 0.0, [1, 1, 1, 9], k_max=3).best_k == 2
    with pytest.raises(ValueError, match="verify_cost must be one number or k_max"):
        advise(log, 0.0, [1, 1], k_max=3)


def test_every_example_has_a_source_and_is_read():
    for text, source in counters.EXAMPLES.values():
        assert read_counters(text).a > 0 and len(source) > 5


def test_a_line_cut_off_inside_its_rates_is_refused():
    """975 drafts in 65 passes are 15 a pass; a list of four positions cannot be all of it."""
    text = counters.EXAMPLES["vLLM, 15 drafts"][0]
    cut = text[: text.index("0.062")]
    words = r"k must be at least 15 for 975 drafts in 65 passes, got 4 \(is the line cut off\?\)"
    with pytest.raises(ValueError, match=words):
        counters.read_counters(cut)
    assert counters.read_counters(cut, k=15).k == 15


def test_a_k_shorter_than_the_drafts_is_refused():
    with pytest.raises(ValueError, match="k must be at least 15 for 975 drafts in 65 passes, got 3"):
        counters.read_counters(counters.EXAMPLES["vLLM, 15 drafts"][0], k=3)


@pytest.mark.parametrize(
    "text, seen",
    [
        ("Mean acceptance length: 2,37", "2,37"),
        ("accept len: 2,47, accept rate: 0,29", "2,47"),
        ("draft acceptance = 0,64 ( 167 accepted / 259 generated), mean acceptance length = 2,92", "2,92"),
    ],
)
def test_decimal_commas_are_named_not_cut(text, seen):
    with pytest.raises(ValueError, match=f"text must have decimal points, as engines print them, got {seen}"):
        counters.read_counters(text)
