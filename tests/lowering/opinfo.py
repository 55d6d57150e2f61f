# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own sample inputs for its operators through the lowerings. `python opinfo.py --tool lower-dump [names]`.

Every ATen call that happens in the samples' forward and backward is recorded and checked on its own. Needs the package expecttest.
"""

import argparse
import collections
import sys
import warnings

import fxtext
import torch
from torch.fx.experimental.proxy_tensor import make_fx

warnings.filterwarnings("ignore")


class NodeRecorder(torch.fx.Interpreter):
    """Composite operators do not reach the dispatcher as such: they are taken from a pre-dispatch trace."""

    def __init__(self, module):
        super().__init__(module)
        self.calls = []

    def call_function(self, target, args, kwargs):
        if not isinstance(target, torch._ops.OpOverload):
            return super().call_function(target, args, kwargs)
        call = fxtext.Call(target, args, kwargs)
        result = super().call_function(target, args, kwargs)
        call.finish(result, args, kwargs)
        self.calls.append(call)
        return result


def record(op, dtype, limit, composites):
    calls = []
    try:
        samples = op.sample_inputs("cpu", dtype, requires_grad=dtype.is_floating_point and op.supports_autograd)
        samples = [s for s, _ in zip(samples, range(limit), strict=False)]
    except Exception:  # not for this type
        return calls
    for sample in samples:
        sizes = [
            t.numel()
            for t in torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]
            if isinstance(t, torch.Tensor)
        ]
        if sum(sizes) > 5000:
            continue
        recorder = fxtext.Recorder()
        try:
            with recorder:
                out = op(sample.input, *sample.args, **sample.kwargs)
                flat = [
                    t
                    for t in torch.utils._pytree.tree_flatten(out)[0]
                    if isinstance(t, torch.Tensor) and t.requires_grad
                ]
                if flat:
                    leaves = [
                        t
                        for t in torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))[0]
                        if isinstance(t, torch.Tensor) and t.requires_grad
                    ]
                    torch.autograd.grad(flat, leaves, [torch.randn_like(t) for t in flat], allow_unused=True)
        except Exception:
            pass
        calls += recorder.calls
        if composites:
            try:
                flat, spec = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
                tensors = [t.detach() for t in flat if isinstance(t, torch.Tensor)]

                def function(*xs, flat=flat, spec=spec):
                    it = iter(xs)
                    a, b, c = torch.utils._pytree.tree_unflatten(
                        [next(it) if isinstance(t, torch.Tensor) else t for t in flat], spec
                    )
                    return op(a, *b, **c)

                module = make_fx(function, pre_dispatch=True)(*tensors)
                interpreter = NodeRecorder(module)
                interpreter.run(*tensors)
                calls += interpreter.calls
            except Exception:
                pass
    return calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--types", default="float64")
    parser.add_argument("--composites", action="store_true")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    from torch.testing._internal import common_methods_invocations as cmi

    op_db = list(cmi.op_db)
    for part in ("unary", "binary", "pointwise", "reduce", "other"):
        op_db += list(getattr(cmi, f"foreach_{part}_op_db", []))

    wrong = collections.defaultdict(list)
    unsupported, fine = collections.Counter(), collections.Counter()
    reasons, seen = {}, set()
    for op in op_db:
        if options.names and op.name not in options.names:
            continue
        batch = []
        for name in options.types.split(","):
            for call in record(op, getattr(torch, name), options.limit, options.composites):
                if call.key() not in seen:
                    seen.add(call.key())
                    batch.append(call)
        try:
            for call, verdict in fxtext.check(batch, options.tool):
                name = str(call.func)
                if not verdict:
                    fine[name] += 1
                elif verdict.startswith("unsupported"):
                    unsupported[name] += 1
                    reasons.setdefault(name, set()).add(verdict[13:])
                else:
                    wrong[name].append((verdict, call))
        except Exception as e:
            print("!!", op.name, type(e).__name__, str(e)[:200], flush=True)
    for name, cases in sorted(wrong.items()):
        for verdict, call in cases[: options.show]:
            print(f"WRONG {name} ({len(cases)}): {verdict[:300]}\n      {call.key()[:300]}")
    print("fine:", sum(fine.values()), "calls of", len(fine), "operators")
    for name, n in unsupported.most_common():
        print(f"unsupported {n:5} (fine {fine[name]:5}) {name}: {sorted(reasons[name])[:2]}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
