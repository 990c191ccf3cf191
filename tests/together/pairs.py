"""The pairs: each way to train in parts with each thing beside, what is expected of it, and the page that says so."""

import textwrap
import warnings

import torch

from course_lib import simulate
from course_lib.faults import Checkpoints
from course_lib.precision import DynamicScaler
from tests.together.on_mesh import OneGPT, OnMesh
from tests.together.parts import (
    ROWS,
    WIDTH,
    Alone,
    Copies,
    Experts,
    OneMixture,
    Pipeline,
    TensorParallel,
    Zero,
    Zero2,
    Zero3,
)

WAYS = {  # what trains in parts, and what it is compared with
    "DataParallel": (Copies, Alone),
    "ZeRO-1": (Zero, Alone),
    "ZeRO-2": (Zero2, Alone),
    "ZeRO-3": (Zero3, Alone),
    "pipeline": (Pipeline, Alone),
    "tensor-parallel": (TensorParallel, Alone),
    "mesh": (OnMesh, OneGPT),
    "experts": (Experts, OneMixture),
}
FEATURES = (
    "nothing",
    "autocast",
    "loss scaling",
    "recomputation",
    "compression",
    "clipping",
    "accumulation",
    "frozen and unused parameters",
    "complex and 0-dimensional parameters",
    "torch.compile",
    "save and resume",
)
STEPS = 3


def steps_of(part, feature, numbers):
    """Train; in step 1 of loss scaling rank 1 has an overflow."""
    scaler = DynamicScaler(scale=2.0**10 if feature == "loss scaling" else 1.0)
    for number in numbers:
        x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(number))
        batches = x.chunk(2) if feature == "accumulation" and getattr(part, "accumulates", True) else [x]
        overflows = feature == "loss scaling" and number == 1 and (part.comm is None or part.comm.rank == 1)
        part.zero_grad()
        for place, batch in enumerate(batches):
            factor = float("inf") if overflows else scaler.scale / len(batches)
            part.backward(batch, factor, last=place == len(batches) - 1)
        if feature == "loss scaling":
            finite = part.unscale(scaler.scale)
            scaler.update(finite)
            if not finite:
                continue
        if feature == "clipping":
            part.clip(0.1)
        part.step()


def trained(comm, kind, feature, folder):
    """The part after all steps; to resume is to go on with another one, made from another seed."""
    part = kind(comm, feature)
    stop = STEPS - 1 if folder else STEPS
    steps_of(part, feature, range(stop))
    if folder:
        checkpoints = Checkpoints(folder, comm)
        part.save(checkpoints)
        part = kind(comm, feature, seed=1)
        part.load(checkpoints)
        steps_of(part, feature, range(stop, STEPS))
    return part


def difference(comm, way, feature, folder, whole):
    """The largest between this rank's weights and the same part of one process's."""
    part = trained(comm, WAYS[way][0], feature, folder)
    pairs = zip(part.weights(), part.of_whole(whole), strict=True)
    return max(float((mine - theirs).abs().max()) for mine, theirs in pairs if mine.numel())


def outcome(way, feature, folder=None):
    """What two simulated ranks make of the pair: "same", how far off they are, or the first line of what they say."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        if feature == "torch.compile":
            warnings.simplefilter("ignore")  # its tracer's own
        return _outcome(way, feature, folder)


def _outcome(way, feature, folder):
    whole = trained(None, WAYS[way][1], feature if feature != "compression" else "nothing", None).weights()
    folder = folder if feature == "save and resume" else None
    try:
        off = max(simulate(difference, 2, args=(way, feature, folder, whole)).results)
    except Exception as error:  # a refusal is one of the outcomes
        return str(error).split("\n")[0]
    return "same" if off <= (2e-2 if feature == "autocast" else 1e-5) else f"off by {off:.2g}"


NO_GRADIENTS_CROSS = "no gradient crosses a wire, so there is none to compress; what crosses are activations."
NOT_ASKED = {  # pairs that there are not, and why
    **{
        (way, "compression"): "gradients go to their owners by a reduce-scatter, and a compressor is an all-reduce."
        for way in ("ZeRO-1", "ZeRO-2", "ZeRO-3")
    },
    **{(way, "compression"): NO_GRADIENTS_CROSS for way in ("pipeline", "tensor-parallel", "experts")},
    ("mesh", "complex and 0-dimensional parameters"): "a mesh trains the course's GPT, which has none.",
}
HOW = {  # what it takes, where it is not what it takes on one process
    "nothing": """Give all ranks the same weights first; how each way is used stands in its docstring.""",
    "autocast": """`torch.autocast` around the forward pass, or around `run_schedule` and `backward_on_mesh`; stages
    then tell each other their dtype. The difference allowed is bf16's rounding, everywhere else fp32's.""",
    "loss scaling": """`precision.unscale(gradients, scale)` asks all ranks that have parts. With ZeRO call
    `reduce_gradients()` before, and give it the shards' gradients; on a mesh give `backward_on_mesh` the scale, and
    `unscale` the whole mesh's `comm`. torch's `GradScaler` asks nobody: it works where every rank has all
    gradients, with `DataParallel`, and is refused on parts.""",
    "recomputation": """`torch.utils.checkpoint` with `use_reentrant=False` inside the module; in a pipeline and on a
    mesh `recompute=True`.""",
    "compression": """`DataParallel(..., all_reduce=CompressedAllReduce(...))`, `MeshTraining(all_reduce=...)`. Under a
    loss scale set `all_reduce.scale` to it before each backward pass. Tried with a compressor that leaves nothing
    out, for else the weights are others.""",
    "clipping": """`torch.nn.utils.clip_grad_norm_` with `DataParallel`, ZeRO's own `clip_grad_norm_`, on a mesh
    `MeshTraining(clip=...)`. For stages, layers and experts, of which torch's would see one rank's and so is refused,
    `data_parallel.clipping.clip_parts_`.""",
    "accumulation": """`no_sync()` around all passes but the last with `DataParallel`; just more passes with ZeRO,
    layers and experts; in a pipeline and on a mesh the schedule's micro-batches.""",
    "frozen and unused parameters": """Freeze before the parts are made. ZeRO gives an unused parameter a gradient of
    zeros, so weight decay moves it there, as it does nowhere else.""",
    "complex and 0-dimensional parameters": """Nothing, as long as real numbers travel between stages; otherwise all
    ranks of a pipeline say `tells_dtype=True`.""",
    "torch.compile": """Each block is compiled by itself, not the whole of a module that sends messages. Tried with
    `backend="eager"`, which traces and generates no code. torch's tracer warns of what it finds where messages are
    sent inside (ZeRO-3's hooks, parallel layers), and leaves it uncompiled.""",
    "save and resume": """`Checkpoints` with each rank's own state, `save_zero` and `load_zero`, `save_on_mesh` and
    `load_on_mesh`. What goes on was made from other weights.""",
}


def page() -> str:
    """The table as a page, from what is expected of each pair."""
    columns = "".join(f" {feature} |" for feature in FEATURES[1:])
    lines = [
        "# What goes together",
        "",
        "Each way to train on several ranks with each thing that one wants beside. **yes**: two simulated ranks get",
        "the weights of one process, after three steps with momentum. **–**: there is no such pair, and the reason",
        "stands below. This page is made by `python -m tests.together.pairs`, and `tests/together/test_pairs.py` tries",
        "the pairs: all of them by night, some by day.",
        "",
        f"| |{columns}",
        f"| --- |{' --- |' * (len(FEATURES) - 1)}",
    ]
    for way in WAYS:
        marks = ["–" if (way, feature) in NOT_ASKED else "yes" for feature in FEATURES[1:]]
        lines.append(f"| {way} | {' | '.join(marks)} |")
    lines += ["", "## What it takes", "", *(f"- **{feature}.** {_filled(HOW[feature])}" for feature in FEATURES[1:])]
    reasons = {why: [pair for pair in NOT_ASKED if NOT_ASKED[pair] == why] for why in NOT_ASKED.values()}
    lines += ["", "## Why some pairs are not there", ""]
    for why, pairs in reasons.items():
        lines.append(f"- **{', '.join(way for way, _ in pairs)} with {pairs[0][1]}**: {why}")
    lines += ["", "## What does not go", "", *(f"- {words}" for words in NOT_TOGETHER)]
    return "\n".join(lines) + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 116, subsequent_indent="  ")


NOT_TOGETHER = (
    "ZeRO with an optimizer of torch that looks at whole tensors (Adafactor, LBFGS, Muon, SparseAdam): refused.",
    "ZeRO's stage 3 with a parameter that is used outside of its module's forward pass: refused where it is used.",
    "A mesh with ZeRO and a compressor at once: refused.",
    "Recomputation of a pipeline's stage that changes its input in place: refused (unless it does so through `.data`).",
    "A pipeline of which some ranks have 16 bits and others none: a deadlock, unless all say `tells_dtype=True`.",
    "Gradients from `torch.autograd.grad` do not know that they are parts: give `unscale` their ranks as `comm`.",
    "Nothing here says how two things beside go together with a third: only pairs are tried.",
)


if __name__ == "__main__":
    from pathlib import Path

    (Path(__file__).parents[2] / "docs" / "what_goes_together.md").write_text(page(), encoding="utf-8")
