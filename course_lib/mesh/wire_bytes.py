"""How many bytes each dimension of a mesh moves in a step, by formula, and counted on a trace."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.collectives import all_gather_cost, chunk_bytes, reduce_scatter_cost, ring_all_reduce_cost
from course_lib.comm import Network, Trace
from course_lib.mesh.coordinates import At, Mesh
from course_lib.tasks import GPTConfig


class StepSizes(NamedTuple):
    """What a step's bytes depend on, besides the mesh: every data rank takes its micro-batches through the model."""

    config: GPTConfig
    micro_batches: int
    micro_batch: int  # sequences
    length: int  # tokens of a sequence, or of what a context rank has of it
    element_bytes: int = 8
    recompute: bool = False
    chunks: int = 1  # stages that a pipeline rank has

    def stages(self, mesh: Mesh, at: At) -> range:
        """The stages of a rank, of `chunks` times as many as there are pipeline ranks."""
        return range(at.pipeline, self.chunks * mesh.pipeline, mesh.pipeline)

    @property
    def activation_bytes(self) -> int:
        """What lies between two blocks, of one micro-batch."""
        return self.micro_batch * self.length * self.config.width * self.element_bytes


def _ring_bytes(elements: int, ranks: int, place: int, element_bytes: int) -> int:
    cost = ring_all_reduce_cost(elements * element_bytes, world_size=ranks, element_bytes=element_bytes)
    return cost.bytes_sent[place]


def _blocks(layers: int, stages: int, stage: int) -> int:
    return (stage + 1) * layers // stages - stage * layers // stages


def tensor_bytes(sizes: StepSizes, mesh: Mesh, at: At) -> int:
    """Sent by a rank to its tensor neighbors: four all-reduces a block and micro-batch, of all activations.

    One more behind the embedding, one before the output, and three numbers a token for the loss. Recomputation does
    those of the forward pass twice.
    """
    stages, last = sizes.chunks * mesh.pipeline, at.pipeline == mesh.pipeline - 1
    blocks = sum(_blocks(sizes.config.layers, stages, stage) for stage in sizes.stages(mesh, at))
    forwards = 2 if sizes.recompute else 1
    count = forwards * (2 * blocks + (at.pipeline == 0)) + 2 * blocks + last
    elements = sizes.activation_bytes // sizes.element_bytes
    ring = count * _ring_bytes(elements, mesh.tensor, at.tensor, sizes.element_bytes)
    tokens = sizes.micro_batch * sizes.length
    loss = 3 * forwards * _ring_bytes(tokens, mesh.tensor, at.tensor, sizes.element_bytes) if last else 0
    return sizes.micro_batches * (ring + loss)


def pipeline_bytes(sizes: StepSizes, mesh: Mesh, at: At) -> int:
    """Sent by a rank to its pipeline neighbors: a micro-batch's activations forward, their gradient backward.

    Each of its stages sends both, but the first of all sends nothing backward, and the last of all nothing forward.
    A tied embedding's gradient goes from the first stage to the last one and back.
    """
    ends = (0, mesh.pipeline - 1)
    passes = 2 * sizes.chunks - sum(at.pipeline == end for end in ends) if mesh.pipeline > 1 else 0
    passed = passes * sizes.micro_batches * sizes.activation_bytes
    if not sizes.config.tied or mesh.pipeline == 1 or at.pipeline not in ends:
        return passed
    embedding = sizes.config.vocabulary // mesh.tensor * sizes.config.width
    return passed + _ring_bytes(embedding, 2, ends.index(at.pipeline), sizes.element_bytes)


def _parameter_lengths(config: GPTConfig, tensor: int, stages: int, stage: int) -> list[int]:
    """The elements of each parameter of a stage on a rank, split ones divided by the tensor ranks."""
    d, t = config.width, tensor
    whole, split = [d] * 6, [3 * d * d, 3 * d, d * d, 4 * d * d, 4 * d, 4 * d * d]  # two norms, two biases
    block = whole + [length // t for length in split]
    first, last = stage == 0, stage == stages - 1
    vocabulary = config.vocabulary // t * d
    ends = [vocabulary, config.context * d] * first + [d, d] * last
    ends += [vocabulary] * (last and not (first and config.tied))
    return block * _blocks(config.layers, stages, stage) + ends


def context_bytes(sizes: StepSizes, mesh: Mesh, at: At) -> int:
    """Sent by a rank to its context neighbors: keys and values in each block and micro-batch, and its gradients.

    Of c ranks each sends 6c - 4 parts of keys or values, and 2(c - 1) more in recomputation (ring attention, chapter
    05). Gradients: a reduce-scatter and an all-gather, once a step.
    """
    c, each = mesh.context, sizes.element_bytes
    blocks = sum(_blocks(sizes.config.layers, sizes.chunks * mesh.pipeline, n) for n in sizes.stages(mesh, at))
    parts = 6 * c - 4 + (2 * (c - 1) if sizes.recompute else 0) if c > 1 else 0
    turns = sizes.micro_batches * blocks * parts * sizes.activation_bytes // mesh.tensor
    costs = (reduce_scatter_cost, all_gather_cost) if c > 1 else ()
    lengths = [each * length for length in _gradient_lengths(sizes, mesh, at)]
    sums = (cost(n, world_size=c, element_bytes=each).bytes_sent[at.context] for n in lengths for cost in costs)
    return turns + sum(sums)


def data_bytes(sizes: StepSizes, mesh: Mesh, at: At) -> int:
    """Sent by a rank to its data neighbors, once a step: an all-reduce of each of its parameters' gradients.

    Context ranks have summed them by then, and each has a shard.
    """
    shards = (chunk_bytes(length, mesh.context, 1)[at.context] for length in _gradient_lengths(sizes, mesh, at))
    return sum(_ring_bytes(shard, mesh.data, at.data, sizes.element_bytes) for shard in shards)


def _gradient_lengths(sizes: StepSizes, mesh: Mesh, at: At) -> list[int]:
    """The elements of each parameter of a rank."""
    stages = sizes.chunks * mesh.pipeline
    own = (_parameter_lengths(sizes.config, mesh.tensor, stages, stage) for stage in sizes.stages(mesh, at))
    return [length for lengths in own for length in lengths]


def step_bytes(sizes: StepSizes, mesh: Mesh) -> dict[str, int]:
    """Bytes that cross each dimension in a step, all ranks together."""
    own = sizes._replace(length=sizes.length // mesh.context)
    places = [mesh.coordinates(rank) for rank in range(mesh.world_size)]
    formulas = {"data": data_bytes, "pipeline": pipeline_bytes, "context": context_bytes, "tensor": tensor_bytes}
    return {name: sum(formulas[name](own, mesh, at) for at in places) for name in mesh.dimensions}


def dimension_bytes(trace: Trace, mesh: Mesh) -> dict[str, int]:
    """The same counted on a trace: a message belongs to the dimension in which its two ends differ.

    Those that differ in data and context, as in a ring of all copies, are data's.
    """
    counts = dict.fromkeys(mesh.dimensions, 0)
    for src, row in enumerate(trace.link_bytes):
        for dst, sent in enumerate(row):
            if sent:
                counts[mesh.dimension_between(src, dst) or "data"] += sent
    return counts


def node_bytes(trace: Trace, network: Network) -> tuple[int, int]:
    """Bytes on a trace that stayed inside nodes, and those that left one."""
    inside = outside = 0
    for src, row in enumerate(trace.link_bytes):
        for dst, sent in enumerate(row):
            outside += sent if network.crosses_nodes(src, dst) else 0
            inside += 0 if network.crosses_nodes(src, dst) else sent
    return inside, outside
