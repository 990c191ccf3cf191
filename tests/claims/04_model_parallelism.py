"""What the page '04 · Model parallelism' says, asserted: a block behind each cell that shows it."""

# after by-examples
assert [round(size / 1e6) for size in (sum(by_examples.values()), by_examples["fc6"])] == [427, 264]

# after where-table
work_of_convolutions = sum(layer.multiply_adds for layer in ours.ALEXNET[:5]) / work
assert round(100 * work_of_convolutions) == 92 and round(convolutions / 1e6) == 16
assert round(100 * convolutions / sum(by_examples.values())) == 4
assert ours.ALEXNET[0].out_height == 55

# after bars-first
assert everything == sum(by_examples.values()) and round(goal / 1e6) == 142

# after by-hand
y = x @ W.T
assert torch.equal(torch.cat(by_outputs(x, W, 2), dim=1), y) and torch.equal(sum(by_inputs(x, W, 2)), y)
for ranks in (1, 2, 4):
    x_, W_ = torch.randint(-9, 10, (3, 8)), torch.randint(-9, 10, (4, 8))
    assert torch.equal(torch.cat(by_outputs(x_, W_, ranks), dim=1), x_ @ W_.T)
    assert torch.equal(sum(by_inputs(x_, W_, ranks)), x_ @ W_.T)
del y

# after cut-both-run
assert all(equal) and len(equal) == 2 + 2 * world_size
addends = zip(x.tensor_split(world_size, 1), W.tensor_split(world_size, 1))
assert torch.equal(sum(x_part @ columns.T + b for x_part, columns in addends), x @ W.T + world_size * b)

# after fc6-table
assert [round(size / 1e6) for *_, size in rows] == [33, 15, 15, 66] and round(fc6_summed / 1e6) == 128

# after bars-fc6
assert round(bars["fc6 by outputs"] / 1e6) == 291
assert 0.5 < rows[-1][-1] / fc6_summed < 0.52

# after sum-counted
counted = {way: max(simulate(x_grad_of_fc6, p, args=(way,)).trace.bytes_sent) for way in ("all-reduce", "scattered")}
assert counted == {"all-reduce": 66_060_288, "scattered": 33_030_144}
assert counted["all-reduce"] == summed_bytes(batch * 9216) and counted["scattered"] == gathered_bytes(batch * 9216)

# after bars-scattered
assert bars["fc6 by outputs, sum scattered"] == plan_bytes("fc6") and round(plan_bytes("fc6") / 1e6) == 258
assert 0.35 < sum(size for *_, size in rows) / by_examples["fc6"] < 0.37  # little more than a third
sizes = {"batch": 64, "inputs": 512, "outputs": 256, "world_size": p, "alike": True}
for cut in ("outputs", "inputs"):  # the table of cuts
    traffic = ours.linear_traffic(cut, **sizes)
    passes = {"outputs": (64 * 256, 64 * 512), "inputs": (64 * 256, 64 * 512)}[cut]
    assert tuple(max(each) for each in traffic) == tuple(gathered_bytes(each) for each in passes)
assert ours.linear_traffic("examples", **sizes).busiest_bytes == summed_bytes(256 * 513)

# after border-picture
assert border == 4097
own = {
    name: ours.border_batch("outputs", inputs=i, outputs=o, alike=True)
    for name, i, o in (("fc6", 9216, 4096), ("fc7", 4096, 4096), ("fc8", 4096, 1000))
}
assert {name: round(each) for name, each in own.items()} == {"fc6": 5672, "fc7": 4097, "fc8": 1608}
assert round(ours.border_batch("outputs", inputs=4096, outputs=4096)) == 2731
for i, o in ((1000, 10), (3072, 12_288), (9216, 4096)):  # about the harmonic mean, for outputs and inputs
    for cut in ("outputs", "inputs"):
        assert abs(ours.border_batch(cut, inputs=i, outputs=o, alike=True) / (2 * i * o / (i + o)) - 1) < 0.002
for ranks in (8, 64):
    below, above = (
        [ours.linear_traffic(cut, batch=n, world_size=ranks, **layer).busiest_bytes for cut in ("outputs", "examples")]
        for n in (4096, 4098)
    )
    assert below[0] < below[1] and above[0] > above[1]

fc7 = [ours.linear_traffic("outputs", batch=n, world_size=8, **layer).busiest_bytes for n in (1024, 4097)]
assert round(fc7[0] / 1e6) == 29 and fc7[1] == by_examples["fc7"] and round(fc7[1] / 1e6) == 117

# after everything-table
assert [round(row[-1] / 1e6) for row in rows][:1] == [1041] and round(by_examples["conv1"] / 1e6, 1) == 0.2
names = [layer.name for layer in ours.ALEXNET]
assert all_by_outputs == plan_bytes(*names) and round(all_by_outputs / 1e6) == 3296
assert 7.5 < all_by_outputs / everything < 8.5
assert rows[0][1:3] == (34_944, 290_400)

# after regions-table
assert [round(sum(sent_by("regions", n)) / 1e6, 1) for n in (1024, 4)] == [358.4, 17.7]
regions, examples = sent_by("regions", 1024), sent_by("examples", 1024)
assert round(regions[0] / 1e6) == 39 and round(regions[0] / examples[0]) == 161
assert round((sum(sent_by("regions", 4)) - sum(examples)) / 1e6, 1) == 1.3
for n in (1, 2, 4, 64, 1024):
    for ranks in (1, 2, 3, 8, 64):
        for shape in (*ours.ALEXNET[:5], *ours.VGG16[:13]):
            sent = [
                ours.conv_traffic(cut, shape, batch=n, world_size=ranks).busiest_bytes
                for cut in ("examples", "regions")
            ]
            assert sent[0] <= sent[1]

by_rank = [
    sum(ours.owned_rows(conv.out_height, p)[rank].number / conv.out_height * conv.multiply_adds for conv in convs)
    / multiplications
    for rank in range(p)
]
assert [round(row[-1], 3) for row in rows] == [0.125, 0.148, 0.25, 0.148]
assert abs(max(by_rank) - busiest_share("regions", 4)) < 1e-9 and round(min(by_rank), 2) == 0.09
assert {each.number for each in ours.owned_rows(13, p)} == {1, 2}
with_pooling = [0] * p  # what a rank sends with four pictures, halos of poolings too
for shape in convs:
    traffic = ours.conv_traffic("regions", shape, batch=4, world_size=p)
    with_pooling = [sum(each) for each in zip(with_pooling, *traffic)]
for height, channels in ((55, 96), (27, 256), (13, 256)):
    for src, dst, lent in ours.halo_plan(height, ours.RowKernel(3, 2), p):
        for rank in (src, dst):  # forward, and its gradient home
            with_pooling[rank] += 4 * 4 * channels * height * lent.number
assert round(max(with_pooling) / 1e6, 1) == 18.8

# after halo-stride
assert [(src, dst, *lent) for src, dst, lent in ours.halo_plan(8, kernel, world_size=2)] == [(0, 1, 3, 4)]
assert ours.needed_rows(ours.Rows(0, 2), kernel) == (-1, 4) and ours.needed_rows(ours.Rows(2, 4), kernel) == (3, 8)
assert ours.needed_rows(ours.Rows(0, 4), ours.RowKernel(3, padding=1)) == (-1, 5)

# after plans-table
assert [round(sent / 1e6) for _, sent in rows] == [427, 431, 258, 170, 145]

# after best-plan
from itertools import product

from course_lib.collectives import all_to_all

assert best.choices == ("data",) * 5 + ("model",) * 3 and round(best.sent_bytes / 1e6) == 145
assert best.sent_bytes == min(
    ours.plan_bytes(ours.ALEXNET, each, batch=batch, world_size=p) for each in product(("data", "model"), repeat=8)
)
assert best.sent_bytes > goal

# after batch-table
assert [round(row[2] / 1e6) for row in rows] == [145, 295, 472] and [round(row[4] / 1e6) for row in rows] == [
    145,
    273,
    427,
]
assert [row[1] for row in rows] == ["fc6, fc7, fc8", "fc6, fc7", "fc6, fc7"]
assert [row[3] for row in rows] == ["fc6, fc7, fc8", "fc6, fc7, fc8", "none"]
for ranks in (2, 3, 8, 64):
    plans = {n: ours.choose_splits(ours.ALEXNET, batch=n, world_size=ranks).choices for n in (11, 3274, 3275)}
    assert plans[11] == plans[3274] == ("data",) * 5 + ("model",) * 3 and set(plans[3275]) == {"data"}
    for n in (1, 4, 10):
        assert ours.choose_splits(ours.ALEXNET, batch=n, world_size=ranks).choices[2:5] == ("model",) * 3


def with_all_to_alls(choices, pictures, ranks=8):  # from "by outputs" to "by examples" each rank sends what is kept
    sent = ours.plan_bytes(ours.ALEXNET, choices, batch=pictures, world_size=ranks)
    number = 4 * pictures * (ranks - 1) / ranks
    for layer, after, choice, then in zip(ours.ALEXNET, ours.ALEXNET[1:], choices, choices[1:]):
        if (choice, then) == ("model", "data"):
            sent -= (1 - 1 / ranks) * number * (layer.output_elements + after.input_elements)
    if choices[-1] == "model":  # and the gradient goes back in the same way
        sent -= (1 - 2 / ranks) * number * ours.ALEXNET[-1].output_elements
    return sent


def best_with_all_to_alls(pictures):
    sent, plan = min((with_all_to_alls(each, pictures), each) for each in product(("data", "model"), repeat=8))
    return cut_layers(plan), round(sent / 1e6)


assert [best_with_all_to_alls(n) for n in (1024, 1104, 1105, 2048, 3500)] == [
    ("fc6, fc7, fc8", 142),
    ("fc6, fc7, fc8", 152),
    ("fc6, fc7", 152),
    ("fc6, fc7", 243),
    ("fc6, fc7", 384),
]
assert 142.0e6 < with_all_to_alls(best.choices, 1024) < 142.05e6 < 142.25e6 < goal < 142.35e6
assert round(with_all_to_alls(["data"] * 7 + ["model"], 1024) / 1e6) == 428 > round(everything / 1e6)


def change_of_cut(comm):  # counted: 1,024 pictures' outputs of fc8, by outputs, become those of a rank's own pictures
    mine, kept = torch.empty(2, 1024, 125, device="meta")
    all_to_all(comm, kept.chunk(8), mine.chunk(8))


assert {*simulate(change_of_cut, 8).trace.bytes_sent} == {gathered_bytes(1024 * 1000) / 8}

weights = [layer.parameters for layer in ours.ALEXNET]
assert round(sum(weights) / 1e6, 1) == 61.0 and round((sum(weights[:5]) + sum(weights[5:]) / 8) / 1e6, 1) == 9.7

# after pair-run
assert equal


def crossing(comm):  # bytes that this rank sends between the two layers, forward and backward, of fc6's and fc7's sizes
    rows, columns = (ours.own_part(comm, torch.empty(4096, n, device="meta"), d) for n, d in ((9216, 0), (4096, 1)))
    hidden = torch.empty(1024, 9216, device="meta") @ rows.T
    y = hidden @ columns.T
    ours.scatter_sum(comm, y, 1)
    ours.gather(comm, ours.own_part(comm, y, 1), 1, 4096)
    (y @ columns) @ rows


assert max(simulate(crossing, p).trace.bytes_sent) == 2 * gathered_bytes(batch * 4096)

# after bars-pair
by_inputs_only = 16.3e6 + gathered_bytes(batch * 9216) * 2 / p + gathered_bytes(batch) * 2 * (4096 + 4096 + 1000)
assert round(by_inputs_only / 1e6) == 90
assert round(sent / 1e6) == 119 and sent < goal < best.sent_bytes and round(100 * sent / everything) == 28
held = sum(weights[:5]) + sum(weights[5:]) / 8 + 7 / 8 * (4096 + 1000)  # biases of layers by inputs are whole
assert round(held / 1e6, 1) == 9.7

# after explorer
seen = SplitExplorer(by_outputs=("fc6", "fc7", "fc8"))
assert "145 MB in a step: no plan of these two cuts sends less" in seen.caption
assert "a rank sends 472 MB" in SplitExplorer(by_outputs=("fc6", "fc7"), batch=3500).caption
assert "all by examples: 427 MB" in SplitExplorer(batch=3500).in_words
wide = {"batch": 500, "inputs": 1000, "outputs": 10, "world_size": 4}  # check yourself, 1 and 3
by_data, by_out, by_in = (ours.linear_traffic(cut, **wide, alike=True).busiest_bytes for cut in ours.LINEAR_SPLITS)
assert by_out == by_in and round(by_out / by_data) == 25
assert sum(lent.number for _, dst, lent in ours.halo_plan(16, ours.RowKernel(size=5, padding=2), 4) if dst == 1) == 4
