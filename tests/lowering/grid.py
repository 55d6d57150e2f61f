# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Arguments for the operators of the table that neither test_aten.py calls nor PyTorch's own samples (opinfo.py) reach.

Odd ones on purpose: negative dimensions, empty tensors, steps, uneven parts, broadcasting, negative divisors, other types.
"""

import math

import torch
import torch._inductor.inductor_prims

aten, prims = torch.ops.aten, torch.ops.prims
generator = torch.Generator().manual_seed(11)


def f(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def p(*shape):
    return f(*shape).abs() + 0.1


def i(high, *shape, low=0):
    return torch.randint(low, high, shape, generator=generator)


def b(*shape):
    return torch.rand(shape, generator=generator) < 0.5


def c(*shape):
    return torch.complex(f(*shape), f(*shape))


def bitwise():
    for name in ("__and__", "__or__", "__xor__"):
        yield getattr(aten, name).Tensor, (i(9, 2, 3, low=-9), i(9, 3)), {}
        yield getattr(aten, name).Tensor, (b(4), b(4)), {}
        yield getattr(aten, name).Scalar, (i(9, 3, low=-9), 5), {}
        yield getattr(aten, name).Scalar, (b(3), True), {}
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield getattr(aten, name).Scalar, (i(9, 2, 3, low=-9), -3), {}
        yield getattr(aten, name).Scalar, (b(3), False), {}
    yield aten.bitwise_xor.Tensor, (i(9, 2, 3, low=-9), i(9, 3)), {}
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        yield getattr(aten, name).Tensor, (i(9, 2, 3, low=-9), i(5, 3)), {}
        yield getattr(aten, name).Tensor_Scalar, (i(99, 5, low=-99).to(torch.int32), 3), {}
    for name in ("__lshift__", "__rshift__"):
        yield getattr(aten, name).Scalar, (i(99, 5, low=-99), 2), {}


def elementwise():
    yield aten.clamp_max.default, (f(4), 0.3), {}
    yield aten.clamp_max.default, (i(9, 4), 3), {}
    yield aten.clip.default, (f(2, 3), -0.5, 0.5), {}
    yield aten.clip.default, (i(9, 5), None, 4), {}
    yield aten.copysign.Scalar, (f(5), -2.0), {}
    for mode in (None, "floor", "trunc"):
        yield aten.div.Scalar_mode, (i(9, 7, low=-9), -3), {"rounding_mode": mode}
        yield aten.div.Scalar_mode, (f(7) * 5, 1.5), {"rounding_mode": mode}
    yield aten.floor_divide.Scalar, (i(9, 7, low=-9), -2), {}
    yield aten.floor_divide.Scalar, (f(7) * 5, -1.5), {}
    yield aten.fmod.Scalar, (i(9, 7, low=-9), -4), {}
    yield aten.fmod.Scalar, (f(7) * 5, -1.5), {}
    for name in ("greater", "less", "not_equal", "multiply"):
        yield getattr(aten, name).Tensor, (f(2, 1, 3), i(2, 4, 1)), {}
        yield getattr(aten, name).Tensor, (i(3, 5), i(3, 5)), {}
    yield aten.special_expit.default, (f(4) * 3,), {}
    for eps in (None, 0.1):
        yield aten.special_logit.default, (torch.rand(5, generator=generator, dtype=torch.float64), eps), {}
    yield aten.imag.default, (c(3),), {}
    yield aten.conj.default, (c(3),), {}
    yield aten.conj.default, (f(3),), {}
    yield aten.where.Scalar, (b(4), 1.5, -2.5), {}
    yield aten.where.ScalarSelf, (b(4), 2, f(4)), {}
    yield aten.isin.Tensor_Scalar, (i(4, 5), 2), {}
    yield aten.isin.Tensor_Scalar, (i(4, 5), 2), {"invert": True}
    yield aten.fill.Tensor, (f(2, 3), f()), {}
    yield aten.fill.Tensor, (i(5, 3), torch.tensor(2.7, dtype=torch.float64)), {}


def reductions():
    for name in ("all", "any"):
        for dims in ([0, -1], [1], [], None):
            for keep in (False, True):
                yield getattr(aten, name).dims, (b(2, 3, 4), dims, keep), {}
        yield getattr(aten, name).dims, (f(2, 3).round(), [0, 1], True), {}
    yield aten.count_nonzero.dim_IntList, (i(3, 2, 3, 4), [0, -1]), {}
    yield aten.count_nonzero.dim_IntList, (b(2, 0), [1]), {}
    for power in (2, 1, 3.0, math.inf):
        yield aten.norm.ScalarOpt_dim_dtype, (f(2, 3, 4).float(), power, [0, -1], True), {"dtype": torch.float64}
    for function in (aten.special_softmax, aten.special_log_softmax):
        yield function.default, (f(2, 3), -1), {}
        yield function.default, (f(2, 3).float(), 0), {"dtype": torch.float64}


def views():
    x = f(2, 3, 4)
    for func in (aten.adjoint.default, aten.lift.default, aten.contiguous.default, aten.detach_copy.default):
        yield func, (f(2, 3, 4),), {}
    yield aten.adjoint.default, (c(2, 3),), {}
    yield aten._reshape_alias.default, (f(2, 6), [3, 4], [4, 1]), {}
    yield aten._reshape_copy.default, (f(2, 6), [3, -1]), {}
    yield aten._reshape_copy.default, (f(6, 2).t(), [3, 4]), {}
    for func in (aten.concat.default, aten.concatenate.default):
        yield func, ([f(2, 3), f(2, 1), f(2, 0)], -1), {}
        yield func, ([i(3, 2), f(3)],), {}
        yield func, ([torch.empty(0, dtype=torch.float64), f(3, 2)], 0), {}
    yield aten.moveaxis.int, (x, 0, -1), {}
    yield aten.moveaxis.intlist, (x, [0, -1], [1, 0]), {}
    yield aten.movedim.int, (x, -1, 0), {}
    yield aten.swapaxes.default, (x, 0, -1), {}
    yield aten.swapdims.default, (x, -2, 0), {}
    yield aten.select_copy.int, (x, -1, -2), {}
    yield aten.slice_copy.Tensor, (x, 2, 1, 9, 2), {}
    yield aten.slice_copy.Tensor, (x, -1, -3, None), {}
    yield aten.split.default, (f(7, 2), [3, 0, 4]), {}
    yield aten.split.sizes, (f(7, 2), [3, 0, 4], 0), {}
    yield aten.split_copy.Tensor, (f(2, 7), 3, -1), {}
    yield aten.unsafe_split_with_sizes.default, (f(2, 7), [3, 4], -1), {}
    yield aten.squeeze_copy.dims, (f(1, 3, 1), [0, -1]), {}
    yield aten.squeeze_copy.dims, (f(1, 3, 1), [0, 1]), {}
    yield aten.tensor_split.sections, (f(7, 2), 3), {}
    yield aten.tensor_split.sections, (f(2, 5), 4, -1), {}
    yield aten.tensor_split.indices, (f(7, 2), [2, 2, 9]), {}
    yield aten.tensor_split.indices, (f(2, 7), [-3, 5], -1), {}
    yield aten.meshgrid.default, ([f(2), f(3), f()],), {}
    yield aten.view_as_complex_copy.default, (f(3, 2),), {}
    yield aten.view_as_real_copy.default, (c(3),), {}
    yield aten.native_channel_shuffle.default, (f(2, 6, 3, 2), 3), {}
    yield aten.type_as.default, (f(3) * 3, i(3, 1)), {}
    yield aten.type_as.default, (i(3, 4), f(1)), {}
    yield aten.to.dtype_layout, (f(3) * 3,), {"dtype": torch.int32}
    yield aten.to.dtype_layout, (i(9, 3),), {"dtype": torch.float32}
    yield aten.to.other, (f(3) * 3, i(3, 1)), {}
    yield aten.one_hot.default, (i(4, 2, 3), 5), {}
    yield aten.one_hot.default, (i(4, 0), 4), {}
    yield aten.tril_indices.default, (3, 4, -1), {}
    yield aten.triu_indices.default, (4, 3, 1), {"dtype": torch.int32}


def products():
    yield aten.ger.default, (f(3), f(4)), {}
    for padding in ("valid", "same"):
        yield aten.conv1d.padding, (f(2, 4, 9), f(6, 2, 3), f(6), [1], padding, [2], 2), {}
        yield aten.conv1d.padding, (f(2, 3, 9), f(4, 3, 4), None, [1], padding), {}
        yield aten.conv2d.padding, (f(2, 3, 7, 6), f(4, 3, 2, 3), f(4), [1, 1], padding, [1, 2]), {}
    yield aten.conv1d.padding, (f(2, 3, 9), f(4, 3, 3), None, [2], "valid"), {}


def indexing():
    yield aten._unsafe_index.Tensor, (f(4, 5), [i(4, 3, low=-4), None]), {}
    yield aten._unsafe_index.Tensor, (f(4, 5), [None, i(5, 2, 2)]), {}
    yield aten._unsafe_index_put.default, (f(4, 5), [torch.tensor([3, -3]), None], f(5)), {}
    yield aten._unsafe_index_put.default, (f(4, 5), [torch.tensor([1, 1]), torch.tensor([0, 0])], f(2), True), {}
    yield aten._index_put_impl.default, (f(4, 5), [torch.tensor([3, 1])], f(2, 5), False, True), {}
    yield aten._index_put_impl.default, (f(4, 5), [torch.tensor([3, 3])], f(2, 5), True), {}
    for reduce in ("add", "multiply"):
        yield aten.scatter.reduce, (f(4, 5), 1, i(5, 4, 3), f(4, 3)), {"reduce": reduce}
        yield aten.scatter.reduce, (f(4, 5), -2, i(4, 2, 5), f(3, 5)), {"reduce": reduce}
        yield aten.scatter.value_reduce, (f(4, 5), 1, i(5, 4, 3), 1.5), {"reduce": reduce}
        yield aten.scatter.value_reduce, (i(9, 4, 5), 0, i(4, 2, 5), 3), {"reduce": reduce}


def pads():
    for kind, dims in (("reflection", 2), ("reflection", 3), ("replication", 2), ("replication", 3)):
        x = f(2, 3, *[5] * dims)
        pad = [1, 2, 0, 3, 2, 1][: 2 * dims]
        forward = getattr(aten, f"{kind}_pad{dims}d").default
        yield forward, (x, pad), {}
        yield forward, (x[0], [2, 0, 1, 1, 0, 2][: 2 * dims]), {}
        out = forward(x, pad)
        yield getattr(aten, f"{kind}_pad{dims}d_backward").default, (f(*out.shape), x, pad), {}


def pools():
    x2, x3 = f(2, 3, 6, 7), f(1, 2, 5, 6, 7)
    yield aten.max_pool2d.default, (x2, [3, 2]), {}
    yield aten.max_pool2d.default, (x2, [3, 2], [2, 1], [1, 0], [1, 2], True), {}
    yield aten.max_pool3d.default, (x3, [2, 3, 2], [1, 2, 2], [1, 1, 0], [2, 1, 1]), {}
    yield aten.max_pool3d_with_indices.default, (x3, [2, 3, 2], [1, 2, 2], [1, 1, 0]), {}
    for dims in (1, 2, 3):
        x = f(2, 3, *[4, 5, 3][:dims])
        to = [8, 15, 6][:dims]
        plain = getattr(aten, f"upsample_nearest{dims}d")
        yield plain.default, (x, to), {}
        yield plain.default, (x, [7, 3, 4][:dims]), {}
        yield plain.vec, (x, to, None), {}
        yield plain.vec, (x, None, [2.0, 3.0, 2.0][:dims]), {}
        yield getattr(aten, f"upsample_nearest{dims}d_backward").default, (f(2, 3, *to), to, list(x.shape)), {}
        if dims < 3:
            exact = getattr(aten, f"_upsample_nearest_exact{dims}d").default
            yield exact, (x, to), {}
            yield exact, (x, [7, 10][:dims]), {}


def norms():
    x, w = f(4, 3, 5), f(3)
    yield aten._native_batch_norm_legit.no_stats, (x, w, f(3), True, 0.1, 1e-5), {}
    yield aten._native_batch_norm_legit.no_stats, (x, None, None, True, 0.1, 1e-3), {}
    yield aten._native_batch_norm_legit_no_training.default, (x, w, f(3), f(3), p(3), 0.1, 1e-5), {}
    yield aten._batch_norm_with_update_functional.default, (x, w, f(3), f(3), p(3), 0.1, 1e-5), {}
    for stats in (True, False):
        yield aten.instance_norm.default, (x, w, f(3), None, None, True, 0.1, 1e-5, False), {}
        yield aten.instance_norm.default, (x, None, None, f(3), p(3), stats, 0.1, 1e-5, False), {}
    for dim in (0, 2):
        v, g = f(4, 3, 5), p(*[n if d == dim else 1 for d, n in enumerate((4, 3, 5))])
        yield aten._weight_norm_interface.default, (v, g, dim), {}
        _out, norm = aten._weight_norm_interface.default(v, g, dim)
        yield aten._weight_norm_interface_backward.default, (f(4, 3, 5), v, g, norm, dim), {}
    yield aten.nll_loss.default, (f(5, 4), torch.tensor([0, -100, 3, 2, 1])), {}
    yield aten.nll_loss.default, (f(5, 4), i(4, 5), p(4), 2, 1), {}
    yield aten.nll_loss2d.default, (f(2, 4, 3, 3), i(4, 2, 3, 3), p(4), 1, 2), {}


def optimizers():
    settings = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01, "eps": 1e-8}
    for kind in ("adam", "adamw"):
        for amsgrad in (False, True):
            for maximize in (False, True):
                state = [f(3), f(2)], [f(3), f(2)], [f(3), f(2)], [p(3), p(2)], [p(3), p(2)] if amsgrad else []
                steps = [torch.tensor(3.0), torch.tensor(1.0)]
                more = dict(settings, amsgrad=amsgrad, maximize=maximize)
                for suffix in ("", "_"):
                    packet = getattr(aten, f"_fused_{kind}{suffix}")
                    yield packet.default, (*state, steps), more
                    yield packet.tensor_lr, (*state, steps), dict(more, lr=torch.tensor(0.1, dtype=torch.float64))
    for first in (False, True):
        for nesterov in (False, True):
            more = {
                "weight_decay": 0.1,
                "momentum": 0.9,
                "lr": 0.1,
                "dampening": 0.0 if nesterov else 0.2,
                "nesterov": nesterov,
                "maximize": False,
                "is_first_step": first,
            }
            for suffix in ("", "_"):
                packet = getattr(aten, f"_fused_sgd{suffix}")
                yield packet.default, ([f(3)], [f(3)], [f(3)]), more
                yield packet.tensor_lr, ([f(3)], [f(3)], [f(3)]), dict(more, lr=torch.tensor(0.1, dtype=torch.float64))


def primitives():
    yield prims.broadcast_in_dim.default, (f(3, 1), [2, 3, 4], [1, 2]), {}
    yield prims.broadcast_in_dim.default, (f(), [2, 3], []), {}
    yield prims.cat.default, ([f(2, 3), f(2, 1)], 1), {}
    yield prims.clone.default, (f(3),), {}
    yield prims.convert_element_type.default, (f(3) * 3, torch.int64), {}
    yield prims.convert_element_type.default, (b(3), torch.float32), {}
    yield prims.device_put.default, (f(3), torch.device("cpu")), {}
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield getattr(prims, name).default, (i(3, 6), i(3, 6)), {}
        yield getattr(prims, name).default, (f(6), f(6)), {}
    yield prims.fma.default, (f(4), f(4), f(4)), {}
    yield (
        prims.full.default,
        ([2, 3], 1.5),
        {"dtype": torch.float64, "device": torch.device("cpu"), "requires_grad": False},
    )
    yield (
        prims.full_like.default,
        (f(2, 3), 2.5),
        {"dtype": torch.float64, "device": torch.device("cpu"), "requires_grad": False},
    )
    for step in (3, -2):
        yield (
            prims.iota.default,
            (5,),
            {"start": 2, "step": step, "dtype": torch.int64, "device": torch.device("cpu"), "requires_grad": False},
        )
    yield prims.rev.default, (f(2, 3, 4), [0, 2]), {}
    yield prims.scalar_tensor.default, (2.5,), {"dtype": torch.float64, "device": torch.device("cpu")}
    yield prims.squeeze.default, (f(1, 3, 1), [0, 2]), {}
    yield prims.sum.default, (f(2, 3, 4), [0, 2]), {}
    yield prims.transpose.default, (f(2, 3, 4), [2, 0, 1]), {}
    yield prims.view_of.default, (f(3),), {}
    yield prims.where.default, (b(4), f(4), f(4)), {}


def calls():
    for family in (
        bitwise,
        elementwise,
        reductions,
        views,
        products,
        indexing,
        pads,
        pools,
        norms,
        optimizers,
        primitives,
    ):
        yield from family()
