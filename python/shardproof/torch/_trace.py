# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""One rank's program as a graph of ATen operators on plain local tensors: forward, loss, backward and, if asked, the optimizer's step.

Two passes. The first runs the step under make_fx on fake tensors: DTensor parameters are taken apart into their local tensors outside
and put together inside, so the graph has only local tensors and collectives. `loss.backward()` is part of it, so hooks on parameters run
(torch.autograd.grad would skip them). The second pass runs that graph through functionalisation, which removes in-place writes; on
the way raw c10d calls (dist.all_reduce and the like, which write into their argument) become functional collectives with a copy.
Then what is only there for autograd goes: detach, alias, dead code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses import FakeTensorMode
from torch.distributed.tensor import DTensor
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta
from torch.nn.utils import stateless

from shardproof.torch import _collectives, _graph, _locations
from shardproof.torch._devices import WithoutAccelerator
from shardproof.torch._errors import CaptureError, explain


@dataclasses.dataclass
class Input:
    """A placeholder: where it comes from and what it is."""

    name: str  # in the graph
    kind: str  # parameter, buffer, state, input
    fqn: str
    spec: Any = None  # DTensorSpec, or None for a plain tensor
    attributes: dict[str, Any] = dataclasses.field(
        default_factory=dict
    )  # Python attributes of a parameter, e.g. Megatron's
    shape: tuple[int, ...] = ()  # local


@dataclasses.dataclass
class Output:
    name: str
    role: str  # loss, gradient, updated, value
    of: str = ""  # name of the input that it belongs to
    fqn: str = ""
    label: str = ""
    spec: Any = None
    absent: bool = False  # no gradient reached the parameter: zeros


@dataclasses.dataclass
class Traced:
    gm: torch.fx.GraphModule
    inputs: list[Input]
    outputs: list[Output]
    constants: dict[str, torch.Tensor]
    notes: list[str]


Optimizer = Callable[[torch.nn.Module], torch.optim.Optimizer]


def is_dtensor(x: Any) -> bool:
    return isinstance(x, DTensor)


def local(x: torch.Tensor) -> torch.Tensor:
    """The rank's own part of a tensor."""
    return x._local_tensor if isinstance(x, DTensor) else x


class Namer:
    """Unique identifiers for the graph."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, wish: str) -> str:
        name = re.sub(r"\W", "_", wish) or "x"
        if name[0].isdigit():
            name = "_" + name
        unique, count = name, 1
        while unique in self.taken:
            unique, count = f"{name}_{count}", count + 1
        self.taken.add(unique)
        return unique


def argument_names(function: Callable[..., Any], args: Sequence[Any], skip: int) -> list[str]:
    """Names of the arguments' tensors, in the order of pytree: x, batch_tokens, pair_0 ..."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for index, arg in enumerate(args):
        parameter = parameters[min(index, len(parameters) - 1)] if parameters else None
        base = f"input_{index}" if parameter is None else parameter.name
        if parameter is not None and parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            base = f"{base}_{index - len(parameters) + 1}"
        leaves, _ = pytree.tree_flatten_with_path(arg)
        for path, leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                names.append(
                    base + "".join("_" + re.sub(r"\W+", "_", pytree.keystr((key,))).strip("_") for key in path)
                )
    return names


class Tracer:
    """Captures one step of a module. The process group, if any, must be there already."""

    def __init__(
        self,
        module: torch.nn.Module,
        step: Callable[..., Any],
        args: Sequence[Any],
        *,
        argument_names: Sequence[str],
        backward: bool | str | None = None,
        optimizer: Optimizer | None = None,
        after_backward: Callable[[torch.nn.Module], None] | None = None,
        before_step: Callable[[torch.nn.Module], None] | None = None,
    ) -> None:
        self.module, self.step, self.args = module, step, list(args)
        self.backward, self.optimizer, self.after_backward = backward, optimizer, after_backward
        self.before_step = before_step
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.namer = Namer()
        self.inputs: list[Input] = []
        self.tensors: list[torch.Tensor] = []
        self.notes: list[str] = []
        self.outputs: list[Output] = []
        self._written: set[int] = set()  # running statistics that an operator writes without saying so
        self._parameters = [(n, p) for n, p in module.named_parameters()]
        self._buffers = [(n, b) for n, b in module.named_buffers() if b is not None]
        for kind, entries in (("parameter", self._parameters), ("buffer", self._buffers)):
            for fqn, tensor in entries:
                self._add(
                    Input(
                        self.namer(fqn), kind, fqn, tensor._spec if is_dtensor(tensor) else None, _attributes(tensor)
                    ),
                    local(tensor.detach()),
                )
        self._states: list[tuple[int, str]] = []  # (index of the parameter, key)
        self._fixed_states: list[dict[str, Any]] = []
        if optimizer is not None:
            self._find_states()
        leaves, self._tree = pytree.tree_flatten(self.args)
        self._leaves = leaves
        names = iter(argument_names)
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                name = next(names)
                self._add(
                    Input(self.namer(name), "input", name, leaf._spec if is_dtensor(leaf) else None),
                    local(leaf.detach()),
                )

    def _add(self, entry: Input, tensor: torch.Tensor) -> None:
        entry.shape = tuple(tensor.shape)
        self.inputs.append(entry)
        self.tensors.append(tensor)

    def _find_states(self) -> None:
        """Which state tensors the optimizer keeps for each parameter: learnt from two steps on a small parameter of the same groups."""
        assert self.optimizer is not None
        optimizer = self.optimizer(self.module)
        index = {id(p): i for i, (_, p) in enumerate(self._parameters)}
        self._groups = [
            ({k: v for k, v in g.items() if k != "params"}, [index[id(p)] for p in g["params"]])
            for g in optimizer.param_groups
        ]
        for options, _ in self._groups:
            if options.get("fused"):
                options["fused"] = None
                self.notes.append("the optimizer's fused kernel is taken to compute what its plain form does")
        self._optimizer_class = type(optimizer)
        self._fixed_states = [{} for _ in self._parameters]
        for options, members in self._groups:
            probe = torch.nn.Parameter(torch.zeros(2, 3))
            trial = type(optimizer)([{"params": [probe], **options}])
            try:
                for _ in range(2):
                    probe.grad = torch.ones(2, 3)
                    trial.step()
            except TypeError as error:
                if "closure" not in str(error):
                    raise
                raise CaptureError(
                    f"{type(optimizer).__name__} calls the model itself (a closure), so its step is not captured: check the gradients, without optimizer="
                ) from error
            for key, value in trial.state[probe].items():
                if isinstance(value, torch.Tensor) and value.shape != probe.shape and value.numel() != 1:
                    raise CaptureError(
                        f"{type(optimizer).__name__} keeps a state {key!r} of another shape than its parameter's, which has no placement of its own: check the "
                        "gradients, without optimizer="
                    )
                if isinstance(value, torch.Tensor) and value.shape == probe.shape:
                    for i in members:
                        fqn, parameter = self._parameters[i]
                        self._states.append((i, key))
                        spec = parameter._spec if is_dtensor(parameter) else None
                        self._add(
                            Input(self.namer(f"{fqn}.{key}"), "state", f"{fqn}.{key}", spec), local(parameter.detach())
                        )
                else:
                    for i in members:
                        self._fixed_states[i][key] = value
                    if isinstance(value, torch.Tensor):
                        self.notes.append(
                            f"the optimizer's {key} is a number in the captured program: its third step is checked"
                        )

    def _fakes(self) -> list[torch.Tensor]:
        out = []
        with self.fake:
            for tensor in self.tensors:
                if tensor.is_meta or not hasattr(tensor, "fake_mode"):
                    out.append(torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu"))
                else:
                    out.append(tensor)
        return out

    def _wrap(self, x: torch.Tensor, entry: Input, original: torch.Tensor | None) -> torch.Tensor:
        """What stands for the parameter inside the trace: a leaf with the original's gradient hooks and attributes."""
        trains = original is not None and original.requires_grad
        if entry.spec is not None:
            made: torch.Tensor = DTensor(x.detach(), entry.spec, requires_grad=trains)
        else:
            made = x.detach().requires_grad_(trains) if trains else x
        if original is not None:
            made.__dict__.update(entry.attributes)
            for hook in (getattr(original, "_post_accumulate_grad_hooks", None) or {}).values():
                made.register_post_accumulate_grad_hook(hook)
            for hook in (original._backward_hooks or {}).values():
                made.register_hook(hook)
        return made

    def _run(self, *flat: torch.Tensor) -> list[torch.Tensor]:
        """The step itself; called once, by make_fx."""
        originals = dict(self._parameters)
        values, states, arguments = {}, {}, []
        for x, entry in zip(flat, self.inputs, strict=True):
            if entry.kind in ("parameter", "buffer"):
                values[entry.fqn] = self._wrap(x, entry, originals.get(entry.fqn))
            elif entry.kind == "state":
                states[entry.fqn] = self._wrap(x, entry, None)
            else:
                arguments.append(self._wrap(x, entry, None))
        versions = {n: local(values[n])._version for n, _ in self._buffers}
        self._written.clear()
        rest = iter(arguments)
        args = pytree.tree_unflatten(
            [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves], self._tree
        )
        results: list[torch.Tensor] = []
        names = {entry.fqn: entry.name for entry in self.inputs}
        with (
            stateless._reparametrize_module(self.module, values, tie_weights=True),
            torch.autograd.set_detect_anomaly(True, check_nan=False),
            WithoutAccelerator("cpu"),
        ):
            result = self.step(self.module, *args)
            loss = self._loss(result)
            if loss is not None and self.backward != "in_step":
                loss.backward()
            trained = loss is not None or self.backward == "in_step"
            if trained and self.after_backward is not None:
                self.after_backward(self.module)
            if trained and self.before_step is not None:
                self.before_step(self.module)
            self._results(result, loss, results)
            if not trained and self.backward is None and any(p.requires_grad for _, p in self._parameters):
                self.notes.append(
                    "the step returns no scalar that depends on a parameter, so what it returns is checked and no gradient is"
                )
            gradients = [(n, values[n]) for n, p in self._parameters if p.requires_grad] if trained else []
            if self.optimizer is not None and trained:
                self._update(values, states)
                for fqn, _ in self._parameters:
                    self._emit(results, values[fqn].detach(), Output("", "updated", names[fqn], fqn, fqn))
                for key, state in states.items():
                    self._emit(results, state.detach(), Output("", "updated", names[key], key, key))
            else:
                for fqn, value in gradients:
                    gradient = value.grad if value.grad is not None else getattr(value, "main_grad", None)
                    absent = gradient is None
                    if gradient is None:
                        gradient = torch.zeros_like(value.detach())
                    self._emit(
                        results, gradient, Output("", "gradient", names[fqn], fqn, f"gradient of {fqn}", absent=absent)
                    )
            for fqn, _ in self._buffers:
                if local(values[fqn])._version != versions[fqn] or id(local(values[fqn])) in self._written:
                    self._emit(results, values[fqn], Output("", "updated", names[fqn], fqn, fqn))
        if not results:
            raise CaptureError(
                f"the step returns no tensor but {'None' if result is None else 'a ' + type(result).__name__}: it must return the loss (first, if it returns several values)"
            )
        return results

    def _loss(self, result: Any) -> torch.Tensor | None:
        first = pytree.tree_leaves(result)[0] if pytree.tree_leaves(result) else None
        if self.backward == "in_step":  # the step has called backward; only what it returns is left to name
            return first if isinstance(first, torch.Tensor) and first.dim() == 0 else None
        scalar = isinstance(first, torch.Tensor) and first.dim() == 0 and first.requires_grad
        if self.backward is False or (self.backward is None and not scalar):
            return None
        if not scalar:
            raise CaptureError(
                "backward=True needs a step that returns a scalar loss (first, if it returns several values) which depends on a parameter that requires a gradient"
            )
        return first

    def _results(self, result: Any, loss: torch.Tensor | None, results: list[torch.Tensor]) -> None:
        leaves, _ = pytree.tree_flatten_with_path(result)
        for path, leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                continue
            label = (
                "loss"
                if leaf is loss
                else "out" + "".join("_" + re.sub(r"\W+", "_", pytree.keystr((key,))).strip("_") for key in path)
            )
            self._emit(results, leaf.detach(), Output("", "loss" if leaf is loss else "value", label=label))

    def _update(self, values: dict[str, torch.Tensor], states: dict[str, torch.Tensor]) -> None:
        parameters = [values[n] for n, _ in self._parameters]
        optimizer = self._optimizer_class(
            [{"params": [parameters[i] for i in members], **options} for options, members in self._groups]
        )
        numbers: dict[int, float] = {}
        for i, parameter in enumerate(parameters):
            for key, value in self._fixed_states[i].items():
                if isinstance(value, torch.Tensor):
                    stand_in = torch.zeros((), dtype=value.dtype)
                    numbers[id(stand_in)] = float(value) + (1 if key == "step" else 0)
                    optimizer.state[parameter][key] = stand_in
                else:
                    optimizer.state[parameter][key] = value
        for i, key in self._states:
            optimizer.state[parameters[i]][key] = states[f"{self._parameters[i][0]}.{key}"]
        with _known_numbers(numbers):
            optimizer.step()

    def _emit(self, results: list[torch.Tensor], value: torch.Tensor, output: Output) -> None:
        output.spec = value._spec if is_dtensor(value) else None
        output.name = self.namer(
            {"loss": "loss", "gradient": f"grad_{output.fqn}", "updated": f"new_{output.fqn}"}.get(
                output.role, output.label
            )
        )
        self.outputs.append(output)
        results.append(local(value))

    def _batch_norm(self, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, *rest: float) -> Any:
        """Batch normalisation by the operator that declares its writes to the running statistics."""
        if not training or mean is None or var is None:
            return NotImplemented
        self._written |= {id(mean), id(var)}
        return torch.ops.aten._native_batch_norm_legit.default(x, weight, bias, mean, var, training, *rest)

    def trace(self) -> Traced:
        flat = self._fakes()
        try:
            with _tracing(self.fake, self.module):
                first = make_fx(
                    self._run,
                    decomposition_table={torch.ops.aten.native_batch_norm.default: self._batch_norm},
                    tracing_mode="real",
                    record_stack_traces=True,
                    _allow_non_fake_inputs=True,
                )(*flat)
            with self.fake, preserve_node_meta():
                run = _collectives.Rewriter(first).run
                second = make_fx(
                    functionalize(run, remove="mutations"), tracing_mode="real", _allow_non_fake_inputs=True
                )(*flat)
        except Exception as error:
            raise explain(error, f"{type(self.module).__name__}") from error
        constants = _graph.clean(second, [i.name for i in self.inputs], [o.name for o in self.outputs])
        return Traced(second, self.inputs, self.outputs, constants, self.notes)


@contextlib.contextmanager
def _tracing(fake: FakeTensorMode, module: torch.nn.Module) -> Iterator[None]:
    import torch._dynamo.config as dynamo_config

    with contextlib.ExitStack() as stack:
        # Anomaly mode is on for the lines of the forward pass; what it warns of is raised, too.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="Error detected in")
        stack.enter_context(dynamo_config.patch(error_on_nested_fx_trace=False))
        stack.enter_context(fake)
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(_locations.recorded(module))
        stack.enter_context(_collectives.plain_reductions())
        yield


@contextlib.contextmanager
def _known_numbers(numbers: dict[int, float]) -> Iterator[None]:
    """torch.optim reads its step count out of a tensor; a fake tensor has no value, so the reading is answered from `numbers`."""
    import sys

    modules = [m for n, m in sys.modules.items() if n.startswith("torch.optim") and hasattr(m, "_get_value")]
    originals = [m._get_value for m in modules]

    def read(x: Any) -> Any:
        return numbers[id(x)] if id(x) in numbers else originals[0](x)

    for module in modules:
        module._get_value = read  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, original in zip(modules, originals, strict=True):
            module._get_value = original  # type: ignore[attr-defined]


def _attributes(tensor: torch.Tensor) -> dict[str, Any]:
    """Python attributes that a framework put on a parameter (Megatron's finalisation reads them)."""
    return {k: v for k, v in vars(tensor).items() if not k.startswith("_") and k not in ("grad", "data")}
