# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Check sharded JAX functions: their placements are in the program, so nothing has to be written by hand.

    import shardproof.jax as sj

    report = sj.verify(train_step, params, batch, mesh=mesh, in_shardings=(specs, P("dp")), reference=plain_step)

Arguments may be abstract (`jax.ShapeDtypeStruct`): no weights are needed. Lowering needs as many host devices as the mesh has:
set XLA_FLAGS=--xla_force_host_platform_device_count=8 before JAX is imported, or call `sj.host_devices(8)` first.
"""

from shardproof._binary import mlir_text
from shardproof.jax._capture import Capture, JaxCaptureError, capture, host_devices, verify

__all__ = ["Capture", "JaxCaptureError", "capture", "host_devices", "mlir_text", "verify"]
