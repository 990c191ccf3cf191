"""Cases of layers and transformers that are cut over ranks."""

import torch
from cases import CONFIG, case, gradients
from torch import nn
from torch.nn import functional

from course_lib import model_parallel as mp
from course_lib import tensor_parallel as tp
from course_lib.tasks import GPT
from course_lib.tasks.gpt import Attention


@case("a linear layer cut three ways")
def _(comm, here):
    x, weight, bias, given = here.rand(7, 5), here.rand(4, 5, seed=1), here.rand(4, seed=2), here.rand(7, 4, seed=3)
    by_examples, by_outputs, by_inputs = (
        kind(comm, weight, bias) for kind in (mp.ExampleSplitLinear, mp.OutputSplitLinear, mp.InputSplitLinear)
    )
    return [
        by_examples.forward(mp.own_part(comm, x, 0)),
        by_examples.backward(mp.own_part(comm, given, 0)),
        mp.gather(comm, by_outputs.forward(x), 1, 4),
        by_outputs.backward(mp.own_part(comm, given, 1)),
        by_inputs.forward(mp.own_part(comm, x, 1)),
        mp.gather(comm, by_inputs.backward(given), 1, 5),
        *[[layer.weight_grad, layer.bias_grad] for layer in (by_examples, by_outputs, by_inputs)],
        mp.scatter_sum(comm, here.rand(7, 4, seed=comm.rank), 0),
    ]


@case("neurons trained three ways", 2)
def _(comm, here):
    given = here.rand(8, 8), here.rand(8, seed=1), here.rand(8, seed=2)
    return [mp.train_neurons(comm, way, mp.NeuronLayer(8), *given) for way in mp.WAYS]


@case("Cannon", 4)
def _(comm, here):
    grid = mp.Grid(comm, 2, 2)
    return mp.cannon_product(comm, *(grid.block(each).contiguous() for each in (here.rand(7, 5), here.rand(5, 4))), 5)


@case("SUMMA", 6)
def _(comm, here):
    grid = mp.Grid(comm, 2, 3)
    blocks = [grid.block(each).contiguous() for each in (here.rand(7, 5), here.rand(5, 4))]
    return mp.summa_product(comm, *blocks, 2, 3, 5)


@case("layers of ranks", 8)
def _(comm, here):
    layer, place = divmod(comm.rank, 4)
    blocks = [
        each.tensor_split(2, 0)[place // 2].tensor_split(2, 1)[place % 2].tensor_split(2)[layer].contiguous()
        for each in (here.rand(6, 6), here.rand(6, 6, seed=1))
    ]
    return mp.layered_product(comm, *blocks, 6, 6, 6, 2)


@case("a convolution cut by regions", covers=["collect_rows", "return_rows"])
def _(comm, here):
    x, weight, bias = here.rand(2, 3, 9, 5), here.rand(4, 3, 3, 3, seed=1), here.rand(4, seed=2)
    layer = mp.RegionConv2d(comm, weight, bias, 9, stride=2, padding=1)
    y = layer.forward(mp.own_part(comm, x, 2))
    return y, layer.backward(torch.ones_like(y)), layer.weight_grad, layer.bias_grad


@case("a convolution cut by channels", 2)
def _(comm, here):
    x, weight, bias, found = here.rand(2, 6, 5, 5), here.rand(4, 6, 3, 3, seed=1), here.rand(4, seed=2), []
    for kind in (mp.OutputChannelConv2d, mp.InputChannelConv2d):
        layer = kind(comm, weight, bias, padding=1)
        y = layer.forward(x if kind is mp.OutputChannelConv2d else mp.own_part(comm, x, 1))
        found += [y, layer.backward(torch.ones_like(y)), layer.weight_grad, layer.bias_grad]
    return found


@case("a network that is hybrid")
def _(comm, here):
    torch.default_generator.manual_seed(0)
    layers, digits = here.on(nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))), here.digits()
    hybrid = mp.HybridNetwork(comm, layers, ["data", "model"], 12)
    hybrid.loss(digits.train_inputs[:12], digits.train_labels[:12]).backward()
    hybrid.sum_gradients()
    return [parameter.grad for layer in hybrid.choices for parameter in layer.parameters()]


@case("conjugate operators", 2)
def _(comm, here):
    x = here.rand(2, 4, 6, seed=comm.rank).requires_grad_()
    for operator in (
        tp.copy_to_ranks,
        tp.sum_over_ranks,
        tp.gather_sequence,
        tp.scatter_sequence,
        tp.own_sequence,
        tp.exchange_parts,
    ):
        (operator(comm, x) ** 2).sum().backward()
    return x.grad, tp.part_of(comm, here.rand(6, 2), 0)


@case("linear layers and attention of one block", 2)
def _(comm, here):
    torch.default_generator.manual_seed(0)
    first, second = here.on(nn.Linear(5, 6)), here.on(nn.Linear(6, 5))
    columns, rows = tp.ColumnParallelLinear(comm, first), tp.RowParallelLinear(comm, second)
    (rows(columns(here.rand(2, 3, 5)).relu()) ** 2).sum().backward()
    attention = tp.ParallelAttention(comm, here.on(Attention(CONFIG)), True)
    x = here.rand(2, 4, 12, seed=comm.rank).requires_grad_()
    (attention(x) ** 2).sum().backward()
    return gradients(columns), gradients(rows), x.grad, gradients(attention)


@case("a vocabulary and its loss")
def _(comm, here):
    torch.default_generator.manual_seed(0)
    embedding = tp.VocabularyParallelEmbedding(comm, here.on(nn.Embedding(24, 6)))
    tokens = here.whole(2, 4, low=0, high=24)
    loss = tp.vocabulary_parallel_loss(comm, embedding.scores(embedding(tokens)), tokens)
    loss.backward()
    return loss, gradients(embedding)


for _cut in (False, True):

    @case(f"a transformer cut over ranks, its sequence too: {_cut}", 2, covers=["ParallelBlock"])
    def _(comm, here, cut=_cut):
        model, tokens = tp.ParallelGPT(comm, here.on(GPT(CONFIG)), cut), here.whole(2, 8, low=0, high=24)
        loss = model.loss(tokens, tokens.roll(-1, 1))
        loss.backward()
        model.sum_shared_gradients()
        return loss, gradients(model)


@case("attention over a cut sequence")
def _(comm, here):
    found = []
    for cut in (tp.places_in_order, tp.places_in_zigzag):
        places = cut(13, 3)
        own = [here.rand(2, 3, 13, 4, seed=s)[:, :, places[comm.rank]].clone().requires_grad_() for s in range(3)]
        (tp.ring_attention(comm, *own, places) ** 2).sum().backward()
        found += [each.grad for each in own]
    whole = [here.rand(2, 4, 3, 3, seed=s + 3 * comm.rank).requires_grad_() for s in range(3)]
    if comm.world_size == 2:
        (tp.exchanged_attention(comm, *whole) ** 2).sum().backward()
    return found


@case("attention by exchange", 2)
def _(comm, here):
    own = [here.rand(2, 4, 4, 3, seed=s + 3 * comm.rank).requires_grad_() for s in range(3)]
    y = tp.exchanged_attention(comm, *own)
    (y**2).sum().backward()
    return y, [each.grad for each in own]


@case("experts", 2)
def _(comm, here):
    torch.default_generator.manual_seed(0)
    experts, router = here.on(nn.ModuleList(nn.Linear(6, 6) for _ in range(4))), here.on(nn.Linear(6, 4))
    layer, x = tp.ExpertParallel(comm, router, experts, 5), here.rand(12, 6, seed=comm.rank).requires_grad_()
    y = layer(x)
    (y**2).sum().backward()
    return y, x.grad, gradients(layer.experts)


@case("products beside a ring", 2)
def _(comm, here):
    x, up, down = here.rand(2, 6, 8, seed=comm.rank), here.rand(6, 8, seed=3), here.rand(8, 6, seed=4)
    given = [each.requires_grad_() for each in (x, up, down)]
    y = tp.product_scatter(comm, tp.gather_product(comm, x, up).relu(), down)
    (y**2).sum().backward()
    return y, [each.grad for each in given]


@case("masks that are a rank's own, and masks that are everyone's", 2)
def _(comm, here):
    same, own = (tp.random_of_rank(comm, 1, same=same, device=comm.device) for same in (True, False))
    found, x = [], torch.ones(32, device=here.device)
    for numbers in (same, own, same, own):
        with numbers:
            found.append(functional.dropout(x))
        comm.barrier()
    return found, functional.dropout(x)
