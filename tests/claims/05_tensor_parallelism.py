"""What the lecture of chapter 05 says, as asserts: each block runs behind the cell that its head names."""

# after stakes
assert [round(each / 1e9, 1) for each in held.values()] == [133.1, 61.6, 1.7]
whole_gb = sum(held.values()) / 1e9
assert round(whole_gb) == 196 and round(whole_gb / 32) == 6
assert 4 < held["states"] / 32e9 < 4.5 and 1.9 < held["activations"] / 32e9 < 2
assert 4 + 4 + 6 + 2 + 16 + 2 == 34 and round(ours.gpt_parameters(blocks, h) / 1e9, 1) == 8.3
assert round(5 * tokens * h / 1e9, 1) == 0.1  # around the blocks: the last norm, the output layer's input, a mask
assert all(abs(held[part] / each - 1) < 1e-3 for part, each in ours.CutStep().held_bytes.items())
small_block = GPT(GPTConfig(vocabulary=264, context=48, layers=2, width=48, heads=12)).blocks[0]
alone = simulate(
    lambda comm: ours.kept_numbers(ours.ParallelBlock(comm, small_block), torch.ones(2, 48, 48, requires_grad=True)), 1
)
assert round(alone.results[0] / (2 * 48 * 48), 1) == 16.3

# after bars-mlps
from torch import nn
from torch.nn.functional import gelu

addends = torch.tensor([3.0, -2.0])
assert addends.sum().relu() == 1 and addends.relu().sum() == 3
assert round(sum(bars["MLPs"].values()) / 1e9) == 95
assert 8 * h**2 / (12 * h**2) == 2 / 3 and 16 / 8 == 2

torch.manual_seed(seed)
up, down, given = nn.Linear(12, 48), nn.Linear(48, 12), torch.randn(2, 5, 12)


def columns_then_rows(comm):
    hidden = gelu(ours.ColumnParallelLinear(comm, up)(given))
    return ours.RowParallelLinear(comm, down)(hidden).detach()


for p in (1, 2, 3, 4):
    for y in simulate(columns_then_rows, p).results:
        assert torch.allclose(y, down(gelu(up(given))), atol=1e-6)

# after eight
found = {
    name: simulate(eight_times, 2, args=(way,)).results for name, way in (("", as_it_is), ("f", ours.copy_to_ranks))
}
assert found[""] == [(16, 3), (16, 5)] and found["f"] == [(16, 8), (16, 8)]

# after heads-by-hand
assert halves[0] == [0, 1, 2, 3, 4, 5] and by_heads == [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11]]

# after attention-run
assert error < 1e-12


# after bars-heads
def block_of(comm, backward):
    y = ours.ParallelBlock(comm, GPT(config).blocks[0])(torch.ones(2, 48, 48).requires_grad_())
    if backward:
        y.sum().backward()


for backward, count in ((False, 2), (True, 4)):
    messages = simulate(block_of, 4, args=(backward,)).trace.messages
    assert len(messages) == count * 2 * 3 * 4 and {each.message_bytes for each in messages} == {2 * 48 * 48 * 4 // 4}
assert round(sum(bars["heads"].values()) / 1e9) == 44

# after logits
assert rows["all logits"] == (51_200, 4 * 8192 * 51_200) and rows["the three numbers"] == (3, 98_304)
assert vocabulary / 8 == 6400 and vocabulary > 4 * h  # the next largest matrices are the MLP's: h by 4h
torch.manual_seed(seed)
some_logits, words = torch.randn(2, 8, 24, dtype=torch.float64), torch.randint(0, 24, (2, 8))


def loss_in_parts(comm):
    part = some_logits.chunk(comm.world_size, 2)[comm.rank].clone().requires_grad_()
    its_loss = ours.vocabulary_parallel_loss(comm, part, words)
    its_loss.backward()
    return its_loss.item(), part.grad


known = some_logits.clone().requires_grad_()
next_token_loss(known, words).backward()
for p in (1, 2, 3, 4):
    in_parts = simulate(loss_in_parts, p)
    assert torch.allclose(torch.cat([grad for _, grad in in_parts.results], 2), known.grad)
    assert abs(in_parts.results[0][0] - next_token_loss(some_logits, words).item()) < 1e-12
    assert len(in_parts.trace.messages) == 3 * 2 * (p - 1) * p  # with its backward pass: three all-reduces, no more
by_hand = (some_logits.softmax(2) - nn.functional.one_hot(words, 24)) / words.numel()
own = torch.stack([part.logsumexp(2) for part in some_logits.chunk(4, 2)])  # two numbers would do
assert torch.allclose(by_hand, known.grad) and torch.allclose(own.logsumexp(0), some_logits.logsumexp(2))

# after bars-vocabulary
assert round(sum(bars["vocabulary"].values()) / 1e9) == 40

# after gpt-run
assert error < 1e-12 and len(report.results[0][1]) == 28

# after wrong-g
assert abs(rows["last block, up"][0] / ranks - 1) < 1e-6  # nothing but one g behind it
assert ranks == 1 or rows["positions"][0] > 1.2 * ranks
assert ranks == 1 or rows["embedding"][1] < 0.9
last = {name for name in wrong if name.startswith("blocks.1.mlp") and name != "blocks.1.mlp.2.bias"}
times = {name for name in wrong if (wrong[name] - ranks * right[name]).norm() < 1e-9 * right[name].norm()}
assert ranks == 1 or times == last

first, *others = simulate(with_wrong_g, 4).results  # wrong on all ranks alike: no hash tells
assert all(torch.equal(each[name], first[name]) for each in others for name in first if ours.is_shared(name))

# after no-f
assert rows["with f"][1] == 0 and abs(rows["without f"][0] / rows["with f"][0] - 1) < 0.02
assert ranks == 1 or 0.02 < rows["without f"][1] < 0.06
right_losses = {draw: simulate(train, 1, args=(True, draw)).results[0][0] for draw in range(5)}
for p, draw in ((4, 0), (4, 1), (4, 2), (4, 3), (4, 4), (2, 0), (3, 3)):
    without = simulate(train, p, args=(False, draw)).results
    drift = max((one[1] - without[0][1]).abs().max().item() for one in without)
    assert -0.0135 < without[0][0] / right_losses[draw] - 1 < 0.0035 and 0.025 < drift < 0.055

# after whole
assert round(rows[2][3], 2) == 0.77 and sum(row[2] for row in rows) == 13
assert round(bars["vocabulary"]["activations"] / 1e9, 1) == 23.6
assert 7.5 < bars["nothing"]["states"] / bars["vocabulary"]["states"] < 8.5

# after sequence-bytes
assert rows["tokens whole"] == rows["tokens cut"]
for p in (2, 3, 6, 12):
    both = [simulate(step_of_a_block, p, args=(each,)).trace.bytes_sent for each in (False, True)]
    assert both[0] == both[1]

# after bars-sequence
last_two = [sum(bars[name].values()) / 1e9 for name in ("sequence", "gathered again")]
assert [round(each, 1) for each in last_two] == [30.9, 24.6]
sent = {name: large._replace(cut=name).sent_bytes for name in ("vocabulary", "sequence", "gathered again")}
assert sent["gathered again"] == 1.25 * sent["sequence"] == 1.25 * sent["vocabulary"]

# after sequence-run
assert rows["with the sum"] < 1e-12 and (ranks == 1 or rows["without"] > 1e-4)


def mask(comm, same):
    with ours.random_of_rank(comm, seed=seed + 1, same=same):
        return tuple((torch.rand(12) < 0.5).tolist())


assert [len(set(simulate(mask, 4, args=(same,)).results)) for same in (True, False)] == [1, 4]

# after cost-table
assert [round(100 * row[-1]) for row in rows] == [87, 87, 84, 72, 24]
assert round(rows[3][2] / 1e9, 1) == 29.3 and all(row[2] > 32e9 for row in rows[:1])
once = ours.communication_share(ours.MEGATRON_WEAK_SCALING[-1])
twice = 1 / (1 + (1 / once - 1) * (6 / 4) / (4 / 3))  # one more forward pass: its all-reduces, its operations
assert round(100 * once) == 87 and round(100 * twice) == 85 and ours.MEGATRON_WEAK_SCALING[-1].efficiency == 0.77
assert 2 / (4 * 72) + 6 * h / (4 * tokens * h) < 0.01  # the vocabulary's all-reduces; norms' and biases' gradients

# after zero
assert [round(row[1] / 1e9, 1) for row in rows] == [24.5, 80.0]
assert [round(row[2] / 1e9, 1) for row in rows] == [24.6, 25.0]
assert round(3 * 7 / 8 * 2 * ours.gpt_parameters(blocks, h) / 1e9) == 44 and round(sent["gathered again"] / 1e9) == 32

# after explorer
for settings, gigabytes, share in (({"sequences": 4}, "28.6 GB", "87%"), ({"gpus": 16}, "29.3 GB", "72%")):
    said = TensorExplorer(cut="vocabulary", **settings).in_words
    assert f"Each must hold {gigabytes}" in said and f"Efficiency {share}" in said
assert "Each must hold 196 GB" in TensorExplorer().in_words and "Efficiency 12%" in TensorExplorer().in_words
medium = ours.CutStep(layers=24, hidden=2048, cut="vocabulary")  # question 2
assert round(2 * medium.tokens * 2048 / 1e6, 1) == 33.6 and round(medium.sent_bytes / 1e9, 1) == 5.6


def mlp_with_wrong_g(comm, leave):  # question 1
    torch.manual_seed(seed)
    first, second = nn.Linear(4, 16), nn.Linear(16, 4)
    x, wide = torch.randn(3, 4, requires_grad=True), ours.ColumnParallelLinear(comm, first)
    narrow = ours.RowParallelLinear(comm, second)
    narrow.leave = leave
    narrow(gelu(wide(x))).square().sum().backward()
    return x.grad, wide.weight.grad, wide.bias.grad, narrow.weight.grad, narrow.bias.grad


right_grads, wrong_grads = (
    simulate(mlp_with_wrong_g, 8, args=(leave,)).results[0]
    for leave in (ours.sum_over_ranks, lambda comm, x: ours.copy_to_ranks(comm, ours.sum_over_ranks(comm, x)))
)
for number, (one, other) in enumerate(zip(right_grads, wrong_grads, strict=True)):
    assert torch.allclose(other, one if number == 4 else 8 * one, rtol=1e-4, atol=1e-5)
