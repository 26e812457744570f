"""Makes the course's real models again, from a seed: a target, an aligned draft and a weak draft.

    python -m pip install -r requirements.txt
    python train.py                     # about five minutes on one CPU core
    python train.py aligned weak        # only these; the target is read from its weights

The models are those of ``specdec_lessons/transformer.py``, written once more in PyTorch: decoder-only, norm
first, rotary positions, no biases. The matrices between are trained with Muon (Jordan et al. 2024: momentum,
made orthogonal by five Newton-Schulz steps), the embedding and the head with Adam.

- The target and the weak draft learn to predict the next word of the stories (cross-entropy).
  The target begins with few layers, which is cheap, and grows in the middle of its training (Net2Net, Chen
  et al. 2015, arXiv 1511.05641: the new layers add nothing at first).
- The aligned draft does the same for the first half of its steps, and then learns the target's distribution
  of the next word on such text: the loss is KL(p, q), distillation (Hinton et al., arXiv 1503.02531).
"""

import argparse
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

from stories import END, stories

OUT = pathlib.Path(__file__).parents[1] / "pair"
POSITIONS = 200  # the longest story has fewer tokens
SHAPES = {
    "target": dict(layers=16, width=64, heads=2, hidden=256),
    "aligned": dict(layers=1, width=32, heads=2, hidden=64),
    "weak": dict(layers=1, width=16, heads=2, hidden=32),
}
PLANS = {  # steps, windows of POSITIONS + 1 tokens in each step
    "target": dict(steps=900, windows=8, seed=1, shallow_steps=650, shallow_layers=4),
    "aligned": dict(steps=600, windows=8, seed=2),
    "weak": dict(steps=150, windows=8, seed=3),
}
HELD_OUT = dict(seed=99, number=200)
ADAM_RATE = 0.02
DISTILLED_PART = 0.5  # of the aligned draft's steps: the later ones


class Net(torch.nn.Module):
    """The transformer of the package, with gradients."""

    def __init__(self, vocabulary, layers, width, heads, hidden):
        super().__init__()
        self.heads = heads

        def parameter(*shape, std):
            return torch.nn.Parameter(torch.randn(shape) * std)

        self.embedding = parameter(vocabulary, width, std=0.5)
        self.previous = parameter(vocabulary, width, std=0.5)
        self.qkv = parameter(layers, width, 3 * width, std=width**-0.5)
        self.out = parameter(layers, width, width, std=0.0)
        self.up = parameter(layers, width, hidden, std=width**-0.5)
        self.down = parameter(layers, hidden, width, std=0.0)
        self.head = parameter(width, vocabulary, std=0.0)
        half = width // heads // 2
        angles = torch.arange(POSITIONS)[:, None] * 10_000.0 ** (-torch.arange(half) / half)
        self.cos, self.sin = angles.cos()[:, None], angles.sin()[:, None]  # (positions, 1, half)

    def forward(self, tokens):
        batch, n = tokens.shape
        width = self.embedding.shape[1]
        x = self.embedding[tokens] + self.previous[torch.cat([tokens[:, :1], tokens[:, :-1]], 1)]
        for qkv, out, up, down in zip(self.qkv, self.out, self.up, self.down):
            parts = (norm(x) @ qkv).view(batch, n, 3, self.heads, width // self.heads)
            q, k = (self.rotated(parts[:, :, i]).transpose(1, 2) for i in (0, 1))
            mixed = F.scaled_dot_product_attention(q, k, parts[:, :, 2].transpose(1, 2), is_causal=True)
            x = x + mixed.transpose(1, 2).reshape(batch, n, width) @ out
            x = x + F.relu(norm(x) @ up) @ down
        return norm(x) @ self.unembedding()

    def unembedding(self):
        """What scores the tokens: half the embedding, which makes copying easy, and a part of its own."""
        return 0.5 * self.embedding.T + self.head

    def rotated(self, x):
        n = x.shape[1]
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = self.cos[:n], self.sin[:n]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def norm(x):
    return F.rms_norm(x, (x.shape[-1],), eps=1e-5)


class Muon:
    """Momentum made orthogonal, for stacks of matrices of shape (layers, rows, columns)."""

    def __init__(self, net, lr=0.02, momentum=0.95):
        self.parameters = [net.qkv, net.out, net.up, net.down]
        self.splits = [3, 1, 1, 1]  # queries, keys and values are three matrices side by side
        self.momenta = [torch.zeros_like(p) for p in self.parameters]
        self.lr, self.momentum = lr, momentum

    @torch.no_grad()
    def step(self, scale):
        for p, splits, m in zip(self.parameters, self.splits, self.momenta):
            m.mul_(self.momentum).add_(p.grad)
            direction = p.grad + self.momentum * m
            blocks = torch.cat(direction.chunk(splits, -1))
            blocks = orthogonal(blocks) * max(1, blocks.shape[-1] / blocks.shape[-2]) ** 0.5
            p.sub_(torch.cat(blocks.chunk(splits), -1), alpha=self.lr * scale)
            p.grad = None


def orthogonal(x):
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if tall else x


@torch.no_grad()
def grown(net, shape):
    """The same function with more layers: between the old ones, new ones that add nothing yet."""
    deep = Net(len(net.embedding), **shape)
    for part in ("embedding", "previous", "head"):
        getattr(deep, part).copy_(getattr(net, part))
    every = len(deep.out) // len(net.out)
    for part in ("qkv", "out", "up", "down"):
        getattr(deep, part)[::every] = getattr(net, part)
    return deep


def optimisers(net):
    return Muon(net), torch.optim.Adam([net.embedding, net.previous, net.head], betas=(0.9, 0.95))


def windows(seed, number, vocabulary):
    """Stories one after the other, cut so that every window begins with the end mark of the one before."""
    index = {word: token for token, word in enumerate(vocabulary)}
    tokens = [index[END]] + [index[word] for word in stories(seed, number)]
    starts = [i for i, token in enumerate(tokens) if token == index[END]]
    size = POSITIONS + 1
    return torch.tensor([tokens[i:i + size] for i in starts if i + size <= len(tokens)])


@torch.no_grad()
def held_out_loss(net, held_out):
    losses = [F.cross_entropy(net(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())
              for part in held_out.split(16)]
    return float(torch.stack(losses).mean())


@torch.no_grad()
def held_out_acceptance(target, draft, held_out):
    """Mean of the sum of min(p, q) over all positions of held-out text."""
    return float(torch.stack([torch.minimum(target(part[:, :-1]).softmax(-1), draft(part[:, :-1]).softmax(-1))
                              .sum(-1).mean() for part in held_out.split(16)]).mean())


def schedule(step, steps):
    """Warm up, stay, and go down to nothing over the last half."""
    return min(1.0, (step + 1) / 20, (steps - step) / (0.5 * steps))


def train(name, vocabulary, held_out, target=None):
    plan, shape = PLANS[name], SHAPES[name]
    torch.manual_seed(plan["seed"])
    generator = torch.Generator().manual_seed(plan["seed"])
    net = Net(len(vocabulary), **(shape | dict(layers=plan.get("shallow_layers", shape["layers"]))))
    text = windows(plan["seed"], plan["steps"] * plan["windows"], vocabulary)
    order = torch.randperm(len(text), generator=generator)
    muon, adam = optimisers(net)
    start, log = time.time(), []
    for step in range(plan["steps"]):
        if step == plan.get("shallow_steps"):
            net = grown(net, shape)
            muon, adam = optimisers(net)
        rows = order[(step * plan["windows"] + torch.arange(plan["windows"])) % len(order)]
        batch = text[rows]
        inputs, wanted = batch[:, :-1], batch[:, 1:]
        logits = net(inputs)
        distil = target is not None and step >= (1 - DISTILLED_PART) * plan["steps"]
        if distil:
            with torch.no_grad():
                p = target(inputs).softmax(-1)
            loss = F.cross_entropy(logits.flatten(0, 1), p.flatten(0, 1))  # KL(p, q) up to the entropy of p
        else:
            loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        loss.backward()
        scale = schedule(step, plan["steps"])
        muon.step(scale)
        adam.param_groups[0]["lr"] = ADAM_RATE * scale
        adam.step()
        adam.zero_grad()
        log.append(loss.item())
        if step % 50 == 49:
            seconds = time.time() - start
            print(f"{name} step {step + 1} loss {np.mean(log[-50:]):.4f} {seconds:.0f} s", flush=True)
        if step % 100 == 99:
            save(name, net)
    save(name, net)
    print(name, "held-out loss", held_out_loss(net, held_out), flush=True)
    return net


ARRAYS = ("embedding", "previous", "qkv", "out", "up", "down", "head")


def save(name, net):
    OUT.mkdir(exist_ok=True)
    arrays = {part: getattr(net, part).detach() for part in ARRAYS} | {"head": net.unembedding().detach()}
    arrays = {part: array.numpy().astype(np.float16) for part, array in arrays.items()}
    np.savez_compressed(OUT / f"{name}.npz", heads=net.heads, positions=POSITIONS, **arrays)


def load(name, vocabulary):
    net = Net(len(vocabulary), **SHAPES[name])
    with np.load(OUT / f"{name}.npz") as arrays, torch.no_grad():
        for part in ARRAYS:
            getattr(net, part).copy_(torch.from_numpy(arrays[part].astype(np.float32)))
        net.head.sub_(0.5 * net.embedding.T)
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="which to train: target, aligned, weak (default: all)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    vocabulary = sorted(set(stories(0, 20_000)))
    OUT.mkdir(exist_ok=True)
    (OUT / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    held_out = windows(HELD_OUT["seed"], HELD_OUT["number"], vocabulary)
    for name in options.names or SHAPES:
        target = load("target", vocabulary) if name == "aligned" else None
        train(name, vocabulary, held_out, target)
    models = {name: load(name, vocabulary) for name in SHAPES if (OUT / f"{name}.npz").exists()}
    report = {name: dict(held_out_loss=held_out_loss(net, held_out),
                         held_out_overlap=held_out_acceptance(models["target"], net, held_out)
                         if "target" in models else None) for name, net in models.items()}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
