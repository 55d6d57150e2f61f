# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Whole training steps: loss scaling, flat parameters, losses over gathered features, synchronised statistics."""

from collections.abc import Callable
from typing import Any

import torch

from golden import Tensor, all_gather, all_reduce, case, reduce_scatter, variant

F = torch.nn.functional
DP2 = {"dp": 2}


def gradients(
    loss: Callable[..., torch.Tensor], parameters: list[torch.Tensor]
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss and its gradients."""
    with torch.enable_grad():
        taken = [p.detach().requires_grad_() for p in parameters]
        value = loss(*taken)
        found = torch.autograd.grad(value, taken)
    return value.detach(), [g.detach() for g in found]


# --- a gradient scaler: the step is left out where some gradient, on whichever rank, is too large
def scaled_step(
    w: torch.Tensor, b: torch.Tensor, gw: torch.Tensor, gb: torch.Tensor, found: Callable[[Any], Any]
) -> tuple[torch.Tensor, ...]:
    large = [(g.abs() > 1.5).any().float() for g in (gw, gb)]
    skip = found(torch.stack(large).max())
    return torch.where(skip, w, w - gw), torch.where(skip, b, b - gb)


SHARD = "Shard(0)@dp"
scaler = case(
    "skipped_step_over_ranks",
    seq=lambda w, b, gw, gb: scaled_step(w, b, gw, gb, lambda f: f > 0),
    dist=lambda rank, w, b, gw, gb: scaled_step(w, b, gw, gb, lambda f: all_reduce(f, "max") > 0),
    inputs={
        "w": Tensor((4, 3), SHARD),
        "b": Tensor((4,), SHARD),
        "gw": Tensor((4, 3), SHARD),
        "gb": Tensor((4,), SHARD),
    },
    outputs={"nw": {"expect": SHARD}, "nb": {"expect": SHARD}},
    mesh=DP2,
    verdict="PROVED",
    why="Some element of any rank or parameter is too large where not all of them are small: one count of all elements (L-96).",
)
variant(
    scaler,
    "own_gradients",
    dist=lambda rank, w, b, gw, gb: scaled_step(w, b, gw, gb, lambda f: f > 0),
    kind="missing-all-reduce",
    why="A rank whose own gradients are small steps although the other's are not.",
)
variant(
    scaler,
    "summed",
    verdict="PROVED",
    dist=lambda rank, w, b, gw, gb: scaled_step(w, b, gw, gb, lambda f: all_reduce(f) != 0),
    why="A sum of truth values is 0 where none holds.",
)
variant(
    scaler,
    "all_ranks_must_find_it",
    dist=lambda rank, w, b, gw, gb: scaled_step(w, b, gw, gb, lambda f: all_reduce(f, "min") > 0),
    why="The least of the ranks' answers is whether all of them found a large gradient.",
)


# Two large elements on one rank are not two large elements.
def two_large(g: torch.Tensor, reduce: Callable[[Any], Any]) -> torch.Tensor:
    return reduce((g > 0).sum().gt(1).float())


case(
    "two_large_elements",
    seq=lambda g: (two_large(g, lambda f: f),),
    dist=lambda rank, g: (two_large(g, lambda f: all_reduce(f, "max")),),
    inputs={"g": Tensor((4,), SHARD)},
    outputs={"found": {"expect": "Replicate"}},
    mesh=DP2,
    verdict="REFUTED",
    why="One large element on each rank is two, which no rank sees: only counts up to all elements add up (L-96).",
)


# --- flat parameters in padded shards, stepped by AdamW
SIZES, SHAPES = [15, 5, 10], [(3, 5), (5,), (5, 2)]
PADDED = {"shard": 0, "axis": "dp", "padded": 8, "fill": 0}


def flat_loss(x: torch.Tensor, y: torch.Tensor) -> Callable[..., torch.Tensor]:
    return lambda a, b, c: F.mse_loss(torch.tanh(x @ a + b) @ c, y)


def flat_step(x: torch.Tensor, y: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    parts = [p.view(s) for p, s in zip(whole.split(SIZES), SHAPES, strict=True)]
    _, found = gradients(flat_loss(x, y), parts)
    return torch.cat([g.reshape(-1) for g in found])


def adamw(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
    m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g
    return 0.75 * p - 0.5 * m / ((v / 0.5).sqrt() + 0.125), m, v


flat = case(
    "flat_padded_adamw",
    seq=lambda x, y, p, m, v: adamw(p, flat_step(x, y, p), m, v * v),
    dist=lambda rank, x, y, p, m, v: adamw(
        p, reduce_scatter(F.pad(flat_step(x, y, all_gather(p, 4)[:30]), (0, 2)), 4, "avg"), m, v * v
    ),
    inputs={
        "x": Tensor((8, 3), SHARD),
        "y": Tensor((8, 2), SHARD),
        "p": Tensor((30,), PADDED),
        "m": Tensor((30,), PADDED),
        "v": Tensor((30,), PADDED),
    },
    outputs={"np": {"expect": PADDED}, "nm": {"expect": PADDED}, "nv": {"expect": PADDED}},
    mesh={"dp": 4},
    verdict="PROVED",
    why="Shard 0 ends in the second row of the first matrix: in its first row, the place in the shard is the column, too (L-70).",
)
variant(
    flat,
    "summed",
    dist=lambda rank, x, y, p, m, v: adamw(
        p, reduce_scatter(F.pad(flat_step(x, y, all_gather(p, 4)[:30]), (0, 2)), 4), m, v * v
    ),
    why="Each rank's loss is the mean over its own rows: the sum of their gradients is four times the mean's.",
)
variant(
    flat,
    "padding_in_front",
    dist=lambda rank, x, y, p, m, v: adamw(
        p, reduce_scatter(F.pad(flat_step(x, y, all_gather(p, 4)[:30]), (2, 0)), 4, "avg"), m, v * v
    ),
    why="Gradients two places late meet other parameters.",
)


# --- a batch norm whose statistics are put together from the ranks' means and variances
class Gathered(torch.autograd.Function):
    """Rows of all ranks; backward, the sum of what all ranks say of a rank's own."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor, ranks: int) -> torch.Tensor:
        Gathered.ranks = ranks
        return all_gather(x, ranks)

    @staticmethod
    def backward(_: Any, g: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        return reduce_scatter(g.contiguous(), Gathered.ranks), None


def norm_loss(mean: torch.Tensor, var: torch.Tensor, h: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((torch.tanh((h - mean) * torch.rsqrt(var + 0.125) * g) - y) ** 2).mean()


def norm_step(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, g: torch.Tensor) -> tuple[torch.Tensor, ...]:
    def loss(w: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        h = x @ w
        return norm_loss(h.mean(0), h.var(0, unbiased=False), h, g, y)

    value, found = gradients(loss, [w, g])
    return value, *found


def norm_step_over_ranks(
    x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, g: torch.Tensor, between: float = 1.0
) -> tuple[torch.Tensor, ...]:
    def loss(w: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        h = x @ w
        means = Gathered.apply(h.mean(0, keepdim=True), 3)
        variances = Gathered.apply(h.var(0, unbiased=False, keepdim=True), 3)
        mean = means.mean(0)
        return norm_loss(mean, variances.mean(0) + between * ((means - mean) ** 2).mean(0), h, g, y)

    value, found = gradients(loss, [w, g])
    return all_reduce(value, "avg"), *[all_reduce(f, "avg") for f in found]


statistics = case(
    "variance_of_parts",
    seq=norm_step,
    dist=lambda rank, x, y, w, g: norm_step_over_ranks(x, y, w, g),
    inputs={"x": Tensor((6, 3), SHARD), "y": Tensor((6, 2), SHARD), "w": Tensor((3, 2)), "g": Tensor((2,))},
    outputs={"loss": {"expect": "Replicate"}, "gw": {"expect": "Replicate"}, "gg": {"expect": "Replicate"}},
    mesh={"dp": 3},
    verdict="PROVED",
    why="The variance is the mean of the parts' variances and the variance of their means; everything behind is normalised by it (L-97).",
)
variant(
    statistics,
    "means_do_not_vary",
    dist=lambda rank, x, y, w, g: norm_step_over_ranks(x, y, w, g, 0.0),
    why="The mean of the variances alone forgets that the parts' means differ.",
)
variant(
    statistics,
    "means_vary_half",
    dist=lambda rank, x, y, w, g: norm_step_over_ranks(x, y, w, g, 0.5),
    why="Half of the variance of the means.",
)


# --- a policy's loss: the mean over sequences of the means over their tokens, clipped
def policy_loss(x: torch.Tensor, m: torch.Tensor, a: torch.Tensor) -> Callable[..., torch.Tensor]:
    def loss(w: torch.Tensor) -> torch.Tensor:
        ratio = torch.exp(x @ w)
        clipped = torch.minimum(ratio * a[:, None], ratio.clamp(0.75, 1.25) * a[:, None])
        return -((clipped * m).sum(1) / m.sum(1)).mean()

    return loss


def policy_step(x: torch.Tensor, m: torch.Tensor, a: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    value, (found,) = gradients(policy_loss(x, m, a), [w])
    return value, found


def policy_over_ranks(op: str) -> Callable[..., Any]:
    def run(_: int, x: torch.Tensor, m: torch.Tensor, a: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        value, found = policy_step(x, m, a, w)
        return all_reduce(value, "avg"), all_reduce(found, op)

    return run


policy = case(
    "policy_gradient_clipped",
    seq=policy_step,
    dist=policy_over_ranks("avg"),
    inputs={
        "x": Tensor((4, 3, 2), SHARD),
        "m": Tensor((4, 3), SHARD),
        "a": Tensor((4,), SHARD),
        "w": Tensor((2,)),
    },
    outputs={"loss": {"expect": "Replicate"}, "gw": {"expect": "Replicate"}},
    mesh=DP2,
    verdict="PROVED",
    why="Where both sides of the minimum are equal the gradient goes half to each: both branches are divided by the count of rows (L-53).",
)
variant(
    policy,
    "summed",
    dist=policy_over_ranks("sum"),
    statuses={"loss": "PROVED", "gw": "REFUTED"},
    why="The mean over a rank's own sequences: the sum of the gradients is twice the mean's.",
)


# --- an absolute loss: its gradient is a sign
def absolute_step(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    value, (found,) = gradients(lambda w: F.l1_loss(x @ w, y) + 0.125 * w.abs().sum(), [w])
    return value, found


def absolute_over_ranks(op: str) -> Callable[..., Any]:
    def run(_: int, x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        value, found = absolute_step(x, y, w)
        return all_reduce(value, "avg"), all_reduce(found, op)

    return run


absolute = case(
    "absolute_loss",
    seq=absolute_step,
    dist=absolute_over_ranks("avg"),
    inputs={"x": Tensor((4, 3), SHARD), "y": Tensor((4, 2), SHARD), "w": Tensor((3, 2))},
    outputs={"loss": {"expect": "Replicate"}, "gw": {"expect": "Replicate"}},
    mesh=DP2,
    verdict="PROVED",
    why="The gradient of an absolute value is the sign, 0 at 0; the mean of the ranks' means over equally many rows is the mean.",
)
variant(
    absolute,
    "summed",
    dist=absolute_over_ranks("sum"),
    statuses={"loss": "PROVED", "gw": "REFUTED"},
    why="Twice the mean, and the penalty on the weights twice.",
)
