"""The same on a mesh of two ranks: a small GPT, of which each rank has half of each layer, or a copy."""

import copy

from course_lib.compression import CompressedAllReduce, TopK
from course_lib.mesh import (
    Mesh,
    MeshRank,
    MeshStage,
    MeshTraining,
    backward_on_mesh,
    load_on_mesh,
    part_of,
    save_on_mesh,
    update_on_mesh,
)
from course_lib.precision import unscale
from course_lib.tasks import GPT, GPTConfig, next_token_loss
from tests.together.parts import Alone, sgd

CONFIG = GPTConfig(layers=2, width=8, heads=2, context=8, vocabulary=12)


def gpt(feature, seed):
    whole = GPT(CONFIG, seed)
    if feature.startswith("frozen"):
        whole.blocks[0].mlp[0].weight.requires_grad_(False)
        whole.position.weight.requires_grad_(False)
    return whole


def tokens_of(x):
    tokens = (x.abs() * 7).long() % CONFIG.vocabulary
    return tokens, tokens.roll(1, 1)


class OneGPT(Alone):
    """The whole model on one process."""

    def build(self, seed):
        self.module = gpt(self.feature, seed)

    def backward(self, x, factor, last):
        tokens, targets = tokens_of(x)
        with self.cast():
            loss = next_token_loss(self.module(tokens), targets)
        (loss * factor).backward()


class OnMesh(Alone):
    """Its part of a mesh."""

    accumulates = False  # the schedule does, over micro-batches

    def build(self, seed):
        self.whole = gpt(self.feature, seed)
        self.training = MeshTraining(
            micro_batches=2 if self.feature == "accumulation" else 1,
            make_optimizer=sgd,
            recompute=self.feature == "recomputation",
            clip=0.1 if self.feature == "clipping" else None,
            **({"all_reduce": CompressedAllReduce(TopK(1.0))} if self.feature == "compression" else {}),
        )
        mesh = Mesh(data=2) if self.feature == "compression" else Mesh(tensor=2)
        self.module = part_of(MeshRank(self.comm, mesh), self.whole, self.training)
        for block in self.module.blocks if self.feature == "torch.compile" else ():
            block.compile(backend="eager")

    def backward(self, x, factor, last):
        with self.cast():
            backward_on_mesh(self.module, tokens_of(x), self.training, factor)

    def unscale(self, scale):
        return unscale(self.gradients(), scale, self.comm)

    def clip(self, most):
        """`update_on_mesh` does it."""

    def step(self):
        update_on_mesh(self.module, self.optimizer, self.training)

    def save(self, checkpoints):
        save_on_mesh(checkpoints, 1, self.module, self.optimizer, self.whole)
        self.comm.barrier()

    def load(self, checkpoints):
        load_on_mesh(checkpoints, 1, self.module, self.optimizer, self.whole)

    def of_whole(self, whole):
        reference = copy.deepcopy(self.whole)
        for mine, theirs in zip(reference.parameters(), whole, strict=True):
            mine.data.copy_(theirs)
        return [each.detach() for each in MeshStage(self.module.here, reference).parameters()]
