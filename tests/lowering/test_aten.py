# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Lowerings against PyTorch: single operator calls with chosen arguments, whole small models, and the schemas of the table.

Needs torch and the target lower-dump ($LOWER_DUMP, or in a build directory); opinfo.py runs far more samples.
"""

import math
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fxtext  # noqa: E402
import grid  # noqa: E402
import schemas  # noqa: E402
from evaluate import evaluate  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
aten = torch.ops.aten


@pytest.fixture(scope="session")
def tool():
    for path in [os.environ.get("LOWER_DUMP"), *map(str, ROOT.glob("build/*/lower-dump"))]:
        if path and os.access(path, os.X_OK):
            return path
    pytest.skip("no lower-dump: build that target, or set LOWER_DUMP")


def f(*shape, positive=False):
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    return x.abs() + 0.1 if positive else x


def i(high, *shape):
    return torch.randint(0, high, shape, generator=generator)


def b(*shape):
    return torch.rand(shape, generator=generator) < 0.5


generator = torch.Generator().manual_seed(7)
q, k, v, g = f(2, 3, 4, 5), f(2, 3, 6, 5), f(2, 3, 6, 5), f(2, 3, 4, 5)
square = f(2, 3, 4, 5), f(2, 3, 4, 5), f(2, 3, 4, 5)
flash_out, flash_lse = aten._scaled_dot_product_flash_attention_for_cpu(*square, 0.0, True)
plain_out, plain_lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
bn_out = aten.native_batch_norm.default(f(4, 3, 5), f(3), f(3), f(3), f(3, positive=True), True, 0.1, 1e-5)

CALLS = [
    (aten.gelu.default, (f(4, 5),), {"approximate": "tanh"}),
    (aten.gelu_backward.default, (f(4, 5), f(4, 5)), {"approximate": "tanh"}),
    (aten.gelu_backward.default, (f(4, 5), f(4, 5)), {}),
    (aten.silu_backward.default, (f(4, 5), f(4, 5)), {}),
    (aten.hardswish_backward.default, (f(4, 5), f(4, 5) * 4), {}),
    (aten.mish_backward.default, (f(4, 5), f(4, 5)), {}),
    (aten.softplus_backward.default, (f(4, 5), f(4, 5) * 9, 2.0, 4.0), {}),
    (aten.elu_backward.default, (f(4, 5), 1.5, 1.1, 0.7, False, f(4, 5)), {}),
    (aten.elu_backward.default, (f(4, 5), 1.5, 1.1, 0.7, True, aten.elu(f(4, 5), 1.5, 1.1, 0.7)), {}),
    (aten.leaky_relu_backward.default, (f(4, 5), f(4, 5), 0.2, False), {}),
    (aten.glu_backward.default, (f(4, 3), f(4, 6), 1), {}),
    (aten._softmax.default, (f(3, 4, 5), 1, False), {}),
    (aten._softmax_backward_data.default, (f(3, 4), torch.softmax(f(3, 4), 1), 1, torch.float64), {}),
    (aten._log_softmax_backward_data.default, (f(3, 4), torch.log_softmax(f(3, 4), 1), 1, torch.float64), {}),
    (aten._safe_softmax.default, (torch.tensor([[-math.inf, -math.inf], [0.5, -math.inf]], dtype=torch.float64), 1), {}),
    (aten.native_layer_norm.default, (f(3, 4, 5), [4, 5], f(4, 5), f(4, 5), 1e-5), {}),
    (aten.native_layer_norm.default, (f(3, 4, 5), [5], None, None, 1e-5), {}),
    (aten.native_layer_norm_backward.default, (f(3, 4, 5), f(3, 4, 5), [5], f(3, 4, 1), f(3, 4, 1, positive=True), f(5), f(5), [True, True, True]), {}),
    (aten.native_group_norm.default, (f(2, 6, 4), f(6), f(6), 2, 6, 4, 3, 1e-5), {}),
    (aten.native_group_norm_backward.default, (f(2, 6, 4), f(2, 6, 4), f(2, 3), f(2, 3, positive=True), f(6), 2, 6, 4, 3, [True, True, True]), {}),
    (aten.native_batch_norm.default, (f(4, 3, 5), f(3), f(3), f(3), f(3, positive=True), True, 0.1, 1e-5), {}),
    (aten.native_batch_norm.default, (f(4, 3, 5), f(3), f(3), f(3), f(3, positive=True), False, 0.1, 1e-5), {}),
    (aten._native_batch_norm_legit_functional.default, (f(4, 3, 5), f(3), f(3), f(3), f(3, positive=True), True, 0.1, 1e-5), {}),
    (aten.native_batch_norm_backward.default, (f(4, 3, 5), f(4, 3, 5), f(3), f(3), f(3), bn_out[1], bn_out[2], True, 1e-5, [True, True, True]), {}),
    (aten._fused_rms_norm.default, (f(3, 4), [4], f(4), 1e-6), {}),
    (aten.nll_loss_forward.default, (f(5, 4), torch.tensor([0, -100, 3, 2, -100]), None, 1, -100), {}),
    (aten.nll_loss_forward.default, (f(5, 4), i(4, 5), f(4, positive=True), 2, 1), {}),
    (aten.nll_loss_backward.default, (f(), f(5, 4), torch.tensor([0, -100, 3, 2, -100]), None, 1, -100, torch.tensor(3.0, dtype=torch.float64)), {}),
    (aten.nll_loss2d_forward.default, (f(2, 4, 3, 3), i(4, 2, 3, 3), None, 1, 2), {}),
    (aten.nll_loss2d_backward.default, (f(2, 3, 3), f(2, 4, 3, 3), i(4, 2, 3, 3), None, 0, 2, f()), {}),
    (aten.cross_entropy_loss.default, (f(5, 4), i(4, 5)), {"label_smoothing": 0.1, "ignore_index": 2}),
    (aten.cross_entropy_loss.default, (f(5, 4), torch.softmax(f(5, 4), 1), f(4, positive=True), 1, -100, 0.2), {}),
    (aten.binary_cross_entropy_with_logits.default, (f(5), b(5).double(), f(5), f(5, positive=True), 1), {}),
    (aten.binary_cross_entropy_backward.default, (f(), torch.rand(5, dtype=torch.float64), b(5).double(), None, 1), {}),
    (aten.huber_loss_backward.default, (f(5), f(5), f(5), 0, 0.7), {}),
    (aten.smooth_l1_loss_backward.default, (f(), f(5), f(5), 1, 0.5), {}),
    (aten.kl_div.default, (f(5), torch.tensor([0.0, 0.2, 0.3, 0.5, 0.0], dtype=torch.float64), 2), {}),
    (aten._scaled_dot_product_flash_attention_for_cpu.default, (q, k, v), {"attn_mask": f(4, 6)}),
    (aten._scaled_dot_product_flash_attention_for_cpu.default, (*square, 0.0, True), {"scale": 0.3}),
    (aten._scaled_dot_product_flash_attention_for_cpu_backward.default, (square[0] * 2, *square, flash_out, flash_lse, 0.0, True), {}),
    (aten._scaled_dot_product_flash_attention_for_cpu_backward.default, (g, q, k, v, plain_out, plain_lse, 0.0, False), {}),
    (aten.scaled_dot_product_attention.default, (f(2, 4, 3, 5), f(2, 2, 6, 5), f(2, 2, 6, 5)), {"enable_gqa": True, "is_causal": True}),
    (aten.scaled_dot_product_attention.default, (q, k, v, torch.tensor([[True] * 6, [False] * 6, [True, False] * 3, [True] * 6])), {}),
    (aten.index.Tensor, (f(4, 5, 6), [None, i(5, 3, 1), i(6, 2)]), {}),
    (aten.index.Tensor, (f(4, 5, 6), [i(4, 3), None, i(6, 3) - 6]), {}),
    (aten.index_put.default, (f(4, 5), [b(4, 5)], f()), {}),
    (aten.index_put.default, (f(4, 5), [b(4)], f(5)), {}),
    (aten.index_put.default, (f(4, 5), [None, b(5)], f(4, 1)), {}),
    (aten.index_put.default, (f(4, 5), [i(4, 3), None], f(3, 5), True), {}),
    (aten.index_put_.default, (f(4, 5), [torch.tensor([3, 1]), torch.tensor([0, 4])], f(2)), {}),
    (aten.gather.default, (f(4, 5), 0, i(4, 2, 3)), {}),
    (aten.scatter.src, (f(4, 5), 1, torch.tensor([[0, 4], [2, 1]]), f(3, 3)), {}),
    (aten.scatter_add.default, (f(4, 5), 0, i(4, 3, 2), f(3, 4)), {}),
    (aten.scatter_reduce.two, (f(4, 5), 0, i(4, 3, 5), f(3, 5), "mean"), {"include_self": False}),
    (aten.index_add.default, (f(4, 5), 1, i(5, 3), f(4, 3)), {"alpha": 2}),
    (aten.embedding.default, (f(7, 3), i(7, 2, 4), 1), {}),
    (aten.embedding_dense_backward.default, (f(2, 4, 3), i(7, 2, 4), 7, 2, False), {}),
    (aten.topk.default, (f(3, 8), 3, 1), {}),
    (aten.sort.stable, (i(4, 3, 9),), {"stable": True, "dim": 1, "descending": True}),
    (aten.cumsum.default, (i(9, 3, 4), 0), {}),
    (aten.cummax.default, (i(4, 3, 9), 1), {}),
    (aten.logsumexp.default, (f(3, 4), [0, 1], True), {}),
    (aten.max.dim, (i(3, 4, 7), 1), {}),
    (aten.argmin.default, (i(3, 4, 7),), {}),
    (aten.var_mean.correction, (f(3, 4), [1]), {"correction": 0, "keepdim": True}),
    (aten.std.correction, (f(3, 4),), {}),
    (aten.linalg_vector_norm.default, (f(3, 4), 3, [0]), {}),
    (aten.histc.default, (torch.tensor([0.0, 1.0, 2.0, 2.5, 4.0, 9.0], dtype=torch.float64), 4, 0, 4), {}),
    (aten.div.Tensor, (i(9, 3, 4), 2), {}),
    (aten.div.Tensor_mode, (i(9, 5) - 4, 3), {"rounding_mode": "floor"}),
    (aten.div.Tensor_mode, (i(9, 5) - 4, 3), {"rounding_mode": "trunc"}),
    (aten.remainder.Scalar, (i(9, 5) - 4, 3), {}),
    (aten.rsub.Scalar, (f(3), 2, 3), {}),
    (aten.add.Tensor, (i(9, 3), f()), {}),
    (aten.add.Tensor, (f(3, 1), i(9, 4)), {"alpha": 2}),
    (aten.mul.Tensor, (b(3), b(3)), {}),
    (aten.where.ScalarOther, (b(3), i(4, 3), 0.5), {}),
    (aten.clamp.default, (i(9, 5), 2.5, None), {}),
    (aten.pow.Tensor_Scalar, (f(4, positive=True), -0.5), {}),
    (aten.pow.Scalar, (2, f(4)), {}),
    (aten.addcdiv.default, (f(3), f(3), f(3, positive=True)), {"value": 0.5}),
    (aten.lerp.Scalar, (f(3), f(3), 0.1), {}),
    (aten.baddbmm.default, (torch.full((2, 3, 4), math.nan, dtype=torch.float64), f(2, 3, 5), f(2, 5, 4)), {"beta": 0, "alpha": 0.5}),
    (aten.addmm.default, (f(4), f(3, 5), f(5, 4)), {"beta": 2, "alpha": 3}),
    (aten.matmul.default, (f(3, 5), f(2, 5, 4)), {}),
    (aten.matmul.default, (f(5), f(2, 5, 4)), {}),
    (aten.matmul.default, (f(2, 1, 3, 5), f(4, 5, 2)), {}),
    (aten.einsum.default, ("...ij,jk->...ki", [f(2, 3, 4), f(4, 5)]), {}),
    (aten.einsum.default, ("bhqd,bkhd,bk->hq", [f(2, 3, 4, 5), f(2, 6, 3, 5), f(2, 6)]), {}),
    (aten.convolution.default, (f(2, 4, 7, 8), f(6, 2, 3, 2), f(6), [2, 1], [1, 0], [1, 2], False, [0, 0], 2), {}),
    (aten.convolution.default, (f(2, 4, 5), f(4, 3, 3), None, [2], [1], [2], True, [1], 2), {}),
    (aten.convolution_backward.default, (f(2, 6, 4, 6), f(2, 4, 7, 8), f(6, 2, 3, 2), [6], [2, 1], [1, 0], [1, 2], False, [0, 0], 2, [True, True, True]), {}),
    (aten.max_pool2d_with_indices.default, (f(2, 3, 6, 7), [3, 2], [2, 1], [1, 0]), {}),
    (aten.avg_pool2d.default, (f(2, 3, 6, 7), [3, 2], [2, 1], [1, 0], False, False), {}),
    (aten._adaptive_avg_pool2d.default, (f(2, 3, 6, 7), [4, 3]), {}),
    (aten.constant_pad_nd.default, (f(3, 4), [1, -2, 0, 3], 0.5), {}),
    (aten.reflection_pad2d.default, (f(1, 3, 4), [1, 2, 0, 2]), {}),
    (aten.roll.default, (f(3, 4), [1, -2], [0, 1]), {}),
    (aten.repeat_interleave.self_int, (f(3, 4), 3, 1), {}),
    (aten.repeat.default, (f(3, 4), [2, 1, 3]), {}),
    (aten.slice_scatter.default, (f(6, 4), f(2, 4), 0, 1, 5, 2), {}),
    (aten.slice_backward.default, (f(2, 4), [6, 4], 0, 1, 5, 2), {}),
    (aten.as_strided_.default, (f(6), [2, 3], [3, 1]), {}),
    (aten.tril.default, (f(2, 4, 5), -1), {}),
    (aten.diagonal.default, (f(3, 4, 5), 1, 2, 0), {}),
    (aten.unfold.default, (f(3, 9), 1, 4, 2), {}),
    (aten.unfold_backward.default, (f(3, 3, 4), [3, 9], 1, 4, 2), {}),
    (aten.arange.start_step, (7, -3, -2), {}),
    (aten.arange.start_step, (0.5, 3.0, 0.4), {"dtype": torch.float64}),
    (aten.linspace.default, (-1.0, 2.0, 7), {"dtype": torch.float64}),
    (aten.view_as_real.default, (torch.view_as_complex(f(3, 2)) * torch.view_as_complex(f(3, 2)),), {}),
    (aten.mul.Tensor, (torch.view_as_complex(f(4, 3, 2)), torch.view_as_complex(f(3, 2))), {}),
    (aten._grouped_mm.default, (torch.ones(4, 8, dtype=torch.bfloat16), torch.ones(2, 8, 8, dtype=torch.bfloat16), torch.tensor([1, 4], dtype=torch.int32)), {}),
    (aten._amp_foreach_non_finite_check_and_unscale_.default, ([f(3).float(), f(2, 2).float()], torch.tensor(0.0), torch.tensor(0.25)), {}),
    (aten._amp_foreach_non_finite_check_and_unscale.default, ([f(3).float()], torch.tensor(1.0), torch.tensor(0.25)), {}),
    (aten._amp_foreach_non_finite_check_and_unscale.default, ([torch.tensor([1.0, math.inf])], torch.tensor(0.0), torch.tensor(0.25)), {}),
    *[
        (aten._amp_update_scale.default, (torch.tensor(8.0), torch.tensor(t, dtype=torch.int32), torch.tensor(found), 2.0, 0.5, 4), {})
        for t, found in ((2, 0.0), (3, 0.0), (3, 1.0))
    ],
    (aten._amp_update_scale_.default, (torch.tensor(8.0), torch.tensor(3, dtype=torch.int32), torch.tensor(0.0), 2.0, 0.5, 4), {}),
    *[
        (aten._fused_adamw_.default, ([f(3)], [f(3)], [f(3)], [f(3, positive=True)], [], [torch.tensor(3.0)]), scaler | {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": False, "maximize": False})
        for scaler in ({"grad_scale": torch.tensor(4.0)}, {"grad_scale": torch.tensor(4.0), "found_inf": torch.tensor(1.0)}, {"found_inf": torch.tensor(0.0)})
    ],
    *[
        (aten._fused_sgd_.default, ([f(3)], [f(3)], [f(3)]), scaler | {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "dampening": 0.2, "nesterov": False, "maximize": False, "is_first_step": False})
        for scaler in ({"grad_scale": torch.tensor(4.0)}, {"grad_scale": torch.tensor(4.0), "found_inf": torch.tensor(1.0)})
    ],
    (aten._fused_adamw_.default, ([f(3)], [f(3)], [f(3)], [f(3, positive=True)], [], [torch.tensor(3.0)]),
     {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01, "eps": 1e-8, "amsgrad": False, "maximize": False}),
    (aten._fused_sgd_.default, ([f(3)], [f(3)], [f(3)]),
     {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.2, "nesterov": False, "maximize": True, "is_first_step": False}),
    (aten._foreach_addcdiv_.ScalarList, ([f(3), f(2)], [f(3), f(2)], [f(3, positive=True), f(2, positive=True)], [0.5, 2.0]), {}),
    (aten._foreach_lerp_.Scalar, ([f(3), f(2)], [f(3), f(2)], 0.3), {}),
    (aten._foreach_norm.Scalar, ([f(3), f(2)], 2), {}),
    (aten.add.out, (f(3), f(3)), {"out": f(3)}),
    (aten.sgn.default, (torch.tensor([-2.0, 0.0, 0.5], dtype=torch.float64),), {}),
    (aten.sgn.default, (i(5, 4) - 2,), {}),
]  # fmt: skip

# Of these nothing is promised but that they are refused, not guessed.
REFUSED = {"aten.as_strided_.default"}


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda n: f"{CALLS[n][0]}-{n}")
def test_call(number, tool):
    func, args, kwargs = CALLS[number]
    args, kwargs = torch.utils._pytree.tree_map(fxtext.copy, (args, kwargs))
    try:
        call = fxtext.replay(func, args, kwargs)
    except NotImplementedError:
        pytest.skip("not implemented by this PyTorch on the CPU")
    (_, verdict) = next(iter(fxtext.check([call], tool)))
    if str(func) in REFUSED:
        assert verdict.startswith("unsupported")
    else:
        assert verdict == ""


def test_the_grid_of_odd_arguments(tool):
    calls = []
    for func, args, kwargs in grid.calls():
        args, kwargs = torch.utils._pytree.tree_map(fxtext.copy, (args, kwargs))
        calls.append(fxtext.replay(func, args, kwargs))
    agreed, wrong = set(), []
    for call, verdict in fxtext.check(calls, tool):
        if not verdict:
            agreed.add(str(call.func))
        elif not verdict.startswith("unsupported"):
            wrong.append(f"{call.key()}: {verdict}")
    assert wrong == []
    assert {str(call.func) for call in calls} - agreed == set()  # refused for some arguments, never for all


def test_table_agrees_with_pytorchs_schemas(tool):
    # Rows that this PyTorch lacks are of other versions; types and defaults that are the lowering's own rule are known.
    ours = ("no such operator", "dtype=None where", "memory_format=None where", "dims=[", "dim=[-2,-1]")
    assert [p for p in schemas.problems(tool) if not any(part in p for part in ours)] == []


def test_the_coverage_document_is_of_this_table(tool):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/lowering/coverage.py"), tool, "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


class Block(torch.nn.Module):
    """A little of everything that a decoder has."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.qkv = torch.nn.Linear(8, 24)
        self.out = torch.nn.Linear(8, 8, bias=False)
        self.head = torch.nn.Linear(8, 11)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        a, b, c = self.qkv(self.norm(x)).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        s = (a @ b.transpose(-1, -2)) / math.sqrt(4)
        s = s.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -math.inf)
        y = (s.softmax(-1) @ c).transpose(1, 2).reshape(2, 5, 8)
        x = x + self.out(torch.nn.functional.gelu(y))
        return torch.nn.functional.cross_entropy(self.head(x).view(-1, 11), targets.view(-1), ignore_index=3)


def test_a_training_step_as_a_whole(tool):
    from torch.fx.experimental.proxy_tensor import make_fx

    torch.manual_seed(0)
    model = Block().double()
    names, params = zip(*model.named_parameters(), strict=False)
    tokens, targets = torch.randint(0, 11, (2, 5)), torch.randint(0, 11, (2, 5))

    def step(tokens, targets, *ps):
        loss = torch.func.functional_call(model, dict(zip(names, ps, strict=False)), (tokens, targets))
        grads = torch.autograd.grad(loss, ps)
        return [loss.detach()] + [p - 0.1 * g for p, g in zip(ps, grads, strict=False)]

    inputs = (tokens, targets, *[p.detach().clone().requires_grad_() for p in params])
    module = make_fx(step, tracing_mode="fake")(*inputs)
    graph = fxtext.lower([module.print_readable(print_output=False)], tool)[0]
    assert "error" not in graph
    assert graph["unsupported"] == []
    placeholders = [x["name"] for x in graph["inputs"]]
    values = evaluate(graph, dict(zip(placeholders, [x.detach() for x in inputs], strict=False)))
    for got, want in zip(values, step(*inputs), strict=False):
        assert torch.allclose(got, want.detach(), rtol=1e-9, atol=1e-9)


def test_flex_attention_forward_and_backward(tool):
    from torch._higher_order_ops.flex_attention import flex_attention as operator
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.attention.flex_attention import create_block_mask

    def visible(b, h, q, kv):
        return q >= kv

    def changed(s, b, h, q, kv):
        return torch.tanh(s / 2) * 2 + (q - kv) * (h + 1)

    block = create_block_mask(visible, None, None, 8, 8, device="cpu").as_tuple()
    options = {"OUTPUT_LOGSUMEXP": True, "BACKEND": "AUTO", "OUTPUT_MAX": False}

    def step(q, k, v, g):
        out = operator(q, k, v, changed, block, 0.25, options, (), ())[0]
        return (out.detach(), *torch.autograd.grad(out, (q, k, v), g))

    inputs = [f(2, 4, 8, 16), f(2, 2, 8, 16), f(2, 2, 8, 16), f(2, 4, 8, 16)]
    leaves = [x.clone().requires_grad_() for x in inputs[:3]]
    text = make_fx(step, tracing_mode="real")(*leaves, inputs[3]).print_readable(print_output=False)
    graph = fxtext.lower([text], tool)[0]
    assert "error" not in graph
    assert graph["unsupported"] == []
    values = evaluate(graph, dict(zip([x["name"] for x in graph["inputs"]], inputs, strict=False)))

    q, k, v = leaves
    away = torch.arange(8)[:, None] - torch.arange(8)
    s = q @ k.repeat_interleave(2, 1).transpose(-1, -2) * 0.25
    s = (torch.tanh(s / 2) * 2 + away * (torch.arange(4) + 1)[:, None, None]).masked_fill(away < 0, -math.inf)
    out = s.softmax(-1) @ v.repeat_interleave(2, 1)
    for got, want in zip(values, (out, *torch.autograd.grad(out, leaves, inputs[3])), strict=False):
        assert torch.allclose(got, want, rtol=1e-8, atol=1e-8)
