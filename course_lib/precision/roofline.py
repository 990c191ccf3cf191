"""The roofline: how fast an operation can be, from how many flops it makes of each byte that it moves.

    flops/s   peak ──────────────    products of large matrices: as fast as the processor computes
             ╱ ridge
            ╱                        additions, activations, norms: as fast as memory brings numbers
           ╱  bytes/s × flops/byte

Left of the ridge an operation waits for memory; fewer bytes (16 bits in place of 32, one pass in place of nine) make it
faster. Right of it, only a faster processor does.

Source: S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009.

Operator fusion is the remedy on the left:

operators   x → x·x → ·x → ·c → …     every arrow writes the whole array and reads it again
fused       one kernel: an element goes through all nine in registers
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.flops import LOOKUPS, flops_of, name_of, tensors_in

_ONLY_ALLOCATE = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")


class KernelWork(NamedTuple):
    """What an operation does: its arithmetic, and the bytes that it reads and writes."""

    flops: int
    memory_bytes: int

    @property
    def intensity(self) -> float:
        """Flops for each byte that moves; 0 where nothing does.

        >>> KernelWork(flops=2 * 1024**3, memory_bytes=3 * 4 * 1024**2).intensity  # two matrices in fp32: n/6
        170.66666666666666
        """
        return self.flops / self.memory_bytes if self.memory_bytes else 0.0


class Roofline(NamedTuple):
    """What a machine can do: arithmetic, and bytes from and to memory."""

    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic is what takes the time.

        >>> Roofline(flops_per_s=100e9, bytes_per_s=20e9).ridge
        5.0
        """
        return self.flops_per_s / self.bytes_per_s

    def attainable_flops_per_s(self, intensity: float) -> float:
        """The roof above an operation: the lower of the two.

        >>> [Roofline(100e9, 20e9).attainable_flops_per_s(x) / 1e9 for x in (0.25, 5, 80)]
        [5.0, 100.0, 100.0]
        """
        return min(self.flops_per_s, self.bytes_per_s * intensity)


def measure_roofline(dtype: torch.dtype = torch.float32, size: int = 512, array_bytes: int = 2**26) -> Roofline:
    """The roofline of this machine, with as many threads as torch has now.

    Peak: a product of two matrices of `size`, which stay in the cache. Bandwidth: a + s b over arrays of `array_bytes`,
    which should not fit into it; three of them move (the triad of STREAM, J. D. McCalpin, 1995).
    """
    a, b, product = (torch.ones(size, size, dtype=dtype) for _ in range(3))
    peak = 2 * size**3 / fastest_s(lambda: torch.mm(a, b, out=product), repeats=30)
    x, y, z = (torch.ones(array_bytes // dtype.itemsize, dtype=dtype) for _ in range(3))
    return Roofline(peak, 3 * x.nbytes / fastest_s(lambda: torch.add(x, y, alpha=3, out=z), repeats=15))


def fastest_s(function: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the fastest of some calls, after one that does not count: what else runs here can only slow one.

    If torch has one thread, only the seconds count in which this thread runs, not those in which another has its core.
    """
    return fastest_in_turns({"": function}, repeats)[""]


def fastest_in_turns(functions: Mapping[Any, Callable[[], Any]], repeats: int = 5) -> dict[Any, float]:
    """The same for each of several, A B C A B C: what slows the machine for a while slows all of them."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    seconds: dict[Any, list[float]] = {name: [] for name in functions}
    for repeat in range(repeats + 1):
        for name, function in functions.items():
            start = clock()
            function()
            if repeat:
                seconds[name].append(clock() - start)
    return {name: min(each) for name, each in seconds.items()}


def count_work(function: Callable[..., Any], *arguments: Any) -> KernelWork:
    """What the kernels do that torch starts for `function(*arguments)`: each reads its inputs and writes its outputs.

    Products count 2 flops for each multiplication and addition, copies none, any other kernel one for each element of
    its largest tensor, be that an addition or a tanh (`course_lib.flops`). Views start no kernel. Backward passes
    inside count too. What is given twice, as in x * x, counts as read twice; of a table only what is looked up, and of
    an expanded tensor what it has in memory.

    >>> count_work(torch.relu, torch.ones(100))
    KernelWork(flops=100, memory_bytes=800)
    >>> count_work(torch.mm, torch.ones(2, 3), torch.ones(3, 5))
    KernelWork(flops=60, memory_bytes=124)
    """
    counter = _Counter()
    with counter:
        function(*arguments)
    return KernelWork(counter.flops, counter.memory_bytes)


class _Counter(TorchDispatchMode):
    """Adds up what each kernel does."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = self.memory_bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[Any, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        read = {name: value for name, value in (kwargs or {}).items() if name != "out"}
        inputs, outputs = tensors_in((args, read)), tensors_in(result)
        views = not func._schema.is_mutable and any(_memory(a) == _memory(b) for a in inputs for b in outputs)
        if views or name_of(func) in _ONLY_ALLOCATE:
            return result
        looked_up = outputs + inputs[1:] if name_of(func) in LOOKUPS else inputs
        self.memory_bytes += sum(_bytes_of(tensor) for tensor in looked_up + outputs)
        self.flops += flops_of(func, args, kwargs or {}, result).number
        return result


def _bytes_of(tensor: torch.Tensor) -> int:
    """Bytes of its own: elements of an expanded tensor share theirs."""
    return min(tensor.nbytes, tensor.untyped_storage().nbytes())


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


_SCALE = math.sqrt(2 / math.pi)


def gelu_of_operators(x: torch.Tensor) -> torch.Tensor:
    """The activation of GPT-2, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), as nine operators, each over the whole array.

    Source: D. Hendrycks and K. Gimpel, "Gaussian error linear units", arXiv 1606.08415, 2016.
    """
    inner = _SCALE * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())


def gelu_in_place(x: torch.Tensor, inner: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The same nine operators; they write into two arrays that are there, so none asks the system for memory."""
    torch.mul(x, x, out=inner).mul_(x).mul_(0.044715).add_(x).mul_(_SCALE).tanh_().add_(1)
    return torch.mul(x, 0.5, out=result).mul_(inner)


def gelu_as_one(x: torch.Tensor) -> torch.Tensor:
    """The same as one kernel, which somebody wrote for PyTorch by hand."""
    return functional.gelu(x, approximate="tanh")


def compiled(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function as `torch.compile` fuses it; the compiler runs at its first call.

    Raises:
        RuntimeError: where there is no C++ compiler.
    """
    if reason := why_not_compiled():
        raise RuntimeError(reason)
    # Inductor believes what the processor says of itself: to try each set of instructions takes longer than our kernel.
    return torch.compile(function, dynamic=False, options={"cpp.vec_isa_ok": True})


def why_not_compiled() -> str:
    """Why `torch.compile` can make nothing for the CPU here, "" where it can."""
    compilers = [os.environ["CXX"]] if "CXX" in os.environ else ["g++", "clang++"]
    if any(map(shutil.which, compilers)):
        return ""
    return f"torch.compile needs a C++ compiler on the CPU, and there is no {' and no '.join(compilers)} here"
