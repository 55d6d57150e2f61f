# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Lowers a function for its mesh and for one device, and relates the two by the shardings that it was given."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shardproof._manifest import Manifest
from shardproof._report import Report, ShardproofError
from shardproof._run import check as run_check

STAGES = ("stablehlo", "hlo", "spmd")
TESTED = "0.10.2"  # the version that all tests are run with


class JaxCaptureError(ShardproofError):
    """A function that cannot be lowered or related; the message says what to do."""


def host_devices(count: int) -> None:
    """Asks for `count` CPU devices. Must come before JAX makes its first array."""
    flag = f"--xla_force_host_platform_device_count={count}"
    flags = [
        f for f in os.environ.get("XLA_FLAGS", "").split() if not f.startswith("--xla_force_host_platform_device_count")
    ]
    os.environ["XLA_FLAGS"] = " ".join([*flags, flag])
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if "jax" in sys.modules:
        import jax

        if len(jax.devices()) < count:
            raise JaxCaptureError(
                f"JAX already runs with {len(jax.devices())} devices: call host_devices({count}) before anything else of JAX, or set XLA_FLAGS={flag}"
            )


@dataclasses.dataclass
class Capture:
    """The two lowered modules and their manifest."""

    sequential: str
    distributed: str
    manifest: Manifest
    ending: str  # of the files: "mlir" or "hlo.txt"
    notes: list[str]
    names: dict[str, str] = dataclasses.field(default_factory=dict)  # of arguments: in the module -> pytree path

    def save(self, folder: str | os.PathLike[str]) -> pathlib.Path:
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seq.{self.ending}").write_text(self.sequential, encoding="utf-8")
        (folder / f"dist.{self.ending}").write_text(self.distributed, encoding="utf-8")
        self.manifest.save(folder / "case.json")
        return folder

    def check(self, **options: Any) -> Report:
        with tempfile.TemporaryDirectory(prefix="shardproof-jax-") as folder:
            report = run_check(self.save(folder), **options)
        return dataclasses.replace(
            report,
            assumptions=(*self.notes, *report.assumptions),
            warnings=tuple(self._by_path(w) for w in report.warnings),
            manifest=None,
        )

    def _by_path(self, text: str) -> str:
        """A sentence about an input, and the fact that it proposes, with the name that a fact must use."""
        found = re.match(r"input (\S+) ", text)
        name = found[1] if found else ""
        path = self.names.get(name) or self.names.get(f"%{name}")
        return text.replace(f"input {name} ", f"input {path} ").replace(f'"{name} in', f'"{path} in') if path else text


def verify(
    fn: Callable[..., Any],
    *args: Any,
    mesh: Any = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    reference: Callable[..., Any] | None = None,
    check: Mapping[str, Any] | None = None,
    **options: Any,
) -> Report:
    """Proves that `fn` on the mesh computes what `reference` computes on one device.

    fn             a function, jitted or not; it may use shard_map inside
    args           example arguments, arrays or jax.ShapeDtypeStruct, with global shapes
    mesh           jax.sharding.Mesh; by default that of the first sharding
    in_shardings   as for jax.jit: a tree of PartitionSpec or NamedSharding, a prefix of the arguments' tree
    out_shardings  the same for the results; by default what the lowered module says (replicated where it says nothing)
    reference      the one-device function. Without it `fn` itself is checked against its own partitioned form (stage "spmd"): a check of the
                   compiler; it needs a function without shard_map
    stage          "stablehlo" (as lowered), "hlo" (the same as HLO text), or "spmd" (after XLA's partitioner)
    facts          e.g. ["tokens in [0, 32000)"], by the names that the report shows
    expect         output path -> placement
    check          options of shardproof.check
    """
    return capture(
        fn, *args, mesh=mesh, in_shardings=in_shardings, out_shardings=out_shardings, reference=reference, **options
    ).check(**dict(check or {}))


def capture(
    fn: Callable[..., Any],
    *args: Any,
    mesh: Any = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    reference: Callable[..., Any] | None = None,
    stage: str | None = None,
    facts: Sequence[str] = (),
    expect: Mapping[str, Any] | None = None,
    static_argnums: Sequence[int] = (),
    donate_argnums: Sequence[int] = (),
) -> Capture:
    """Lowers both programs and writes the manifest; see `verify`."""
    jax = _jax()
    notes = _lacking(jax)
    stage = stage or ("stablehlo" if reference is not None else "spmd")
    if stage not in STAGES:
        raise JaxCaptureError(f"stage={stage!r}: the stages are {', '.join(STAGES)}")
    if not static_argnums:
        static_argnums = getattr(getattr(fn, "_jit_info", None), "static_argnums", None) or ()
    abstract = tuple(
        jax.tree.map(lambda x, i=i: _abstract(x, f"argument {i}"), a)
        for i, a in enumerate(args)
        if i not in static_argnums
    )
    if hasattr(fn, "lower") and hasattr(fn, "__wrapped__") and not isinstance(fn, jax.stages.Wrapped):
        raise JaxCaptureError(
            "jax.pmap states no shardings: write it with jax.shard_map over a mesh with the same axis name"
        )
    if in_shardings is None and out_shardings is None:
        try:
            in_shardings, out_shardings = _own_shardings(fn, _with_static(args, abstract, tuple(static_argnums)))
        except AttributeError as error:
            notes.append(
                f"JAX {jax.__version__} does not say with which shardings a function was jitted ({error}): "
                "they are taken to be none unless in_shardings and out_shardings are given"
            )
    mesh = (
        mesh
        if mesh is not None
        else _mesh_of((in_shardings, out_shardings, [getattr(x, "sharding", None) for x in jax.tree.leaves(args)]))
    )
    if mesh is None:
        raise JaxCaptureError(
            "; ".join(["give the mesh: mesh=jax.sharding.Mesh(...), or NamedSharding objects as in_shardings", *notes])
        )
    size = int(np.prod(list(mesh.shape.values())))
    if len(jax.devices()) >= size and isinstance(mesh, jax.sharding.AbstractMesh):
        mesh = jax.sharding.Mesh(
            np.array(jax.devices()[:size]).reshape(mesh.axis_sizes), mesh.axis_names, axis_types=mesh.axis_types
        )
    if len(jax.devices()) < size:
        raise JaxCaptureError(
            f"the mesh has {size} devices and JAX sees {len(jax.devices())}: call shardproof.jax.host_devices({size}) before anything else of JAX"
        )
    lowering: dict[str, Any] = {"keep_unused": True}
    if in_shardings is not None:
        lowering["in_shardings"] = jax.tree.map(lambda s: _named(s, mesh), in_shardings, is_leaf=_is_spec)
    if out_shardings is not None:
        lowering["out_shardings"] = jax.tree.map(lambda s: _named(s, mesh), out_shardings, is_leaf=_is_spec)
    call = _plain(fn)
    static = tuple(static_argnums)
    dist = jax.jit(call, static_argnums=static, donate_argnums=tuple(donate_argnums), **lowering).lower(
        *_with_static(args, abstract, static)
    )
    # The same function, or the reference, for one device: the arguments lose their shardings.
    alone = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), abstract)
    seq = jax.jit(_plain(reference) if reference is not None else call, static_argnums=static, keep_unused=True).lower(
        *_with_static(args, alone, static)
    )
    sequential, distributed, ending, chosen = _texts(seq, dist, stage)
    composer = _Composer(jax, mesh, seq, dist, abstract, stage, ending, chosen)
    composer.notes.extend(notes)
    composer.inputs(in_shardings)
    composer.outputs(out_shardings, expect or {})
    for fact in facts:
        composer.fact(fact)
    return Capture(
        _own_paths(sequential),
        _own_paths(distributed),
        composer.manifest,
        ending,
        composer.notes,
        {name: path for path, name in composer.names.items()},
    )


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise JaxCaptureError("JAX is not installed: pip install 'shardproof[jax]'") from error
    version = tuple(int(p) for p in jax.__version__.split(".")[:2])
    if version < (0, 7):
        raise JaxCaptureError(
            f"JAX {jax.__version__} lowers shardings in an older form; use JAX {TESTED} (0.7 and later may work)"
        )
    return jax


def _lacking(jax: Any) -> list[str]:
    """What this version of JAX is not known to do, as sentences of the report; a tested one lacks nothing."""
    notes = []
    if jax.__version__.split(".")[:2] != TESTED.split(".")[:2]:
        notes.append(
            f"JAX {jax.__version__}: shardproof.jax is tested with {TESTED}; what is checked is what this version lowered, "
            "and an operator or a sharding of a form that is not known leaves outputs UNKNOWN"
        )
    # Locations are the user's: JAX skips the files of libraries that ask for it. There is no public way to ask.
    try:
        from jax._src import source_info_util

        source_info_util.register_exclusion(str(pathlib.Path(__file__).resolve().parent.parent))
    except (ImportError, AttributeError):
        notes.append(
            f"JAX {jax.__version__} cannot be asked to leave out a library's lines: some locations may be shardproof's own"
        )
    return notes


def _plain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function under jax.jit, so that our shardings apply."""
    import jax

    return getattr(fn, "__wrapped__", fn) if isinstance(fn, jax.stages.Wrapped) else fn


def _own_shardings(fn: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, Any]:
    """The shardings that the function was jitted with: trees like its arguments and its results; None where it states none."""
    import jax
    from jax.sharding import Sharding

    if not isinstance(fn, jax.stages.Wrapped):
        return None, None
    traced = fn.trace(*args)
    params = getattr(traced, "_params", {})  # there is no public way to ask

    def tree(structure: Any, flat: Any) -> Any:
        stated = [s if isinstance(s, Sharding) else None for s in flat or ()]
        return jax.tree.unflatten(structure, stated) if any(s is not None for s in stated) else None

    positional = jax.tree.structure(
        tuple(a for a in jax.tree.unflatten(traced.in_tree, [0] * traced.in_tree.num_leaves)[0])
    )
    if positional.num_leaves != traced.in_tree.num_leaves:
        return None, None
    return tree(positional, params.get("in_shardings")), tree(traced.out_tree, params.get("out_shardings"))


def _abstract(x: Any, where: str) -> Any:
    import jax

    sharding = getattr(x, "sharding", None)
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
    if isinstance(x, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(x.shape, x.dtype)
    array = np.asarray(x) if not hasattr(x, "dtype") else x
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):  # keys of random numbers
        return jax.ShapeDtypeStruct(array.shape, array.dtype)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "biufc" and not hasattr(x, "dtype"):
        raise JaxCaptureError(
            f"{where} is a {type(x).__name__}, which is no array: name its position in static_argnums, or close over it "
            "(`lambda params, x: fn(config, params, x)`)"
        )
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _with_static(args: Sequence[Any], abstract: Sequence[Any], static: Sequence[int]) -> list[Any]:
    rest = iter(abstract)
    return [a if i in static else next(rest) for i, a in enumerate(args)]


def _is_spec(x: Any) -> bool:
    from jax.sharding import PartitionSpec, Sharding

    return x is None or isinstance(x, (PartitionSpec, Sharding))


def _named(spec: Any, mesh: Any) -> Any:
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(mesh, spec) if isinstance(spec, PartitionSpec) else spec


def _mesh_of(tree: Any) -> Any:
    import jax
    from jax.sharding import NamedSharding

    for leaf in jax.tree.leaves(tree, is_leaf=_is_spec):
        if isinstance(leaf, NamedSharding):
            return leaf.mesh
    return None


def _own_paths(text: str) -> str:
    """Source files as a report should show them: below the working directory or below site-packages."""
    text = text.replace(f'"{os.getcwd()}{os.sep}', '"')
    return re.sub(r'"[^"\n]*[/\\](?:site|dist)-packages[/\\]', '"', text)


def _texts(seq: Any, dist: Any, stage: str) -> tuple[str, str, str, list[Any] | None]:
    """Both programs, the ending of their files, and how the partitioner has laid each argument, where it was the one to choose."""
    if stage == "stablehlo":
        return seq.as_text(debug_info=True), dist.as_text(debug_info=True), "mlir", None
    if stage == "hlo":
        return seq.as_text("hlo"), dist.as_text("hlo"), "hlo.txt", None
    text, chosen = _after_partitioner(dist)
    return seq.as_text("hlo"), text, "hlo.txt", chosen


def _after_partitioner(dist: Any) -> tuple[str, list[Any] | None]:
    import jax
    from jax.sharding import Sharding

    with tempfile.TemporaryDirectory(prefix="shardproof-xla-") as folder:
        jax.clear_caches()
        compiled = dist.compile(
            {
                "xla_dump_to": folder,
                "xla_dump_hlo_pass_re": "spmd",
                "xla_dump_hlo_as_text": True,
                "xla_dump_large_constants": True,
            }
        )
        found = sorted(pathlib.Path(folder).glob("*after_spmd-partitioning*.txt"))
        if not found:
            raise JaxCaptureError(
                "XLA wrote no module after partitioning (one device, or a version with other pass names); use stage='stablehlo'"
            )
        chosen = jax.tree.leaves(compiled.input_shardings, is_leaf=lambda x: isinstance(x, Sharding))
        return found[-1].read_text(encoding="utf-8"), chosen or None


def _by_position(sharding: Any, mesh: Any, shape: Sequence[int]) -> str | None:
    """The words for a sharding without axis names, from the part that each device holds; None if no axes give these parts."""
    parts = sharding.devices_indices_map(tuple(shape))
    words = []
    for dim, size in enumerate(shape):
        starts = np.vectorize(lambda d, dim=dim, size=size: parts[d][dim].indices(size)[0], otypes=[int])(mesh.devices)
        varying = [a for a in range(starts.ndim) if (np.diff(starts, axis=a) != 0).any()]
        if not varying:
            continue
        count = int(np.prod([starts.shape[a] for a in varying]))
        length = -(-size // count)
        for order in itertools.permutations(varying):
            index = np.zeros(starts.shape, int)
            for axis in order:
                index = index * starts.shape[axis] + np.arange(starts.shape[axis]).reshape(
                    [-1 if a == axis else 1 for a in range(starts.ndim)]
                )
            if (np.minimum(index * length, size) == starts).all():
                names = [mesh.axis_names[a] for a in order]
                words.append(f"Shard({dim})@{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}")
                break
        else:
            return None
    return ", ".join(words) or "Replicate"


def placement(sharding: Any, mesh: Any, shape: Sequence[int]) -> str:
    """A sharding in the words of a manifest: `Shard(0)@dp, Shard(1)@(cp, tp)`."""
    from jax.sharding import NamedSharding, PartitionSpec, Sharding

    if sharding is None:
        return "Replicate"
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    if isinstance(spec, Sharding) and (found := _by_position(spec, mesh, shape)):
        return found
    if not isinstance(spec, PartitionSpec):
        raise JaxCaptureError(
            f"a sharding of type {type(sharding).__name__} has no words; use NamedSharding or PartitionSpec"
        )
    words = []
    for dim, axes in enumerate(spec):
        if axes is None or axes is PartitionSpec.UNCONSTRAINED:
            continue
        names = [a for a in ((axes,) if isinstance(axes, str) else axes) if mesh.shape[a] > 1]
        if names:
            words.append(f"Shard({dim})@{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}")
    for axis in sorted(getattr(spec, "unreduced", None) or ()):
        words.append(f"Partial(sum)@{axis}")
    return ", ".join(words) or "Replicate"


def path_name(root: Sequence[str], path: Any) -> str:
    """`params['dense']['kernel']` from a pytree path; the first entry counts the argument."""
    import jax

    first, *rest = path
    index = getattr(first, "idx", None)
    base = root[index] if index is not None and index < len(root) else f"arg{index}"
    return base + jax.tree_util.keystr(tuple(rest))


class _Composer:
    """Writes the manifest from the lowered modules' trees."""

    def __init__(
        self, jax: Any, mesh: Any, seq: Any, dist: Any, abstract: Any, stage: str, ending: str, chosen: list[Any] | None
    ) -> None:
        self.jax, self.mesh, self.seq, self.dist, self.abstract, self.stage = jax, mesh, seq, dist, abstract, stage
        self.chosen = chosen
        self.manifest = Manifest(f"seq.{ending}", f"dist.{ending}", mesh=dict(mesh.shape))
        self.notes: list[str] = []
        self.names: dict[str, str] = {}  # pytree path -> name in the module

    def inputs(self, in_shardings: Any) -> None:
        jax = self.jax
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.abstract)
        specs = self._spread(in_shardings, self.abstract)
        if specs is None:
            specs = [getattr(leaf, "sharding", None) for _, leaf in leaves]
            if not any(specs) and self.chosen is None:
                self.notes.append("no in_shardings, and the arguments have none: all are taken to be replicated")
        if self._count(self.seq) != len(leaves):
            raise JaxCaptureError(
                f"the reference takes {self._count(self.seq)} arrays and the sharded function {len(leaves)}: both need the same arguments"
            )
        if self.chosen is not None and len(self.chosen) == len(specs) and any(s is None for s in specs):
            self.notes.append(
                f"{sum(s is None for s in specs)} arguments have no sharding: they lie as the partitioner chose"
            )
            specs = [c if s is None else s for s, c in zip(specs, self.chosen, strict=True)]
        roots = _argument_names(self.dist, len(self.abstract))
        if roots is None:
            self.notes.append(f"JAX {jax.__version__} does not say what arguments are called: they are arg0, arg1, ...")
            roots = [f"arg{i}" for i in range(len(self.abstract))]
        for index, ((path, leaf), spec) in enumerate(zip(leaves, specs, strict=True)):
            name = f"%arg{index}" if self.stage == "stablehlo" else str(index)
            label = path_name(roots, path)
            self.names[label] = name
            self.manifest.input(name, placement(spec, self.mesh, leaf.shape))

    @staticmethod
    def _count(lowered: Any) -> int:
        import jax

        return len(jax.tree.leaves(lowered.in_tree.unflatten(range(lowered.in_tree.num_leaves))))

    def _spread(self, shardings: Any, tree: Any) -> list[Any] | None:
        """One sharding for each leaf: the given tree may stop at any level."""
        if shardings is None:
            return None
        jax = self.jax
        if _is_spec(shardings):
            return [shardings] * len(jax.tree.leaves(tree))
        if (
            isinstance(tree, tuple)
            and len(tree) == 1
            and not (isinstance(shardings, (tuple, list)) and len(shardings) == 1)
        ):
            shardings = (shardings,)
        out: list[Any] = []

        def walk(spec: Any, sub: Any) -> Any:
            out.extend([spec] * len(jax.tree.leaves(sub)))

        jax.tree.map(walk, tuple(shardings) if isinstance(shardings, list) else shardings, tree, is_leaf=_is_spec)
        return out

    def outputs(self, out_shardings: Any, expect: Mapping[str, Any]) -> None:
        jax = self.jax
        info = self.dist.out_info
        leaves, _ = jax.tree_util.tree_flatten_with_path(info)
        theirs = jax.tree.leaves(self.seq.out_info)
        if [tuple(x.shape) for x in theirs] != [tuple(x.shape) for _, x in leaves]:
            raise JaxCaptureError(
                f"the results differ in shape: {[tuple(x.shape) for _, x in leaves]} sharded, {[tuple(x.shape) for x in theirs]} on one device"
            )
        specs = self._spread(out_shardings, info)
        for index, (path, leaf) in enumerate(leaves):
            label = "result" + jax.tree_util.keystr(path)
            if label in expect:
                words = expect[label]
            else:
                spec = specs[index] if specs is not None else getattr(leaf, "sharding", None)
                if specs is None and spec is None:
                    self.notes.append(
                        f"{label}: no out_shardings, and the lowered module states none: any placement is accepted"
                    )
                    self.manifest.output(str(index), dist=str(index), label=label, expect="any")
                    continue
                words = placement(spec, self.mesh, leaf.shape)
            self.manifest.output(str(index), dist=str(index), label=label, expect=words)

    def fact(self, text: str) -> None:
        """Facts are written with pytree names; the manifest has the module's."""
        for label in sorted(self.names, key=len, reverse=True):
            if text.startswith(label):
                text = self.names[label] + text[len(label) :]
                break
        else:
            raise JaxCaptureError(f"the fact {text!r} names no argument; they are {', '.join(self.names)}")
        self.manifest.fact(text)


def _argument_names(lowered: Any, count: int) -> list[str] | None:
    """The function's names for its arguments; None if this version of JAX does not tell."""
    info = getattr(getattr(lowered, "_lowering", None), "compile_args", {}) or {}
    debug = info.get("all_args_info") or info.get("debug_info")
    names = getattr(getattr(debug, "debug_info", debug), "arg_names", None)
    if names is None:
        return None
    roots: list[str] = []
    for name in names:
        root = str(name).split("[")[0].split(".")[0]
        if not roots or roots[-1] != root:
            roots.append(root)
    return roots if len(roots) == count else [f"arg{i}" for i in range(count)]
