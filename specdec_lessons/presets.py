"""Real accelerators and real models as a few numbers each, every number with the document it stands in."""

from dataclasses import dataclass

from specdec_lessons import _checks


@dataclass(frozen=True)
class Hardware:
    """A machine as the roofline sees it.

    ``bandwidth`` is memory bandwidth in bytes/s, ``flops`` the peak of dense (not sparse) arithmetic in
    16-bit values in FLOP/s, ``memory`` the capacity in bytes (1 GB = 1e9), ``source`` where the figures
    stand. Peaks, all of them: real kernels reach a part of each. Raises ``ValueError`` for a figure that
    is not above zero.

    >>> Hardware("a chip with round figures", 2.0e12, 312e12, 80e9).bandwidth
    2000000000000.0
    """

    name: str
    bandwidth: float
    flops: float
    memory: float
    source: str = ""

    def __post_init__(self):
        for field in ("bandwidth", "flops", "memory"):
            object.__setattr__(self, field, _checks.single_positive(field, getattr(self, field)))


@dataclass(frozen=True)
class ModelShape:
    """What a decoder-only transformer costs depends on this much of it.

    ``parameters`` counts weights, ``layers`` blocks, ``width`` the residual stream, ``heads`` query heads,
    ``kv_heads`` key/value heads (fewer than ``heads`` with grouped-query attention), ``head_dim`` the width
    of a head. Raises ``ValueError`` for a count below one or ``heads`` that ``kv_heads`` does not divide.

    >>> MODELS["Llama-3.1-8B"].parameters
    8030261248
    """

    name: str
    parameters: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    source: str = ""

    def __post_init__(self):
        for field in ("parameters", "layers", "width", "heads", "kv_heads", "head_dim"):
            object.__setattr__(self, field, _checks.single_count(field, getattr(self, field), at_least=1))
        if self.heads % self.kv_heads:
            raise ValueError(f"heads must be a multiple of kv_heads ({self.kv_heads}), got {self.heads}")


def _by_name(presets):
    return {preset.name: preset for preset in presets}


HARDWARE = _by_name([
    Hardware("A100 80GB SXM", 2.039e12, 312e12, 80e9, "NVIDIA A100 Tensor Core GPU data sheet"),
    Hardware("A100 40GB SXM", 1.555e12, 312e12, 40e9, "NVIDIA A100 Tensor Core GPU data sheet"),
    Hardware("H100 SXM", 3.35e12, 989.4e12, 80e9,
             "NVIDIA H100 data sheet: 1,979 TFLOPS with sparsity, half of it dense"),
    Hardware("H200 SXM", 4.8e12, 989.4e12, 141e9,
             "NVIDIA H200 data sheet: 1,979 TFLOPS with sparsity, half of it dense"),
    Hardware("L4", 300e9, 121e12, 24e9, "NVIDIA L4 data sheet: 242 TFLOPS with sparsity, half of it dense"),
    Hardware("RTX 3090", 936e9, 71e12, 24e9,
             "NVIDIA Ampere GA102 GPU architecture whitepaper, appendix A: FP16 with FP32 accumulate"),
    Hardware("RTX 4090", 1008e9, 165.2e12, 24e9,
             "NVIDIA Ada GPU architecture whitepaper, appendix A: FP16 with FP32 accumulate"),
    Hardware("MI300X", 5.3e12, 1307.4e12, 192e9, "AMD Instinct MI300X data sheet: peak FP16 and BF16"),
    Hardware("TPU v4", 1.2e12, 275e12, 32 * 2**30, "Google Cloud documentation, TPU v4: one chip, 32 GiB"),
    Hardware("TPU v5e", 819e9, 197e12, 16e9, "Google Cloud documentation, TPU v5e: one chip"),
    Hardware("laptop CPU", 89.6e9, 1.024e12, 16e9,
             "arithmetic, not a product: two channels of DDR5-5600 are 2 x 8 bytes x 5.6e9/s; 8 cores x 4 GHz"
             " x 32 FLOP a cycle (two 256-bit fused multiply-adds in float32; 16-bit is seldom faster)"),
])
"""Accelerators by name. Memory bandwidth and dense 16-bit peak as the vendor states them."""

MODELS = _by_name([
    ModelShape("7B", 7_000_000_000, 32, 4096, 32, 32, 128, "a round number with the shape of Llama-2-7B"),
    ModelShape("Llama-2-7B", 6_738_415_616, 32, 4096, 32, 32, 128,
               "Touvron et al. 2023 (arXiv 2307.09288) and the published config.json"),
    ModelShape("Llama-3.2-1B", 1_235_814_400, 16, 2048, 32, 8, 64, "the published config.json"),
    ModelShape("Llama-3.1-8B", 8_030_261_248, 32, 4096, 32, 8, 128,
               "Llama Team 2024 (arXiv 2407.21783), Table 3, and the published config.json"),
    ModelShape("Llama-3.1-70B", 70_553_706_496, 80, 8192, 64, 8, 128,
               "Llama Team 2024 (arXiv 2407.21783), Table 3, and the published config.json"),
    ModelShape("Mistral-7B", 7_241_732_096, 32, 4096, 32, 8, 128,
               "Jiang et al. 2023 (arXiv 2310.06825), Table 1, and the published config.json"),
    ModelShape("Chinchilla-70B", 70_000_000_000, 80, 8192, 64, 64, 128,
               "Hoffmann et al. 2022 (arXiv 2203.15556), Table 4; the target of Chen et al. 2023"),
])
"""Models by name. Exact parameter counts, except for the two round ones (7B, Chinchilla-70B)."""
