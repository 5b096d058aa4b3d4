"""How deep a Transformer can be: the first published form (post-norm) and the modern one (pre-norm), 1 to 100 blocks.

    python experiments/benchmarks/depth.py

At each of 24 tokens, the networks have to say the mean of all numbers so far and the number three tokens back. One row
for each form and depth: loss in the first step and over the last ten, and the norm of the gradient in the first block
beside that in the last. A loss of 1 is that of always saying the mean of all targets.
"""

import argparse
from dataclasses import replace

import torch
from torch import Tensor, nn

from forecast.nn import CausalModule, Transformer, VanillaTransformer

TOKENS, WIDTH, BATCH, BACK = 24, 32, 32, 3
FORMS: dict[str, Transformer | VanillaTransformer] = {
    "vanilla": VanillaTransformer(width=WIDTH, dropout=0.0),
    "modern": Transformer(width=WIDTH, dropout=0.0),
}


def examples(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Give numbers (B, N, 1) and targets (B, N, 2), each of variance 1 over all tokens."""
    x = torch.randn(BATCH, TOKENS, 1, generator=generator)
    counts = torch.arange(1, TOKENS + 1).unsqueeze(1)
    means = x.cumsum(1) / counts / (1 / counts).mean().sqrt()
    before = nn.functional.pad(x, (0, 0, BACK, 0))[:, :TOKENS] / (1 - BACK / TOKENS) ** 0.5
    return x, torch.cat([means, before], dim=-1)


def gradient_norm(block: nn.Module) -> float:
    """Give the norm of the gradient of all weights of a block."""
    return float(torch.stack([p.grad.norm() for p in block.parameters() if p.grad is not None]).norm())


def blocks_of(module: CausalModule) -> nn.ModuleList:
    """Give the blocks of either form."""
    return next(part for part in module.modules() if isinstance(part, nn.ModuleList))


def train(
    backbone: Transformer | VanillaTransformer, steps: int, warm_up: int, seed: int
) -> list[tuple[float, float, float]]:
    """Give loss and the gradient's norm in the first and the last block, at every step."""
    torch.manual_seed(seed)
    module = backbone.build(TOKENS)
    network = nn.Sequential(nn.Linear(1, WIDTH), module, nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 2))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / max(1, warm_up)))
    blocks, generator, seen = blocks_of(module), torch.Generator().manual_seed(seed), []
    for _ in range(steps):
        x, targets = examples(generator)
        loss = (network(x) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        seen.append((loss.item(), gradient_norm(blocks[0]), gradient_norm(blocks[-1])))
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return seen


def main() -> None:
    """Train every form at every depth, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 12, 100])
    parser.add_argument("--forms", choices=FORMS, nargs="+", default=list(FORMS))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--warm-up", type=int, default=0, help="steps in which the learning rate rises to 1e-3")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("                loss               gradient at first       gradient at last")
    print("form     depth  first  last 10     block 1   last block    block 1   last block")
    for depth in options.depths:
        for form in options.forms:
            seen = train(replace(FORMS[form], depth=depth), options.steps, options.warm_up, options.seed)
            last = torch.tensor(seen[-10:]).mean(0).tolist()
            norms = f"{seen[0][1]:11.2e} {seen[0][2]:12.2e} {last[1]:10.2e} {last[2]:12.2e}"
            print(f"{form:8s} {depth:5d}  {seen[0][0]:5.3f} {last[0]:8.3f} {norms}", flush=True)


if __name__ == "__main__":
    main()
