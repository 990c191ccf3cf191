"""From a notebook: fresh ranks and one all-reduce, ours against every usual way. Each has a real kernel of its own."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_client.manager import start_new_kernel

from benchmarks.row import Row, row_of

__all__ = ["measure"]

_RANKS = 4

_SETUP = {
    "ours": """
import time, torch, torch.distributed as dist
from course_lib import run, warm_up
warm_up()
def program(comm):
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    return tensor[0].item()
def once(): return run(program, world_size=RANKS).results
""",
    "torch.multiprocessing spawn": """
import cloudpickle, os, tempfile, time, torch, torch.multiprocessing as mp
def all_reduce(rank, world_size, store):
    import torch, torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    dist.destroy_process_group()
class Shipped:  # spawn pickles by name, which a notebook's functions do not have
    def __init__(self, function): self.packed = cloudpickle.dumps(function)
    def __reduce__(self): return cloudpickle.loads, (self.packed,)
def once():
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(Shipped(all_reduce), args=(RANKS, folder + "/store"), nprocs=RANKS)
    return [RANKS]
""",
    "accelerate notebook_launcher": """
import time
from accelerate import notebook_launcher
def program():
    import torch, torch.distributed as dist
    from accelerate import PartialState
    PartialState(cpu=True)  # joins the ranks
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
def once():
    notebook_launcher(program, num_processes=RANKS)
    return [RANKS]
""",
    "ipyparallel, fresh engines": """
import tempfile, time, ipyparallel as ipp
def all_reduce(rank, world_size, store):
    import torch, torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    return tensor[0].item()
def once():
    with tempfile.TemporaryDirectory() as folder, ipp.Cluster(n=RANKS, log_level=40) as engines:
        view = engines[:]
        jobs = [engines[rank].apply_async(all_reduce, rank, RANKS, folder + "/store") for rank in range(RANKS)]
        return [job.get() for job in jobs]
""",
}
_TIMED = "began = time.perf_counter(); found = once(); print('SECONDS', time.perf_counter() - began)"


def measure(rounds: int = 5) -> Iterator[Row]:
    """Seconds of a launch, and each peer's over ours; all kernels stay open and take turns."""
    kernels = {name: start_new_kernel(kernel_name="python3") for name in _SETUP}
    try:
        seconds: dict[str, list[float]] = {name: [] for name in _SETUP}
        for name, (_, client) in kernels.items():
            _execute(client, f"RANKS = {_RANKS}\n" + _SETUP[name])
            _execute(client, _TIMED)  # the first launch of a kernel also loads libraries: not counted
        for _ in range(rounds):
            for name, (_, client) in kernels.items():
                seconds[name].append(_seconds(_execute(client, _TIMED)))
    finally:
        for manager, client in kernels.values():
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    yield from _rows(seconds)


def _rows(seconds: dict[str, list[float]]) -> Iterator[Row]:
    ours = seconds["ours"]
    yield row_of("launching", f"{_RANKS} fresh ranks, ours", ours, "s")
    for name in list(seconds)[1:]:
        ratios = [peer / mine for peer, mine in zip(seconds[name], ours, strict=True)]
        goal = "at least 20" if "spawn" in name else "at least 1"
        yield row_of("launching", f"{name} over ours", ratios, "x", goal)


def _execute(client, code: str) -> str:
    """Run code in a kernel and return what it printed."""
    printed: list[str] = []

    def keep(message: dict) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, timeout=180, output_hook=keep)
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))
    return "".join(printed)


def _seconds(printed: str) -> float:
    return float(printed.split("SECONDS")[1].split()[0])
