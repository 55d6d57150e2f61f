# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Capturing PyTorch programs: what is captured computes what the manifest says, and mistakes show."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import lockstep  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module  # noqa: E402

import shardproof.torch as sp  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 6)
        self.norm = nn.LayerNorm(6)
        self.up = nn.Linear(6, 8)
        self.down = nn.Linear(8, 6)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        h = self.embed(tokens)
        h = h + self.down(torch.relu(self.up(self.norm(h))))
        return F.mse_loss(h, target)


BATCH = (torch.zeros(4, 5, dtype=torch.int64), torch.zeros(4, 5, 6))


def tensor_parallel(model: nn.Module, mesh: Any) -> nn.Module:
    return parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})


def differing(capture: sp.Capture) -> set[str]:
    return {n for n, d in lockstep.compare(capture).items() if d > 1e-4}


def test_one_program() -> None:
    program = sp.capture(Net, BATCH)
    assert [v.name for v in program.inputs][-2:] == ["tokens", "target"]
    assert [v.name for v in program.outputs][:2] == ["loss", "grad_embed_weight"]
    assert "calls" in [v.fqn for v in program.inputs]
    assert program.facts == {"tokens": "tokens in [0, 16)"}
    assert "code: h = h + self.down(torch.relu(self.up(self.norm(h))))" in program.graph
    assert str(pathlib.Path(__file__).parent.parent) not in program.graph  # no path of this machine
    # Backward operators carry the line of the forward one.
    before = program.graph.split("threshold_backward")[0]
    assert "self.down(torch.relu" in before[before.rindex("# File:") :]


def test_forward_only() -> None:
    program = sp.capture(Net, BATCH, backward=False)
    assert [v.kind for v in program.outputs] == ["value"]


def test_tensor_parallel() -> None:
    capture = sp.capture_pair(Net, tensor_parallel, {"tp": 2}, BATCH)
    inputs = capture.manifest.to_dict()["inputs"]
    assert inputs["up_weight"] == "Shard(0)@tp"
    assert inputs["down_weight"] == "Shard(1)@tp"
    assert inputs["down_bias"] == "Replicate"
    assert differing(capture) == set()


def test_sequence_parallel_gradients_are_partial() -> None:
    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        plan = {
            "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
            "norm": SequenceParallel(),
            "up": ColwiseParallel(input_layouts=Shard(1)),
            "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        }
        return parallelize_module(model, mesh["tp"], plan)

    def step(model: nn.Module, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        h = model.embed(tokens)
        h = h + model.down(torch.relu(model.up(model.norm(h))))
        return F.mse_loss(h.full_tensor() if hasattr(h, "full_tensor") else h, target)

    tokens, target = torch.zeros(4, 6, dtype=torch.int64), torch.zeros(4, 6, 6)
    capture = sp.capture_pair(Net, parallelize, {"tp": 2}, (tokens, target), step=step)
    outputs = capture.manifest.to_dict()["outputs"]
    assert outputs["grad_norm_weight"]["expect"] == "Partial(sum)@tp"
    assert differing(capture) == set()


def test_fully_sharded_uneven() -> None:
    from torch.distributed.fsdp import fully_shard

    def parallelize(model: nn.Module, mesh: Any) -> None:
        fully_shard(model.up, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])

    batch = (torch.zeros(6, 5, dtype=torch.int64), torch.zeros(6, 5, 6))
    capture = sp.capture_pair(Net, parallelize, {"dp": 3}, batch)
    manifest = capture.manifest.to_dict()
    assert manifest["inputs"]["up_weight"] == "Shard(0)@dp"
    assert manifest["inputs"]["tokens"] == "Shard(0)@dp"
    assert manifest["outputs"]["loss"]["expect"] == "Partial(avg)@dp"
    assert differing(capture) == set()


def test_two_axes() -> None:
    from torch.distributed.fsdp import fully_shard

    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        tensor_parallel(model, mesh)
        return fully_shard(model, mesh=mesh["dp"])

    capture = sp.capture_pair(Net, parallelize, {"dp": 2, "tp": 2}, BATCH)
    manifest = capture.manifest.to_dict()
    assert manifest["inputs"]["up_weight"] == "Shard(0, blocks=2)@dp, Shard(0)@tp"
    assert manifest["groups"] == {"dp": "dp", "tp": "tp"}
    assert differing(capture) == set()


def all_reduce_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad.div_(dist.get_world_size())


def test_eager_collectives_and_a_missing_one() -> None:
    capture = sp.capture_pair(Net, None, {"dp": 2}, BATCH, after_backward=all_reduce_gradients)
    assert "_c10d_functional.all_reduce" in capture.ranks[0].graph
    assert "c10d.allreduce_" not in capture.ranks[0].graph
    assert differing(capture) == set()
    forgotten = sp.capture_pair(Net, None, {"dp": 2}, BATCH)
    assert "grad_up_weight" in differing(forgotten)
    assert "loss" not in differing(forgotten)


def test_optimizer_step() -> None:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.01)

    capture = sp.capture_pair(Net, None, {"dp": 2}, BATCH, after_backward=all_reduce_gradients, optimizer=optimizer)
    names = [v.name for v in capture.sequential.outputs]
    assert "new_up_weight" in names
    assert "new_up_weight_exp_avg_sq" in names
    assert capture.manifest.to_dict()["outputs"]["new_up_weight"]["role"] == "updated"
    assert differing(capture) == set()


class Counting(Net):
    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return super().forward(tokens, target) * self.calls


def test_written_buffers_are_outputs() -> None:
    program = sp.capture(Counting, BATCH)
    assert program.outputs[-1].name == "new_calls"
    assert program.outputs[-1].kind == "updated"
    assert "copy_" not in program.graph


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, 4)
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(self.embed(tokens)).flatten(0, 1), tokens.flatten())


def test_tied_weights_are_one_input_with_one_gradient() -> None:
    program = sp.capture(Tied, (torch.zeros(2, 3, dtype=torch.int64),))
    assert [v.fqn for v in program.inputs] == ["embed.weight", "tokens"]
    assert [v.name for v in program.outputs] == ["loss", "grad_embed_weight"]


def triple(parameter: torch.Tensor) -> None:
    parameter.grad.mul_(3)


class Hooked(Net):
    def __init__(self) -> None:
        super().__init__()
        self.up.weight.register_post_accumulate_grad_hook(triple)


def test_gradient_hooks_run() -> None:
    plain, hooked = sp.capture(Net, BATCH, build="cpu"), sp.capture(Hooked, BATCH, build="cpu")
    assert hooked.operators > plain.operators


class Checkpointed(Net):
    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        from torch.utils.checkpoint import checkpoint

        h = self.embed(tokens)
        h = h + checkpoint(
            lambda x: self.down(torch.relu(self.up(x))), self.norm(h), use_reentrant=False, preserve_rng_state=False
        )
        return F.mse_loss(h, target)


def test_checkpointing_recomputes() -> None:
    assert sp.capture(Checkpointed, BATCH).graph.count("ops.aten.relu") == 2
    assert sp.capture(Net, BATCH).graph.count("ops.aten.relu") == 1


class Dropless(Net):
    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        counts = torch.bincount(tokens.flatten(), minlength=16).tolist()
        return super().forward(tokens, target) * len(counts)


def test_data_dependent_shapes_are_reported_with_the_line() -> None:
    with pytest.raises(sp.CaptureError) as caught:
        sp.capture(Dropless, BATCH)
    assert "test_torch.py" in str(caught.value)
    assert "counts = torch.bincount" in str(caught.value)
    assert "capacity" in str(caught.value)


class Hidden(Net):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.ones(6)

    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens, target * self.table)


def test_hidden_tensors() -> None:
    """A tensor that is no buffer has no value on the meta device; built for real it is a constant."""
    with pytest.raises(sp.CaptureError, match="build='cpu'"):
        sp.capture(Hidden, BATCH)
    program = sp.capture(Hidden, BATCH, build="cpu")
    assert [v.tolist() for v in program.constants.values()] == [[1.0] * 6]


def test_inputs_that_the_user_places() -> None:
    with pytest.raises(sp.CaptureError, match="the inputs are tokens, target"):
        sp.capture_pair(Net, None, {"dp": 2}, BATCH, input_placements={"labels": "Shard(0)@dp"})
    with pytest.raises(sp.CaptureError, match="axis 'tp'"):
        sp.capture_pair(Net, None, {"dp": 2}, BATCH, input_placements={"tokens": "Shard(0)@tp"})
    capture = sp.capture_pair(
        Net, None, {"dp": 2}, BATCH, input_placements={"tokens": "Shard(1)@dp", "target": "Shard(1)@dp"}, backward=False
    )
    assert capture.manifest.to_dict()["inputs"]["tokens"] == "Shard(1)@dp"


class Wider(Net):
    def __init__(self) -> None:
        super().__init__()
        self.extra = nn.Linear(2, 2)


def test_models_that_do_not_belong_together() -> None:
    with pytest.raises(sp.CaptureError, match=r"extra\.bias"):
        sp.capture_pair(Net, None, {"dp": 2}, BATCH, distributed_model=Wider)


class Staged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({str(i): nn.Linear(6, 6) for i in range(4)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x


def every_other_layer(module: nn.Module) -> None:
    for index in range(4):
        if index % 2 != dist.get_rank():
            del module.layers[str(index)]


def test_interleaved_schedule(binary: pathlib.Path) -> None:
    """Two stages a rank, which are not neighbours."""
    from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B

    import shardproof.torch.pipelining as pp

    def schedule(module: Any) -> Any:
        example = torch.empty(2, 6, requires_grad=True)
        shapes = {"input_args": (example,), "output_args": (example,)}
        parts = [
            PipelineStage(nn.Sequential(module.layers[str(i)], nn.Tanh()), i, 4, torch.device("cpu"), **shapes)
            for i in (dist.get_rank(), dist.get_rank() + 2)
        ]
        return ScheduleInterleaved1F1B(parts, n_microbatches=4, loss_fn=F.mse_loss)

    x = torch.zeros(8, 6)
    report = pp.verify(Staged, every_other_layer, schedule, stages=2, inputs=(x, x), loss_fn=F.mse_loss)
    assert report.proved, str(report)
    assert report.output("gradient of layers.2.weight").relation == "On(0)@pp"


def own_stage(module: nn.Module) -> None:
    for index in range(4):
        if index // 2 != dist.get_rank():
            del module.layers[str(index)]


@pytest.mark.parametrize("kind", ["ScheduleGPipe", "Schedule1F1B"])
def test_pipeline_schedules(kind: str) -> None:
    import shardproof.torch.pipelining as pp

    def schedule(module: nn.Module) -> Any:
        import torch.distributed.pipelining as pipelining

        example = torch.empty(2, 6, requires_grad=True)
        stage = pipelining.PipelineStage(
            module, dist.get_rank(), 2, torch.device("cpu"), input_args=(example,), output_args=(example,)
        )
        return getattr(pipelining, kind)(stage, 4, loss_fn=F.mse_loss)

    inputs = (torch.zeros(8, 6), torch.zeros(8, 6))
    capture = pp.capture(Staged, own_stage, schedule, stages=2, inputs=inputs, loss_fn=F.mse_loss)
    manifest = capture.manifest.to_dict()
    assert manifest["inputs"]["layers_0_weight"] == "On(0)@pp"
    assert manifest["outputs"]["loss"]["dist"] == [None, "loss"]
    assert "_c10d_functional.isend" in capture.ranks[0].graph
    assert differing(capture) == set()


@pytest.mark.parametrize("form", ["fx", "json"])
def test_verify(binary: pathlib.Path, tmp_path: pathlib.Path, form: str) -> None:
    report = sp.verify(Net, tensor_parallel, {"tp": 2}, BATCH, form=form, save=tmp_path / "bundle")
    assert report.verdict == "PROVED", str(report)
    assert (tmp_path / "bundle" / "case.json").exists()
    wrong = sp.verify(Net, None, {"dp": 2}, BATCH, form=form)
    assert wrong.verdict == "REFUTED"
    assert wrong.output("loss").status == "PROVED"
    assert wrong.output("grad_up_weight").status == "REFUTED"


def test_operators_are_named_after_their_modules() -> None:
    graph = sp.capture(Net, BATCH).graph
    assert "up_addmm" in graph  # forward
    before = graph.split("up_addmm:")[0].rpartition("# File:")[2]
    assert "test_torch.py" in before.splitlines()[0]  # the line that calls the layer
    assert "No stacktrace" not in before
    assert "down_mm" in graph  # backward: the gradient of the module's own product
    assert "<module>" not in graph


def test_bundle_in_one_file(tmp_path: pathlib.Path) -> None:
    import shardproof

    made = sp.capture_pair(Net, tensor_parallel, {"tp": 2}, BATCH)
    bundle = made.save(tmp_path / "net.zip")
    assert [p.name for p in tmp_path.iterdir()] == ["net.zip"]
    assert shardproof.check(bundle).outputs == made.check().outputs


def test_fully_sharded_over_tensor_parallel_is_proved() -> None:
    """The gradients of a block are packed into one buffer; each has another size and another cut."""
    from torch.distributed.fsdp import fully_shard

    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        tensor_parallel(model, mesh)
        return fully_shard(model, mesh=mesh["dp"])

    capture = sp.capture_pair(Net, parallelize, {"dp": 2, "tp": 2}, BATCH)
    assert differing(capture) == set()
    assert capture.check().proved


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_gradients_that_fsdp_divides_by_a_factor(factor: float) -> None:
    """FSDP then asks for PREMUL_SUM, whose factor a traced graph does not keep."""
    from torch.distributed.fsdp import fully_shard

    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        made = fully_shard(model, mesh=mesh["dp"])
        made.set_gradient_divide_factor(factor)
        return made

    def part(model: nn.Module, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return model(tokens, target) * (factor / 2)

    capture = sp.capture_pair(
        Net, parallelize, {"dp": 2}, BATCH, distributed_step=part, expect={"loss": "Partial(sum)@dp"}
    )
    assert differing(capture) == (set() if factor == 1 else {"loss"})
    statuses = {o.name: o.status for o in capture.check().outputs if o.name != "loss"}
    assert set(statuses.values()) == {"PROVED"}


def test_ranks_that_are_alike() -> None:
    """Of four data-parallel ranks the first, its neighbour and the last are captured; the report says what was assumed of the other."""
    capture = sp.capture_pair(Net, None, {"dp": 4}, BATCH, after_backward=all_reduce_gradients, alike=["dp"])
    assert [p.rank for p in capture.ranks] == [0, 1, 2, 3]
    assert [p.seconds == 0 for p in capture.ranks] == [False, False, True, False]
    assert "ranks 0, 1, 2, 3 are assumed to run one program: 0, 1, 3 were captured and are equal" in capture.notes
    assert capture.manifest.to_dict()["distributed"] == ["rank0.fx.txt"] * 4
    report = capture.check()
    assert report.proved
    assert any("are assumed to run one program" in a for a in report.assumptions)
    with pytest.raises(sp.CaptureError, match="alike names the axis 'tp'"):
        sp.capture_ranks(Net, None, {"dp": 4}, BATCH, alike=["tp"])


def test_an_axis_that_nothing_is_about() -> None:
    """PyTorch only warns of a plan that fits no module; the proof is then about ranks that all do the same."""
    capture = sp.capture_pair(Net, lambda m, mesh: None, {"tp": 2}, BATCH)
    (warning,) = capture.warnings
    assert warning.startswith("nothing is cut over tp and no rank communicates over it: all of its 2 ranks")
    report = capture.check()
    assert report.proved
    assert warning in report.warnings
    assert not sp.capture_pair(Net, None, {"dp": 2}, BATCH, after_backward=all_reduce_gradients).warnings


class Vocabulary(nn.Module):
    """A rank's rows of an embedding begin at `first(rank)`, which is written into its program, and it takes its piece of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(24, 16))

    def first(self, rank: int) -> int:
        return 4 * rank

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if dist.get_world_size() == 1:
            return F.embedding(tokens, self.table).sum()
        rank = dist.get_rank()
        rows = self.table[4 * rank : 4 * rank + 4]
        at = tokens - self.first(rank)
        mine = (at >= 0) & (at < 4)
        part = torch.where(mine[..., None], F.embedding(at.clamp(0, 3), rows), 0.0)
        return part.sum() * torch.arange(24.0).split(4)[rank].sum()


class NotEvenly(Vocabulary):
    def first(self, rank: int) -> int:
        return (4 * rank + 4) % 24


class Squares(Vocabulary):
    def first(self, rank: int) -> int:
        return rank * rank


def test_numbers_that_grow_with_the_rank() -> None:
    """What follows for the ranks between is what their own capture gives, along one axis and along two."""
    tokens = (torch.zeros(3, dtype=torch.int64),)
    every = sp.capture_ranks(Vocabulary, None, {"tp": 6}, tokens)
    assert len({p.graph for p in every}) == 6
    for mesh, axes, assumed in (({"tp": 6}, ["tp"], [2, 3, 4]), ({"a": 2, "b": 3}, ["a", "b"], [2, 4])):
        some = sp.capture_ranks(Vocabulary, None, mesh, tokens, alike=axes)
        assert [p.graph for p in some] == [p.graph for p in every]
        assert [p.rank for p in some if p.seconds == 0] == assumed
        (note,) = {n for p in some for n in p.notes}
        assert "numbers that grow evenly from rank to rank: 0, 1, " in note
    for model in (NotEvenly, Squares):
        with pytest.raises(sp.CaptureError, match="more tells them apart than whole numbers that grow evenly"):
            sp.capture_ranks(model, None, {"tp": 6}, tokens, alike=["tp"])


class LastRankDiffers(Net):
    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        loss = super().forward(tokens, target)
        return loss * 2 if dist.get_world_size() > 1 and dist.get_rank() == dist.get_world_size() - 1 else loss


def test_ranks_that_are_not_alike() -> None:
    with pytest.raises(sp.CaptureError, match="ranks 0 and 3 are not alike"):
        sp.capture_pair(LastRankDiffers, None, {"dp": 4}, BATCH, alike=["dp"])
    every = sp.capture_pair(LastRankDiffers, None, {"dp": 3}, (BATCH[0][:3], BATCH[1][:3]), alike=["dp"])
    assert len({p.graph for p in every.ranks}) == 2  # three ranks are captured all: nothing is assumed
    uneven = (torch.zeros(7, 5, dtype=torch.int64), torch.zeros(7, 5, 6))
    rows = {"tokens": "Shard(0)@dp", "target": "Shard(0)@dp"}
    with pytest.raises(sp.CaptureError, match=r"tokens has shape \[2, 5\] on one and \[1, 5\]"):
        sp.capture_pair(Net, None, {"dp": 4}, uneven, alike=["dp"], input_placements=rows)


def clip(model: nn.Module) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def test_clipping_in_both_programs() -> None:
    arguments = {"after_backward": all_reduce_gradients, "before_step": clip}
    capture = sp.capture_pair(Net, None, {"dp": 2}, BATCH, **arguments)
    assert differing(capture) == set()
    assert capture.check().proved


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("'NoneType' object has no attribute 'synchronize'", "moe_pad_expert_input_to_capacity"),
        ("tp_size=2 was requested, but GPT2LMHeadModel has no tp_plan", "shardproof.torch.verify with a parallelize"),
        ("shape '[2, 8, -1, 8]' is invalid for input of size 64", "key/value heads by tp"),
        (
            "NotImplementedError: Operator x does not have a sharding strategy registered",
            "ring attention on plain operators",
        ),
        (
            "aten.nll_loss_backward.default got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor",
            "distributed_backward='in_step'",
        ),
        ("Torch not compiled with CUDA enabled", "plain PyTorch implementation"),
        ("a and b must have same reduction dim, but got [6, 12] X [10, 8]", "divisible by the mesh axis"),
        ("DataDependentOutputException: aten._local_scalar_dense.default", "torch.where"),
        ("DynamicOutputShapeException: aten.nonzero.default", "multiply by the mask"),
        (".numpy() is not supported for tensor subclasses.", "compute it with torch"),
        ("trying to initialize the default process group twice!", "dist.is_initialized()"),
        ("Invalid mesh_dim_names ('model',) specified.", "names of its axes in both"),
    ],
)
def test_what_cannot_be_captured_has_a_way_around(message: str, advice: str) -> None:
    from shardproof.torch._errors import explain

    text = str(explain(RuntimeError(message), "Net"))
    assert message in text
    assert advice in text


@pytest.mark.parametrize("build", ["meta", "cpu"])
def test_data_parallel_wrapper(build: str) -> None:
    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        return nn.parallel.DistributedDataParallel(model, process_group=mesh["dp"].get_group())

    capture = sp.capture_pair(Net, parallelize, {"dp": 2}, BATCH, build=build)
    assert differing(capture) == set()
    assert any("DistributedDataParallel is taken by its meaning" in n for n in capture.notes)
    assert capture.check().proved


def test_fully_sharded_of_old_is_refused() -> None:
    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel(model, device_mesh=mesh["dp"])

    with pytest.raises(sp.CaptureError, match="use fully_shard"):
        sp.capture_ranks(Net, parallelize, {"dp": 2}, BATCH, ranks=[0], build="cpu")


def test_optimizers_that_cannot_be_captured() -> None:
    with pytest.raises(sp.CaptureError, match="Adafactor keeps a state 'row_var' of another shape"):
        sp.capture(Net, BATCH, optimizer=lambda m: torch.optim.Adafactor(m.parameters()))
    with pytest.raises(sp.CaptureError, match="LBFGS calls the model itself"):
        sp.capture(Net, BATCH, optimizer=lambda m: torch.optim.LBFGS(m.parameters()))


def test_fused_kernels_are_taken_as_plain_ones() -> None:
    program = sp.capture(Net, BATCH, optimizer=lambda m: torch.optim.AdamW(m.parameters(), fused=True))
    assert "_fused_adamw" not in program.graph
    assert any("fused kernel" in n for n in program.notes)


def test_microbatches_that_are_not_divided(binary: pathlib.Path) -> None:
    """The loss is partial, as it should be, and too large: no reduction is missing."""

    def step(model: nn.Module, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return sum(model(t, y) for t, y in zip(tokens.chunk(2), target.chunk(2), strict=True))  # type: ignore[return-value]

    report = sp.verify(Net, None, {"dp": 2}, BATCH, distributed_step=step, after_backward=all_reduce_gradients)
    assert report.output("loss").status == "REFUTED"
    blamed = report.blame[0] if isinstance(report.blame, list) else report.blame
    assert "wrong-scale" in str(blamed)
    assert "adds up over dp to 2 times what is expected" in str(blamed)


def test_hybrid_sharding_is_proved() -> None:
    """FSDP scatters the packed gradients of a block over one axis and sums what it has over the other."""
    from torch.distributed.fsdp import fully_shard

    def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
        return torch.compile(fully_shard(model, mesh=mesh["dp_replicate", "dp_shard"]))  # type: ignore[return-value]

    capture = sp.capture_pair(Net, parallelize, {"dp_replicate": 2, "dp_shard": 2}, BATCH)
    assert differing(capture) == set()
    assert capture.check().proved


def test_a_mesh_made_inside_the_step() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    def step(model: nn.Module, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        init_device_mesh("cpu", (2,))
        return model(tokens, target)

    with pytest.raises(sp.CaptureError, match="A device mesh is made inside the traced step"):
        sp.capture_ranks(Net, None, {"dp": 2}, BATCH, step=step, ranks=[0])


def no_step(module: nn.Module, *batch: torch.Tensor) -> None:
    module(*batch)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"placements": {"up.wieght": "Shard(0)@dp"}}, "did you mean 'up.weight'"),
        ({"expect": {"los": "Replicate"}}, "did you mean 'loss'"),
        ({"placements": {"up.weight": "Shard(0)@tp"}}, "names axis 'tp'"),
        ({"step": no_step}, "the step returns no tensor but None"),
    ],
)
def test_slips_are_said(options: dict[str, object], said: str) -> None:
    """Of all of these the one-device program alone could be captured and proved against itself."""
    with pytest.raises(sp.CaptureError, match=said):
        sp.capture_pair(Net, None, {"dp": 2}, BATCH, **options)  # type: ignore[arg-type]


def test_slips_that_need_no_capture() -> None:
    with pytest.raises(TypeError, match="did you mean 'optimizer'"):
        sp.verify(Net, None, {"dp": 2}, BATCH, optimiser=None)
    with pytest.raises(sp.CaptureError, match="axis -> size"):
        sp.verify(Net, None, 2, BATCH)  # type: ignore[arg-type]
    with pytest.raises(sp.CaptureError, match="rows, which dp = 7 ranks cannot share evenly"):
        sp.capture_pair(Net, None, {"dp": 7}, BATCH)


def hidden_size(module: nn.Module, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return module(tokens, target)[None]  # no scalar


def test_without_a_scalar_no_gradient_is_checked_and_that_is_said() -> None:
    made = sp.capture_pair(Net, None, {"dp": 1}, BATCH, step=hidden_size)
    assert any("no gradient is" in n for n in made.notes)
    assert [v.kind for v in made.sequential.outputs] == ["value"]


def own_hook(state: object, bucket: Any) -> Any:
    raise AssertionError("never called")


def test_communication_hooks() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def wrapped(hook: Any) -> Any:
        def parallelize(model: nn.Module, mesh: Any) -> nn.Module:
            made = nn.parallel.DistributedDataParallel(model)
            made.register_comm_hook(None, hook)
            return made

        return parallelize

    made = sp.capture_pair(Net, wrapped(default_hooks.bf16_compress_hook), {"dp": 2}, BATCH)
    assert any("compression hooks" in n for n in made.notes)
    with pytest.raises(sp.CaptureError, match="own_hook of DistributedDataParallel"):
        sp.capture_pair(Net, wrapped(own_hook), {"dp": 2}, BATCH)
