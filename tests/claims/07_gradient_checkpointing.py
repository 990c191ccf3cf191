"""What the page '07 · Gradient checkpointing' says, asserted: a block behind each cell that shows it."""

# after stake
from math import isclose, log2, sqrt

assert round(16 * 1.5) == 24 and round(24 / 64, 1) == 0.4 and round(input_gb, 3) == 0.105
assert round(48 * 32 * input_gb) == 161 and 5 < 161 / 32 < 5.1
assert 5 * 161 / 32 < 26 and 6 * 161 / 32 + 24 / 64 > 30  # five sequences at a time fit, six leave no room for logits
assert round(48 * 12 * input_gb) == 60  # the rule of thumb of ZeRO's authors

# after hooks
assert [row[:2] for row in rows] == [
    ("Linear", "its input"),
    ("Linear", "its parameter"),
    ("ReLU", "its output"),
    ("Linear", "its input"),
    ("Linear", "its parameter"),
]
inside = nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))
_, found = ours.saved_tensors(inside, [torch.randn(6, 8)])
places = [each.memory for each in found if each.shape == (6, 5)]
assert len(places) == 2 and len(set(places)) == 1  # saved twice, in one memory

# after measured
from course_lib.pipeline import HeldActivations


def formula_of(layer, x, y):
    if isinstance(layer, nn.Dropout | nn.ReLU):
        return y.nbytes
    own = 0
    if isinstance(layer, nn.MaxPool2d):
        own = 8 * y.numel()
    if isinstance(layer, nn.BatchNorm2d):
        own = 2 * 4 * x.shape[1]
    needs_input = isinstance(layer, nn.Linear | nn.Conv2d | nn.BatchNorm2d | nn.MaxPool2d)
    return own + x.nbytes if needs_input else own


model, before = network(), images
for layer, each in zip(model, measured, strict=True):
    assert each.kept_bytes == formula_of(layer, before, each.output)  # the table, to the byte
    before = each.output
all_kept = [each.kept_bytes for each in measured]
assert len(model) == len(all_kept) == 22 and len(kept) == 9
assert [sum(parts.values()) for parts in kept.values()] == all_kept[:9]
assert most == "8 MaxPool2d" and sum(kept[most].values()) == 6 * (32 * 16 * 4 * 4 * 4)
assert list(kept[most].values()) == [131072, 65536]  # two thirds, a third
large = ["3 BatchNorm2d", "4 ReLU", "6 BatchNorm2d", "7 ReLU"]
assert sum(kept[name]["new"] for name in large) > 0.8 * sum(parts["new"] for parts in kept.values())
assert kept["5 Conv2d"]["new"] == 0
forward = [ours.chain_of(model, images)[node].forward_time for node in range(1, 10)]
assert max(range(9), key=forward.__getitem__) == 4  # the second convolution, by operations
held = HeldActivations([*model.parameters(), *model.buffers()])
with held.watch():
    kept_by_network = model(images)
assert round(sum(all_kept) / 1e3) == 1410 and round(held.now_bytes / 1e3) == 1017
places, new = set(), 0
for each in measured:
    for tensor in each.saved:
        if tensor.whose != "parameter" and tensor.memory not in places:
            new += tensor.memory_bytes
            places |= {tensor.memory} if tensor.whose != "own" else set()
assert new == held.now_bytes

# after gpt
for b, t, d, h in [(4, 32, 64, 4), (4, 256, 64, 4), (2, 64, 128, 2), (3, 48, 96, 6), (4, 64, 100, 25)]:
    torch.manual_seed(seed)
    each = Block(GPTConfig(context=t, width=d, heads=h))
    value = torch.randn(b, t, d, requires_grad=True)
    assert inputs_kept(each, value) * value.nbytes == 4 * b * t * (16 * d + h * t + 4) + t * t
    _, found = ours.saved_tensors(each, [value])
    shapes = {tensor.memory: tensor.memory_bytes for tensor in found if tensor.whose != "parameter"}.values()
    wide = [size for size in shapes if size == 4 * value.nbytes]
    single = [size for size in shapes if size == value.nbytes]
    if h * t not in (d, 4 * d):  # the table has a size of its own
        assert (len(single), len(wide)) == (2 + 3 + 3, 2)
        assert sum(size == h * t / d * value.nbytes for size in shapes) == 1
assert [round(row[2]) for row in rows] == [24, 32, 48] and [row[1] for row in rows] == [512, 1024, 2048]
assert 1024 * 1600 / (64 * 100) == 25 * 1024**2 / (25 * 64**2) == 256  # the input and a table shrink alike
assert 25 * 1024 / 1600 == 25 * 64 / 100 == 16 and 1600 / 100 == 1024 / 64 == 16
assert 17 + 2.5 * 16 == 57  # Korthikanti et al.: (34 + 5 a s / h) bytes for each number of the input, by 2 bytes

# after fused
for b, t, d, h in [(4, 32, 64, 4), (4, 256, 64, 4), (2, 64, 128, 2), (3, 48, 96, 6), (4, 64, 100, 25)]:
    config = GPTConfig(context=t, width=d, heads=h)
    torch.manual_seed(seed)
    written_out, fused = Attention(config), FusedAttention(config)
    fused.load_state_dict(written_out.state_dict())
    value = torch.randn(b, t, d, requires_grad=True)
    assert torch.allclose(written_out(value), fused(value), atol=1e-5)  # up to rounding
    each = Block(config)
    each.attention = fused
    assert isclose(inputs_kept(each, value) * value.nbytes, 4 * b * t * (16 * d + h + 4))
assert 80 < 48 * 16 * input_gb < 81 and round(48 * 16 * input_gb) == 81

# after trade-run
assert same and isclose(more, 4 / 3)
assert 3 < plain_peak / peak < 4 and round(plain_peak / batch.nbytes) == 68
tiny = nn.Sequential(nn.Linear(64, 64))  # the smallest case: one segment of one layer
by_segments = checkpointed_step([tiny], batch, loss_of)
by_segments_gradient = tiny[0].weight.grad.clone()
tiny.zero_grad()
assert torch.equal(by_segments, loss_of(tiny(batch)))
loss_of(tiny(batch)).backward()
assert torch.equal(by_segments_gradient, tiny[0].weight.grad)
try:
    checkpointed_step([nn.Embedding(4, 8)], torch.arange(3), loss_of)
    raise AssertionError("whole numbers have a gradient")
except RuntimeError:
    pass

# after root
assert min(counts, key=lambda count: measured[counts.index(count)]) == 8 == sqrt(64)
assert all(3 < seen - expected < 5 for seen, expected in zip(measured, formula, strict=True))
assert round(measured[3]) == 20 and best == 8 and list(lowest) == ["lowest: 16, measured 20"]
assert formula[3] == 16 and formula[2] == formula[4] == 20 and formula[0] == formula[-1] == 65

# after gpt2
assert [row[3] for row in rows] == [769, 119, 56, 64]
assert [round(row[4], 1) for row in rows] == [80.6, 12.5, 5.9, 6.7]
assert all(5 < row[2] - row[3] < 10 for row in rows[1:])  # what is needed in passing
assert round(sqrt(16 * 48)) == 28 and round(sqrt(48)) == 7 and round(64 / 56 - 1, 2) == round(1 / 7, 2)
whole = {count: count + 16 * ceil(48 / count) for count in range(1, 49)}
assert min(whole, key=whole.get) == 24
assert 48 + 32 == 80 == min(count + 32 * ceil(48 / count) for count in range(1, 49)) and round(80 * input_gb, 1) == 8.4
assert round(2 * 32 * 1024 * 50_257 / 1e9, 1) == 3.3  # the logits
for n in (1, 2, 7, 8, 30, 48):  # a block that keeps at least n/2 times its input: one block per segment
    for c in (ceil(n / 2), n, n + 1, 5 * n):
        whole = {count: count + c * ceil(n / count) for count in range(1, n + 1)}
        assert whole[n] == min(whole.values())
every = one_step(lambda model: segmented_step(model, 48, x), gpt2)[1]
plainly = one_step(lambda model: plain_step(model, x), gpt2)[1]
assert all(torch.equal(a, b) for a, b in zip(every, plainly, strict=True))
assert 53 < 8 * 6.7 < 54 and round(8 * 64 * input_gb) == 54 and 32 * 8192 == 262_144
for n, c in ((64, 16), (100, 1), (48, 12)):  # twice the best number: a quarter more
    best_count = round(sqrt(c * n))
    twice = 2 * best_count + c * n / (2 * best_count)
    assert isclose(twice / (best_count + c * n / best_count), 5 / 4, rel_tol=1e-9)

# after own
from course_lib.checkpointing import graphs

chain = ours.equal_layers(3)
tried = ours.read_plan(plan)
moments = list(ours.play_plan(tried, chain))
assert ours.plan_peak(tried, chain) == 4 and str(moments[4].action) == "store 3" and moments[4].now_bytes == 4
assert moments[4].held == (2, 3) and moments[4].stored == (1, 2, 3)  # and stored layers keep values 0 and 1
finished = ours.read_plan(
    "run 1, run 2, free 1, store 3, free 2, free 3, back 3, store 1, free 0, store 2, free 1, free 2, back 2, back 1"
)
assert (ours.plan_peak(finished, chain), ours.plan_cost(finished, chain)) == (3, 5)
assert graphs.min_cost(chain, 3) == 5  # of all plans
again = [each.action.node for each in ours.play_plan(finished, chain) if each.again]
assert again == [1, 2]

# after four
from collections import Counter

assert [ours.plan_peak(plan, chain) for plan in plans.values()] == [17, 8, 6]
assert [ours.plan_cost(plan, chain) for plan in plans.values()] == [16, 28, 48]
most_held = max(ours.play_plan(ours.halving(0, 16), chain), key=lambda moment: moment.now_bytes)
assert most_held.held == (0, 8, 12, 14, 15, 16)  # the input, four checkpoints, the value being computed
for levels in (1, 2, 4, 7):
    halves, equal = ours.halving(0, 2**levels), ours.equal_layers(2**levels)
    runs = 2**levels * (1 + levels / 2)
    assert (ours.plan_cost(halves, equal), ours.plan_peak(halves, equal)) == (runs, log2(2**levels) + 2)
    often = Counter(action.node for action in halves if action.kind in ("run", "store"))
    assert max(often.values()) == often[1] == levels + 1

# after halved-run
blocks = {0: ours.Node()}
for number in range(1, 49):
    blocks[number] = ours.Node((number - 1,), (number - 1,), stored_bytes=15)
assert ours.plan_peak(ours.halving(0, 48), blocks) == 23
assert ours.plan_peak(ours.segment_plan(range(49)), blocks) == 64
assert round(peak / x.nbytes) == 28 and 1.7 < more < 1.8
assert round(23 * input_gb, 1) == 2.4 and round(8 * 23 * input_gb) == 19
logits_gb = 2 * 32 * 8192 * 50_257 / 1e9
assert round(logits_gb) == 26 and 19 + logits_gb > 32  # so the loss is computed in pieces
peak_gradients = one_step(halved_step, gpt2)[1]
assert all(torch.equal(a, b) for a, b in zip(peak_gradients, plainly, strict=True))

# after explorer-run
from course_lib.widgets.checkpoint import CheckpointSetting, plan_of

equal = ours.equal_layers(16)
rooms = (6, 5, 4, 3)
best_plans = [plan_of(CheckpointSetting(size=16, budget=room)) for room in rooms]
assert [ours.plan_peak(each, equal) for each in best_plans] == list(rooms)
assert [ours.plan_cost(each, equal) for each in best_plans] == [33, 40, 56, 135]
often = Counter(action.node for action in best_plans[0] if action.kind in ("run", "store"))
assert max(often.values()) == 3 and min(often.values()) == 1 and len(often) == 16

# after dropout
assert rows[0][1:] == rows[2][1:] == (0, 0) and rows[1][1] == 0 and 0.5 < rows[1][2] < 0.8

# after norm
model = network()
cross_entropy(checkpoint_sequential(model, 2, images, use_reentrant=False), labels).backward()
norms = [layer for layer in model if isinstance(layer, nn.BatchNorm2d)]
assert [norm.num_batches_tracked.item() for norm in norms] == [2, 2, 2, 1]
plain, lowered, doubled = network(), network(), network()
for layer in lowered[:-11]:  # those that run twice: all but the last BatchNorm's segment
    if isinstance(layer, nn.BatchNorm2d):
        layer.momentum = 1 - sqrt(1 - layer.momentum)
gradients = []
for each in (plain, lowered, doubled):
    torch.manual_seed(seed + 7)
    output = each(images) if each is plain else checkpoint_sequential(each, 2, images, use_reentrant=False)
    cross_entropy(output, labels).backward()
    gradients.append([parameter.grad for parameter in each.parameters()])
for other in gradients[1:]:
    assert all(torch.equal(a, b) for a, b in zip(gradients[0], other, strict=True))  # bits pass, statistics differ
first, lowered_first, doubled_first = plain[2], lowered[2], doubled[2]
assert first.num_batches_tracked == 1 and lowered_first.num_batches_tracked == 2
assert torch.allclose(first.running_mean, lowered_first.running_mean, atol=1e-6)
assert torch.allclose(first.running_var, lowered_first.running_var, atol=1e-5)
assert not torch.allclose(first.running_mean, doubled_first.running_mean, atol=1e-4)

# after selective-run
held, extra = [row[1] for row in rows], [row[2] for row in rows]
assert [round(each) for each in held] == [16, 10, 1] and [round(100 * each) for each in extra] == [0, 3, 23]
tokens_by_width = 64 / 100
assert tokens_by_width == 1024 / 1600
weights, attention, last = 24, 4 * tokens_by_width, 8
whole_step = 3 * weights + 3.5 * attention  # the fused backward makes a product more
assert isclose(extra[1], attention / whole_step) and isclose(extra[2], (weights + attention - last) / whole_step)
for tokens, percent in ((1024, 3), (8192, 14)):
    ratio = tokens / 1600  # products of width × width: 12 forward and 24 backward, attention 2 r and 5 r
    assert round(100 * 2 * ratio / (36 + 7 * ratio)) == percent
assert isclose(extra[1], 2 * tokens_by_width / (36 + 7 * tokens_by_width))
assert 0.29 < last / (weights + attention) < 1 / 3  # nearly a third of the forward work
OURS = [*PRODUCTS, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default]
with_attention = partial(checkpoint, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(OURS))
with ours.LiveMemory() as memory:
    y = with_attention(block, x)
assert round(1 + (memory.now_bytes - y.nbytes) / x.nbytes) == 11
assert (
    operations(partial(plain_step, x=x), partial(with_attention, block)) == plain_operations
)  # no product is repeated
written_out, value = small_block(64)
with ours.LiveMemory() as memory:
    y = forwards["input and products"](written_out, value)
assert 1 + (memory.now_bytes - y.nbytes) / value.nbytes == 10
layer, given = nn.Linear(4, 4), torch.randn(2, 4)  # an input that needs no gradient
first = nn.Sequential(layer, nn.ReLU())
rest = nn.Linear(4, 4)
rest(checkpoint(first, given, use_reentrant=True)).sum().backward()
assert layer.weight.grad is None and rest.weight.grad is not None
rest(checkpoint(first, given, use_reentrant=False)).sum().backward()
assert layer.weight.grad is not None


def torch_step(model, count):
    cross_entropy(checkpoint_sequential(model, count, images, use_reentrant=False), labels).backward()


peaks = [one_step(partial(torch_step, count=count), network())[0] for count in (4, 5)]
assert [round(each / 1e3) for each in peaks] == [534, 655]  # five segments need more than four

# after ladder
assert [round(inputs * input_gb, 1) for inputs in ways.values()] == [161.1, 80.5, 50.3, 6.7, 2.4]
twelve = 12 / 32 * 48 * 10 * input_gb
assert round(twelve) == 19 and twelve + 6 * 12 * 1024 * 50_257 / 1e9 < 24  # even with logits of 6 bytes for a number
