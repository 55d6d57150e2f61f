# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""One forked child per program: each has a fake process group of its own, and the framework is imported only once."""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shardproof.torch._errors import CaptureError


@contextlib.contextmanager
def fake_world(rank: int, size: int) -> Iterator[None]:
    """This process is `rank` of `size`: collectives are traced, not carried out."""
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise CaptureError(
            "torch.distributed is initialised already; shardproof makes a fake process group of its own, so call it before init_process_group"
        )
    saved = {k: os.environ.get(k) for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="localhost", MASTER_PORT="29500"
    )
    dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()
        # A cached sharding decision may hold a mask of this capture.
        with contextlib.suppress(ImportError, AttributeError):
            from torch.distributed.tensor.debug import _clear_sharding_prop_cache

            _clear_sharding_prop_cache()
        torch._dynamo.reset() if hasattr(torch, "_dynamo") else None
        for key, value in saved.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _child(job: Callable[[], Any], pipe: Any) -> None:
    # What fails is reported once, in our words; PyTorch's fake tensors log a traceback of their own.
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
    try:
        answer: tuple[str, Any] = ("ok", job())
        data = pickle.dumps(answer)
    except CaptureError as error:
        data = pickle.dumps(("capture", str(error)))
    except BaseException:
        data = pickle.dumps(("crash", traceback.format_exc()))
    pipe.send_bytes(data)
    pipe.close()


def run_forked(jobs: Sequence[tuple[str, Callable[[], Any]]], processes: int | None = None) -> list[Any]:
    """Runs (name, job) pairs in forked children, `processes` at once, and returns their results in order."""
    import torch

    context = multiprocessing.get_context("fork")
    processes = processes or max(1, len(os.sched_getaffinity(0)))
    results: list[Any] = [None] * len(jobs)
    running: dict[int, tuple[Any, Any]] = {}
    waiting = list(range(len(jobs)))
    torch.set_num_threads(1)  # fake tensors need none, and a child must not wait for threads that it does not have
    gc.collect()
    gc.freeze()  # the children share the parent's pages until they write
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                index = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(jobs[index][1], sender), daemon=True)
                process.start()
                sender.close()
                running[index] = (process, receiver)
            for connection in multiprocessing.connection.wait([r for _, r in running.values()]):
                index = next(i for i, (_, r) in running.items() if r is connection)
                process, receiver = running.pop(index)
                try:
                    kind, value = pickle.loads(receiver.recv_bytes())
                except EOFError:
                    process.join()
                    raise CaptureError(
                        f"{jobs[index][0]}: the capturing process ended without an answer (exit code {process.exitcode}; out of memory?)"
                    ) from None
                process.join()
                if kind == "capture":
                    raise CaptureError(f"{jobs[index][0]}: {value}")
                if kind == "crash":
                    raise CaptureError(f"{jobs[index][0]}: an error in the capture:\n{value}")
                results[index] = value
    finally:
        gc.unfreeze()
        for process, _ in running.values():
            process.terminate()
    return results
