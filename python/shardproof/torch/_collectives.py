# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Raw c10d calls become functional collectives: `dist.all_reduce(x)` is traced as an operator that writes into x and names its group by an
object; here it becomes all_reduce, wait_tensor and a copy into x, with the group's name, and functionalisation does the rest.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from shardproof.torch._errors import CaptureError

_F = torch.ops._c10d_functional


def _group(handle: Any) -> dist.ProcessGroup:
    return handle if isinstance(handle, dist.ProcessGroup) else dist.ProcessGroup.unbox(handle)


def _name(handle: Any) -> str:
    return str(_group(handle).group_name)


@contextlib.contextmanager
def plain_reductions() -> Iterator[None]:
    """Inside, PREMUL_SUM, which FSDP asks for when it does not average, is a product and a sum: a traced graph does not keep the factor."""
    names = [n for n in ("all_reduce", "reduce_scatter_tensor", "reduce_scatter_single") if hasattr(dist, n)]
    originals = {n: getattr(dist, n) for n in names}

    def plain(name: str) -> Callable[..., Any]:
        function = originals[name]
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            op = (given := signature.bind(*args, **kwargs)).arguments.get("op")
            if getattr(op, "op", None) != dist.ReduceOp.RedOpType.PREMUL_SUM:
                return function(*args, **kwargs)
            key, factor = "tensor" if name == "all_reduce" else "input", getattr(op, "factor", None)
            if not isinstance(factor, float):
                raise CaptureError("the reduction PREMUL_SUM by a tensor is not supported")
            if factor != 1 and name == "all_reduce":
                given.arguments[key].mul_(factor)
            elif factor != 1:
                given.arguments[key] = given.arguments[key] * factor
            given.arguments["op"] = dist.ReduceOp.SUM
            return function(*given.args, **given.kwargs)

        return call

    for name in names:
        setattr(dist, name, plain(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(dist, name, original)


def _reduce_op(handle: Any) -> str:
    from torch.distributed._functional_collectives import REDUCE_OP_TO_STR

    op = dist.ReduceOp.RedOpType(handle.op()) if isinstance(handle, torch.ScriptObject) else handle
    if op not in REDUCE_OP_TO_STR:
        raise CaptureError(f"the reduction {op} of a collective is not supported")
    return str(REDUCE_OP_TO_STR[op])


def _done(x: torch.Tensor) -> torch.Tensor:
    return _F.wait_tensor(x)


def _copy(target: torch.Tensor, value: torch.Tensor) -> None:
    target.copy_(value.reshape(target.shape))


def _all_reduce(tensors: Sequence[torch.Tensor], pg: Any, op: Any, *_: Any) -> Any:
    for x in tensors:
        _copy(x, _done(_F.all_reduce(x, _reduce_op(op), _name(pg))))
    return list(tensors), None


def _gather(x: torch.Tensor, pg: Any) -> torch.Tensor:
    return _done(_F.all_gather_into_tensor(x.contiguous(), _group(pg).size(), _name(pg)))


def _scatter(x: torch.Tensor, pg: Any, op: Any) -> torch.Tensor:
    return _done(_F.reduce_scatter_tensor(x.contiguous(), _reduce_op(op), _group(pg).size(), _name(pg)))


def _all_gather_base(out: torch.Tensor, x: torch.Tensor, pg: Any, *_: Any) -> Any:
    _copy(out, _gather(x, pg))
    return out, None


def _all_gather(outs: Sequence[Sequence[torch.Tensor]], xs: Sequence[torch.Tensor], pg: Any, *_: Any) -> Any:
    for targets, x in zip(outs, xs, strict=True):
        flat = _gather(x.reshape(1, -1), pg)
        for index, target in enumerate(targets):
            _copy(target, flat[index])
    return [list(t) for t in outs], None


def _gather_coalesced(outs: Sequence[torch.Tensor], xs: Sequence[torch.Tensor], pg: Any, *_: Any) -> Any:
    for out, x in zip(outs, xs, strict=True):
        _copy(out, _gather(x, pg))


def _reduce_scatter_base(out: torch.Tensor, x: torch.Tensor, pg: Any, op: Any, *_: Any) -> Any:
    _copy(out, _scatter(x, pg, op))
    return out, None


def _reduce_scatter(
    outs: Sequence[torch.Tensor], xs: Sequence[Sequence[torch.Tensor]], pg: Any, op: Any, *_: Any
) -> Any:
    for out, parts in zip(outs, xs, strict=True):
        _copy(out, _scatter(torch.stack([p.reshape(-1) for p in parts]), pg, op))
    return list(outs), None


def _scatter_coalesced(outs: Sequence[torch.Tensor], xs: Sequence[torch.Tensor], pg: Any, op: Any, *_: Any) -> Any:
    for out, x in zip(outs, xs, strict=True):
        _copy(out, _scatter(x, pg, op))


def _all_to_all_base(
    out: torch.Tensor, x: torch.Tensor, pg: Any, out_splits: Sequence[int], in_splits: Sequence[int], *_: Any
) -> Any:
    size = _group(pg).size()
    out_splits = list(out_splits) or [out.shape[0] // size] * size
    in_splits = list(in_splits) or [x.shape[0] // size] * size
    _copy(out, _done(_F.all_to_all_single(x.contiguous(), out_splits, in_splits, _name(pg))))


def _all_to_all(outs: Sequence[torch.Tensor], xs: Sequence[torch.Tensor], pg: Any, *_: Any) -> Any:
    flat = torch.cat([x.reshape(-1) for x in xs])
    received = _done(_F.all_to_all_single(flat, [o.numel() for o in outs], [x.numel() for x in xs], _name(pg)))
    for out, part in zip(outs, torch.split(received, [o.numel() for o in outs]), strict=True):
        _copy(out, part)
    return list(outs), None


def _broadcast(tensors: Sequence[torch.Tensor], pg: Any, root: int, root_tensor: int = 0, *_: Any) -> Any:
    for x in tensors:
        _copy(x, _done(_F.broadcast(x, root, _name(pg))))
    return list(tensors), None


def _send(tensors: Sequence[torch.Tensor], pg: Any, dst: int, tag: int) -> Any:
    for x in tensors:
        _done(_F.isend(x, dist.get_global_rank(_group(pg), dst), tag, _name(pg)))


def _recv(tensors: Sequence[torch.Tensor], pg: Any, src: int, tag: int) -> Any:
    for x in tensors:
        _copy(x, _done(_F.irecv(x, dist.get_global_rank(_group(pg), src), tag, _name(pg))))


def _fsdp_copy_in(
    inputs: Sequence[torch.Tensor], output: torch.Tensor, sizes: Sequence[int], numel: int, rank: int
) -> Any:
    """FSDP2 packs the parameters of a block into its part of the gathered buffer."""
    mine = output.narrow(0, numel * rank, numel)
    for target, source in zip(torch.split(mine, list(sizes)), inputs, strict=True):
        _copy(target, source)
    return mine, output


def _fsdp_split_out(gathered: torch.Tensor, sizes: Sequence[int], dim: int = 0, *, out: Sequence[torch.Tensor]) -> None:
    for target, part in zip(out, torch.split(gathered, list(sizes), dim), strict=True):
        _copy(target, part)


def _fsdp_chunk_cat(tensors: Sequence[torch.Tensor], dim: int, chunks: int, *, out: torch.Tensor) -> list[torch.Tensor]:
    """Row i of the result holds the i-th chunk of every tensor, padded with zeros to equal chunks. Returns each tensor's columns."""
    columns = []
    for x in tensors:
        if dim != 0:
            raise CaptureError("FSDP's chunk_cat on a dimension other than 0 is not supported")
        missing = -x.shape[0] % chunks
        if missing:
            x = torch.cat([x, x.new_zeros((missing, *x.shape[1:]))])
        columns.append(x.reshape(chunks, -1))
    _copy(out, torch.cat(columns, 1))
    return columns


_FSDP_REWRITES: dict[str, Callable[..., Any]] = {
    "all_gather_copy_in": _fsdp_copy_in,
    "split_with_sizes_copy": _fsdp_split_out,
    "chunk_cat": _fsdp_chunk_cat,
}

_REWRITES: dict[str, Callable[..., Any]] = {
    "allreduce_": _all_reduce,
    "allreduce_coalesced_": _all_reduce,
    "_allgather_base_": _all_gather_base,
    "allgather_": _all_gather,
    "allgather_into_tensor_coalesced_": _gather_coalesced,
    "_reduce_scatter_base_": _reduce_scatter_base,
    "reduce_scatter_": _reduce_scatter,
    "reduce_scatter_tensor_coalesced_": _scatter_coalesced,
    "alltoall_base_": _all_to_all_base,
    "alltoall_": _all_to_all,
    "broadcast_": _broadcast,
    "send": _send,
    "recv_": _recv,
    "barrier": lambda *_: None,
    "monitored_barrier_": lambda *_: None,
}


def _as_view(
    x: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None = None
) -> torch.Tensor | None:
    """as_strided speaks of memory; where it only cuts off and reshapes a contiguous tensor (FSDP2 does that), it is a slice and a view."""
    count = 1
    expected: list[int] = []
    for n in reversed(size):
        expected.insert(0, count)
        count *= n
    contiguous = all(n == 1 or s == e for n, s, e in zip(size, stride, expected, strict=True))
    start = x.storage_offset() if offset is None else offset
    if not contiguous or not x.is_contiguous() or x.storage_offset() != 0 or start + count > x.numel():
        return None
    flat = x.reshape(-1)
    return (flat if start == 0 and count == x.numel() else flat.narrow(0, start, count)).view(list(size))


def _op(node: torch.fx.Node) -> str:
    return node.target._schema.name.split("::")[1] if isinstance(node.target, torch._ops.OpOverload) else ""


def _is_view(node: torch.fx.Node) -> bool:
    """A view of the whole tensor, with nothing but another shape."""
    return node.op == "call_function" and _op(node) in ("view", "detach", "alias", "_unsafe_view")


def _viewed(node: Any) -> torch.fx.Node | None:
    """The tensor that a node is a view of."""
    while isinstance(node, torch.fx.Node) and _is_view(node):
        node = node.args[0]
    return node if isinstance(node, torch.fx.Node) else None


def _is_multiple(node: torch.fx.Node) -> bool:
    """A product with a number."""
    return node.op == "call_function" and node.target is torch.ops.aten.mul.Tensor and isinstance(node.args[1], float)


def _users(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Who reads or writes the node or a view of it."""
    out = list(node.users)
    for user in out:
        if _is_view(user) or _is_multiple(user):
            out += user.users
    return out


class Rewriter(torch.fx.Interpreter):
    """Runs a traced graph with raw c10d operators replaced.

    FSDP packs the gradients of a block into one buffer and scatters that. The same values come from scattering each gradient by itself, and no
    reader of the captured program has to take the buffer apart again.
    """

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self._node: torch.fx.Node | None = None
        self._packed: dict[torch.fx.Node, list[torch.Tensor]] = {}  # buffer -> the columns that fill it
        self._pieces: dict[
            torch.fx.Node, list[int]
        ] = {}  # scattered buffer -> how many elements each gradient has there

    def run_node(self, n: torch.fx.Node) -> Any:
        self._node = n
        return super().run_node(n)

    def _pack(self, columns: list[torch.Tensor]) -> None:
        assert self._node is not None
        buffer = _viewed(self._node.kwargs.get("out"))
        # Only where nothing else reads or writes the buffer.
        allowed = ("chunk_cat", "_reduce_scatter_base_")
        if buffer is not None and all(_is_view(u) or _is_multiple(u) or _op(u) in allowed for u in _users(buffer)):
            self._packed[buffer] = columns

    def _unpacked(self, out: torch.Tensor, pg: Any, op: Any) -> Any:
        """The reduce-scatter of a packed buffer, gradient by gradient; None if its input is no such buffer."""
        assert self._node is not None
        source, factor = self._node.args[1], 1.0
        if isinstance(source, torch.fx.Node) and _is_multiple(source):
            source, factor = source.args[0], source.args[1]  # type: ignore[assignment]
        buffer = _viewed(source)
        columns = None if buffer is None else self._packed.get(buffer)
        if columns is None or sum(c[0].numel() for c in columns) != out.numel():
            return None
        parts = [_scatter(c if factor == 1 else c * factor, pg, op).reshape(-1) for c in columns]
        _copy(out, torch.cat(parts))
        if (scattered := _viewed(self._node.args[0])) is not None:
            self._pieces[scattered] = [p.numel() for p in parts]
        return out, None

    def _reduced_by_pieces(self, tensors: Sequence[torch.Tensor], pg: Any, op: Any) -> Any:
        """HSDP then reduces the scattered buffer over the replicas: gradient by gradient again; None if it is no such buffer."""
        assert self._node is not None
        nodes = self._node.args[0]
        if len(tensors) != 1 or not isinstance(nodes, (list, tuple)):
            return None
        sizes = self._pieces.get(_viewed(nodes[0]))  # type: ignore[arg-type]
        (x,) = tensors
        if sizes is None or sum(sizes) != x.numel():
            return None
        pieces = torch.split(x.reshape(-1), sizes)
        _copy(x, torch.cat([_done(_F.all_reduce(p, _reduce_op(op), _name(pg))) for p in pieces]))
        return list(tensors), None

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(target, torch._ops.OpOverload) and target.namespace == "c10d":
            name = target._schema.name.split("::")[1]
            if name not in _REWRITES:
                raise CaptureError(
                    f"the collective dist.{name.strip('_')} is not supported; use its functional form from torch.distributed._functional_collectives"
                )
            if name == "_reduce_scatter_base_" and (done := self._unpacked(args[0], args[2], args[3])) is not None:
                return done
            if name == "allreduce_" and (done := self._reduced_by_pieces(args[0], args[1], args[2])) is not None:
                return done
            return _REWRITES[name](*args, **kwargs)
        if target is torch.ops.aten.as_strided.default and (plain := _as_view(*args, **kwargs)) is not None:
            return plain
        if isinstance(target, torch._ops.OpOverload) and target.namespace == "fsdp":
            name = target._schema.name.split("::")[1]
            if name not in _FSDP_REWRITES:
                raise CaptureError(f"FSDP's operator {name} is not supported")
            made = _FSDP_REWRITES[name](*args, **kwargs)
            if name == "chunk_cat":
                self._pack(made)
                return None
            return made
        if isinstance(target, torch._ops.OpOverload) and target.namespace == "_c10d_functional":
            # A group may be given as an object instead of its name.
            args = tuple(_name(a) if isinstance(a, (torch.ScriptObject, dist.ProcessGroup)) else a for a in args)
        return super().call_function(target, args, kwargs)


def group_table() -> dict[str, list[int]]:
    """Every process group of this rank: its name and its ranks."""
    if not dist.is_initialized():
        return {}
    world = dist.distributed_c10d._world
    return {str(name): list(dist.get_process_group_ranks(pg)) for pg, name in world.pg_names.items()}
