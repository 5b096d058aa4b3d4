"""How far back a backbone can learn to remember: tasks of pure memory, longer and longer, within a budget of steps.

Every backbone is trained alike: fresh examples at every step, which are the same for all, and as many steps, unless it
has solved the task before. What is measured is what it learns within them, not what it could hold: a state may have
room enough, and gradients that never reach back to what has to be put there. B examples, N token, D width, K answers.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from forecast.insight.curve_plan import alone, check_backbones, check_rising
from forecast.nn import Backbone
from forecast.params import check_positive, check_seed, is_probability
from forecast.synthetic.recall import TASKS, Examples, Task

LENGTHS = (50, 100, 200, 400, 600, 1000)
COLUMNS = ["task", "backbone", "family", "length", "seed", "loss", "error", "solved", "steps", "seconds"]
COLUMNS += ["parameters", "reach", "left_out"]
_CURVE = ["task", "backbone", "family"]
_CLIPPED = 1.0  # norm of the gradient of all weights, at most


@dataclass(frozen=True, kw_only=True)
class RecallPlan:
    """Whose memory is tried, on what, and with which budget.

    Attributes
    ----------
    backbones: by the names that they have in the result.
    tasks: names of `forecast.synthetic.recall.TASKS`.
    lengths: of the tasks, rising.
    seeds: of weights and examples.
    steps: of the optimiser (Adam), for each length anew.
    batch_size: examples of a step.
    learning_rate: of all backbones, constant.
    examples: that were not trained on, by which a task is judged.
    every: steps from one judgement to the next.
    solved: error below which a task is solved, and training ends: the loss as a share of that without any memory.
    misses: lengths in a row that were not solved, after which longer ones are left out.

    """

    backbones: Mapping[str, Backbone]
    tasks: Sequence[str] = tuple(TASKS)
    lengths: Sequence[int] = LENGTHS
    seeds: Sequence[int] = (0,)
    steps: int = 1000
    batch_size: int = 32
    learning_rate: float = 0.002
    examples: int = 256
    every: int = 100
    solved: float = 0.05
    misses: int = 2

    def __post_init__(self) -> None:
        check_backbones(self.backbones)
        tasks = list(self.tasks)
        if not tasks or len(set(tasks)) < len(tasks) or not set(tasks) <= set(TASKS):
            raise ValueError(f"`tasks` is {tasks}; allowed: one or more of {', '.join(TASKS)}, each once")
        check_rising("lengths", self.lengths, least=2)
        seeds = list(self.seeds)
        if not seeds or len(set(seeds)) < len(seeds):
            raise ValueError(f"`seeds` is {seeds}; allowed: one or more, each once")
        for seed in seeds:
            check_seed(seed)
        check_positive(**{name: getattr(self, name) for name in ("steps", "batch_size", "examples", "every", "misses")})
        if not isinstance(self.learning_rate, int | float) or not self.learning_rate > 0:
            raise ValueError(f"`learning_rate` is {self.learning_rate!r}; allowed: a number above 0")
        if not is_probability(self.solved):
            raise ValueError(f"`solved` is {self.solved!r}; allowed: a number inside (0, 1)")


def recall_curves(plan: RecallPlan) -> pd.DataFrame:
    """Train all backbones of a plan on all tasks: one row for each task, backbone, seed and length.

    Columns
    -------
    task, backbone, family, length, seed.
    loss: on examples that were not trained on, after the last step: mean squared error, or cross-entropy in nats.
    error: the loss as a share of that without any memory: 1 for who remembers nothing, 0 for who remembers all.
    solved: whether it is below the one of the plan.
    steps: that were trained; fewer than those of the plan where it was solved before.
    seconds: processor time of training and judging.
    parameters: of embedding, backbone and answer.
    reach: tokens that the last state can depend on; NaN where there is no bound.
    left_out: why it was not trained, in which case `loss`, `error`, `steps` and `seconds` are NaN; else "".

    """
    curves = []
    for task in plan.tasks:
        for name in plan.backbones:
            for seed in plan.seeds:
                curve = pd.DataFrame(columns=COLUMNS)
                for length in plan.lengths:
                    point = recall_at(plan, task, name, seed, length, curve)
                    curve = point if curve.empty else pd.concat([curve, point], ignore_index=True)
                curves.append(curve)
    return pd.concat(curves, ignore_index=True)


def recall_at(
    plan: RecallPlan, task: str, name: str, seed: int, length: int, shorter: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Train one backbone with one seed on a task of one length: a row of `recall_curves`.

    `shorter` holds the rows of the same curve at shorter lengths, by which it is judged what is left out.
    """
    backbone, kind, began = plan.backbones[name], TASKS[task], process_time()
    why = "" if shorter is None else _missed(plan, shorter)
    with alone(seed):
        reader = Reader(backbone, kind, length)
        loss, steps = (math.nan, math.nan) if why else _train(plan, reader, kind, seed, length)
    error = loss / kind.memoryless
    field = reader.backbone.receptive_field
    row = {
        "task": task,
        "backbone": name,
        "family": backbone.family,
        "length": length,
        "seed": seed,
        "loss": loss,
        "error": error,
        "solved": error < plan.solved,
        "steps": steps,
        "seconds": math.nan if why else process_time() - began,
        "parameters": sum(parameter.numel() for parameter in reader.parameters()),
        "reach": math.nan if field is None else float(field),
        "left_out": why,
    }
    return pd.DataFrame([row], columns=COLUMNS)


def longest_solved(recalls: pd.DataFrame) -> pd.DataFrame:
    """Give the largest length that was solved: one row for each task and backbone.

    Columns `task, backbone, family`; `by_all`, the largest length that every seed has solved, and `by_some`, that any
    has, 0 for none; `seeds`; `longest`, the largest length that was asked; `parameters`, at it.
    """
    rows = []
    for _, curve in recalls.groupby(_CURVE, sort=False):
        seeds, last = len(set(curve["seed"])), curve.sort_values(by=["length"]).iloc[-1]
        counts = Counter(length for length, solved in zip(curve["length"], curve["solved"], strict=True) if solved)
        most = [max((int(one) for one in counts if counts[one] >= needed), default=0) for needed in (seeds, 1)]
        rows.append((*curve[_CURVE].iloc[0], *most, seeds, int(last["length"]), int(last["parameters"])))
    return pd.DataFrame(rows, columns=[*_CURVE, "by_all", "by_some", "seeds", "longest", "parameters"])


class Reader(nn.Module):
    """A backbone between two linear maps: of what is read to tokens, and of its last states to answers."""

    def __init__(self, backbone: Backbone, task: Task, length: int):
        super().__init__()
        self.asked = task.asked
        self.embedding = nn.Linear(task.channels, backbone.width)
        self.backbone = backbone.build(task.tokens(length))
        self.answer = nn.Linear(backbone.width, task.symbols or 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, N, C) -> (B, K, 1), or a score for each symbol."""
        return self.answer(self.backbone(self.embedding(inputs))[:, -self.asked :])


def _train(plan: RecallPlan, reader: Reader, task: Task, seed: int, length: int) -> tuple[float, int]:
    """Train until the task is solved or the budget is spent; give the loss, and the steps of training.

    A loss that is no number is infinite, and ends the training.
    """
    drawn, kept = np.random.default_rng([seed, length, 0]), np.random.default_rng([seed, length, 1])
    judged = task.draw(kept, plan.examples, length)
    optimiser = torch.optim.Adam(reader.parameters(), lr=plan.learning_rate)
    loss = math.inf
    for step in range(1, plan.steps + 1):
        reader.train()
        optimiser.zero_grad()
        _loss(reader, task, task.draw(drawn, plan.batch_size, length)).backward()
        nn.utils.clip_grad_norm_(reader.parameters(), _CLIPPED)
        optimiser.step()
        if step % plan.every and step < plan.steps:
            continue
        loss = _judged(reader, task, judged, plan.batch_size)
        if loss < plan.solved * task.memoryless or math.isinf(loss):
            return loss, step
    return loss, plan.steps


def _judged(reader: Reader, task: Task, examples: Examples, batch_size: int) -> float:
    reader.eval()
    total, count = 0.0, len(examples.inputs)
    with torch.inference_mode():
        for low in range(0, count, batch_size):
            part = Examples(*(one[low : low + batch_size] for one in examples))
            total += float(_loss(reader, task, part)) * len(part.inputs)
    return total / count if math.isfinite(total) else math.inf


def _loss(reader: Reader, task: Task, examples: Examples) -> Tensor:
    said, answers = reader(torch.from_numpy(examples.inputs)), torch.from_numpy(examples.answers)
    if task.symbols is None:
        return functional.mse_loss(said.squeeze(-1), answers)
    return functional.cross_entropy(said.flatten(0, 1), answers.flatten())


def _missed(plan: RecallPlan, shorter: pd.DataFrame) -> str:
    """Say why a length is left out, after the shorter ones of the curve; "" where it is not."""
    if shorter.empty:
        return ""
    rows = shorter.sort_values(by=["length"]).to_dict("records")
    if why := rows[-1]["left_out"]:
        return str(why)
    last = rows[-plan.misses :]
    if len(last) < plan.misses or any(row["solved"] for row in last):
        return ""
    lengths = " and ".join(f"{row['length']:,}" for row in last)
    return f"not solved at {lengths}"
