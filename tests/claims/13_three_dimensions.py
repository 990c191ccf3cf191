"""What the page '13 · Three dimensions at once' says, asserted: a block behind each cell that shows it."""

# after stake-formulas
assert (shape.layers, shape.heads, batch, trillion.plan.devices) == (128, 160, 3072, 3072)
assert round(16 * shape.parameters / 1e12) == 16 and round(16 * shape.parameters / 3072 / 1e9) == 5
by_rate = 8 * 450e9 * shape.parameters / (3072 * trillion.flops_per_s) / 86_400
assert round(by_rate) == 84 and trillion.flops_per_s == 163e12
assert ours.SPARE == 0.1 and (1 - ours.SPARE) * A100_CLUSTER.memory_bytes == 72e9
assert GPTConfig(vocabulary=256, context=32, layers=4, width=32, heads=4).parameters == 60_096

# after stake-alone
assert [round(gigabytes(plan)) for plan in plans.values()] == [16_146, 2_030, 165]
assert all(plan.devices == 3072 for plan in plans.values()) and 2 < 165 / 80 < 2.1

# after zero
assert [round(row[4], 2) for row in rows] == [0.31, 0.30] and max(row[4] for row in rows) < 1 / 3
alone = ours.step_time(shape, plans["data alone"], A100_CLUSTER, batch)
assert round(alone.seconds - alone.data_s) == 88  # work, all recomputed
assert round(3 * 2 * shape.parameters / 25e9) == 242 and A100_CLUSTER.outside.bytes_per_s == 25e9
zero3_s = alone.seconds + alone.data_s / 2  # three halves of an all-reduce in place of two
assert round(steps * zero3_s / 86_400) == 98

# after mesh-picture
assert mesh.coordinates(5) == (1, 0, 1)
assert [mesh.group_of(5, name) for name in ours.DIMENSIONS] == [(1, 5), (5, 7), (4, 5)]

# after theirs
theirs = plans["theirs"]
assert theirs.mesh.shape == (6, 64, 8) and theirs.recompute == "full" and theirs.chunks == 2
assert round(gigabytes(theirs)) == 55 and round(days(theirs), 1) == 84.3
assert round(gigabytes(replace(theirs, chunks=1))) == 49 and round(days(replace(theirs, chunks=1)), 1) == 88.6

# after draws
assert [row[1:] for row in rows] == [(4, False), (16, False), (16, True)]
for other in range(1, 5):
    assert torch.linalg.matrix_rank(torch.cat([draw(4, other)] * 4)) == 4
    assert torch.linalg.matrix_rank(torch.cat([draw(4, other + rank) for rank in range(4)])) == 16
wide, narrow = torch.nn.Parameter(same_seed.clone()), torch.nn.Parameter(torch.cat([draw(4, 1)] * 4).T.clone())
x = draw(8, 2)
(torch.relu(x @ wide.T) @ narrow.T).square().sum().backward()
copies = wide.grad.chunk(4)
assert wide.grad.abs().max() > 0 and all(torch.allclose(copies[0], each) for each in copies)

# after heart-run
rows = list(zip(one_process, batch_losses(mesh)))
assert all(abs(a - b) < 1e-12 for a, b in rows)
assert norms_alone[0] > 1 and one_process[-1] < one_process[0]


def played_losses(mesh):
    results = simulate(train, mesh.world_size, args=(mesh, new_gpt(), batches)).results
    known = [losses for at, losses in results if at.pipeline == mesh.pipeline - 1 and at.tensor == 0]
    return [sum(step) / mesh.data for step in zip(*known)]


for sizes in [(1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 3, 1), (1, 4, 1), (4, 1, 1), (2, 2, 1)]:
    assert all(abs(a - b) < 1e-12 for a, b in zip(one_process, played_losses(Mesh(*sizes)), strict=True))


def left_out(missing):
    """The losses of the page's training if a piece is missing."""
    kept = {name: globals()[name] for name in ("sum_tied_gradients", "average_gradients")}
    globals()[missing] = lambda *arguments: None
    try:
        return played_losses(mesh)
    finally:
        globals().update(kept)


for missing in ("sum_tied_gradients", "average_gradients"):
    wrong = left_out(missing)
    assert abs(wrong[0] - one_process[0]) < 1e-12 and abs(wrong[1] - one_process[1]) > 1e-6
    assert abs(wrong[2] - one_process[2]) > 1e-6

# after drift
if seed == 0:
    assert 0.01 < drift < 1 and 3 < max(losses_alone(1, torch.float32)[20:]) < 4
for other in range(5):
    pair = [(parts, GPT(config, other).double()) for parts in (1, 4)]
    pair = [(parts, model, adam(model.parameters())) for parts, model in pair]
    for inputs, targets in islice(text_batches(tokens, 32, 32, seed=other), 10):
        found = []
        for parts, model, stepper in pair:
            stepper.zero_grad()
            pieces = zip(inputs.chunk(parts), targets.chunk(parts))
            loss = sum(next_token_loss(model(x), y) / parts for x, y in pieces)
            loss.backward()
            stepper.step()
            found.append(loss.item())
        assert abs(found[0] - found[1]) < 1e-14
assert max(lines["32 bits"][1][:10]) < 1e-6 and max(lines["64 bits"][1][:10]) < 1e-14

# after norm-run
assert max(abs(row[3]) for row in rows) < 1e-12
assert rows[0][2] < 1e-12 < 0.03 < min(row[2] for row in rows[1:])
assert 0.78 < rows[2][2] < 0.86 and 0.04 < rows[1][2] < 0.09
from course_lib.tensor_parallel import is_shared

whole = new_gpt()
next_token_loss(whole(batches[0][0]), batches[0][1]).backward()
squares = {name: parameter.grad.square().sum().item() for name, parameter in whole.named_parameters()}
shared = sum(square for name, square in squares.items() if is_shared(name))
everything = sum(squares.values())
assert abs(((everything + 3 * shared) / everything) ** 0.5 - 1 - rows[2][2]) < 1e-9  # whole on each of 4 tensor ranks
assert abs(((everything + squares["embedding.weight"]) / everything) ** 0.5 - 1 - rows[1][2]) < 1e-9
not_tied = replace(config, tied=False)
alone = GPT(not_tied, seed).double()
next_token_loss(alone(batches[0][0]), batches[0][1]).backward()
true = float(sum(parameter.grad.square().sum() for parameter in alone.parameters()).sqrt())


def obvious_norm(comm, mesh):
    stage = ours.MeshStage(ours.MeshRank(comm, mesh), GPT(not_tied, seed).double())
    here = stage.here
    run_pipeline(here, one_forward_one_backward(mesh.pipeline, 4), {here.at.pipeline: stage}, batches[0])
    squares = sum(parameter.grad.square().sum() for parameter in stage.parameters()).reshape(1)
    ring_all_reduce(here.pipeline, squares)
    return squares.sqrt().item()


assert abs(simulate(obvious_norm, 2, args=(Mesh(1, 2, 1),)).results[0] / true - 1) < 1e-12

# after order
assert [row[0] for row in rows] == ["data", "pipeline", "tensor"]
assert rows[0][1] == rows[0][3] and round(rows[0][1] / 1e6, 2) == 1.12
assert round(rows[2][2] / rows[0][2]) == 6 and rows[0][4] > 3 * max(rows[1][4], rows[2][4])
sizes = ours.StepSizes(config, micro_batches=4, micro_batch=4, length=32)
formula = ours.step_bytes(sizes, mesh)
assert [row[1] for row in rows] == [formula[name] for name in ours.DIMENSIONS]
played = simulate(ours.train_on_mesh, 8, args=(mesh, new_gpt(), [batches[0]], four))
assert ours.dimension_bytes(played.trace, mesh) == formula
sent = 8 * 4 * 4 * 32 * 32  # m micro-batches of bsh numbers, in bytes
assert ours.step_bytes(sizes, Mesh(1, 4))["pipeline"] - ours.step_bytes(sizes, Mesh(1, 3))["pipeline"] == 2 * sent
for d, p, t in ((2, 2, 2), (3, 2, 4), (2, 4, 4)):  # what four more layers add: no ends
    deeper = [ours.step_bytes(sizes._replace(config=replace(config, layers=n)), Mesh(d, p, t)) for n in (4, 8)]
    more = {name: (deeper[1][name] - deeper[0][name]) / (d * p * t) for name in ours.DIMENSIONS}
    assert more["tensor"] == 4 * 4 / p * 2 * (t - 1) / t * sent
    assert 1 < more["data"] / (2 * (d - 1) / d * 12 * 4 * 32**2 / (p * t) * 8) < 1.1  # and biases and norms
assert 9 < A100_CLUSTER.inside.bytes_per_s / A100_CLUSTER.outside.bytes_per_s < 10

untied = ours.StepSizes(replace(config, tied=False), micro_batches=4, micro_batch=1, length=4)
few = ours.step_bytes(untied._replace(config=config), mesh)["pipeline"]
assert few == rows[1][3] and round(few / 1e3) == 295 and few - ours.step_bytes(untied, mesh)["pipeline"] > few / 2


def tensor_of_layers(layers, recompute):
    """What a ring of two tensor ranks sends for a GPT of so many layers."""
    deep = replace(config, layers=layers)
    return ours.step_bytes(ours.StepSizes(deep, 1, 1, 4, recompute=recompute), Mesh(1, 1, 2))["tensor"]


more = [tensor_of_layers(8, again) - tensor_of_layers(4, again) for again in (False, True)]
assert more[1] * 4 == more[0] * 6  # all-reduces

# after days-bars
from course_lib.comm import Link


def day_parts(plan):
    parts = ours.step_time(shape, plan, A100_CLUSTER, batch).parts()
    return {part: steps * seconds / 86_400 for part, seconds in parts.items()}


wide = plans["tensor over four nodes"]
assert wide.mesh.shape == (6, 16, 32) and wide.devices == 3072 and 64 * 8 == 16 * 32
assert round(gigabytes(wide)) == 52 and round(days(wide)) == 120
assert round(days(replace(theirs, tensor=16, pipeline=32))) == 94
assert day_parts(wide)["tensor messages"] - day_parts(theirs)["tensor messages"] > 30
for plan in plans.values():
    assert abs(sum(day_parts(plan).values()) - days(plan)) < 1e-9  # nothing else takes time
assert 3 * config.width * (2 - 1) / (2 * (2 - 1)) == 48
dense = [*ours.NARAYANAN_2021, *ours.KORTHIKANTI_2022, *ours.LLAMA3_2024, *ours.TORCHTITAN_2024["405B"]]
large = [row for row in dense if row.shape.parameters > 18e9]
assert all(row.plan.tensor == 8 for row in large)
for row in large:
    d, t, tokens_each = row.plan.data, row.plan.tensor, row.batch * row.shape.sequence / row.plan.data
    assert tokens_each > 18 * 3 * row.shape.hidden * (d - 1) / (d * (t - 1))

# after fill-stages
assert {round(each, 9) for each in held} == {round(held[0], 9)} and round(held[0], 1) == 14.5
assert states[0] > 10 * states[-1]
assert 34 + 5 * shape.heads * shape.sequence / shape.hidden == 98
unit = shape.sequence * shape.hidden
for way, bytes_each in {"none": 98, "selective": 34, "full": 2}.items():
    assert ours.layer_activation_bytes(shape, Plan(recompute=way)) == bytes_each * unit
    assert (
        ours.layer_activation_bytes(shape, Plan(tensor=8, recompute=way, sequence_parallel=True))
        == bytes_each * unit / 8
    )
assert ours.layer_activation_bytes(shape, Plan(tensor=8, recompute="none")) == (10 + 88 / 8) * unit
assert ours.layer_activation_bytes(shape, Plan(tensor=8, recompute="full")) == 2 * unit
for p in (16, 32, 64):
    plan = Plan(tensor=8, pipeline=p, data=384 // p, recompute="selective", sequence_parallel=True)
    assert round(ours.device_memory(shape, plan, batch)["activations"] / 1e9, 1) == 28.5
assert ours.micro_batches_held(theirs, 512) == 64 * (1 + 63 / (64 * 2))
assert round(ours.device_memory(shape, theirs, batch)["activations"] / 1e9) == 21

# after fill-bars
assert [round(gigabytes(plans[name])) for name in names] == [55, 244, 164, 77, 55]
assert round(bars["selective, cut sequence: 77 GB"]["optimizer states"]) == 26
assert round(day_parts(theirs)["matrix products"]) == 70

# after fit
assert A100_CLUSTER.matrix_efficiency == ours.fit_matrix_efficiency(ours.NARAYANAN_2021, A100_CLUSTER) == 0.63
assert round(max(abs(row[3]) for row in rows), 2) == 0.06 and round(max(abs(row[4]) for row in rows), 2) == 0.11

assert {round(max(abs(row[n]) for row in rows[1::2]), 2) for n in (3, 4)} == {0.06, 0.11}  # the worst are shown
seconds = 8 * 1.008e12 * 450e9 / (3072 * 0.63 * 312e12)
assert round(seconds / 86_400) == round(day_parts(theirs)["matrix products"]) == 70
assert A100_CLUSTER.flops_per_s == 312e12 and round(shape.parameters / 1e9) == 1008
per_token = {way: shape.flops(1, way) / shape.sequence / shape.parameters for way in ("none", "full")}
assert {way: round(each) for way, each in per_token.items()} == {"none": 6, "full": 8}

# after leave
better = plans["selective, cut, ZeRO-1"]
assert round(days(better), 1) == 62.2 and round(days(theirs) / days(better) - 1, 2) == 0.36
assert round(shape.flops(1) / shape.flops(1, "full"), 2) == 0.75 and 0.52 * 0.75 == 0.39
assert round(1 / 0.75 - 1, 2) == 0.33  # a quarter less work
whole_sequence = replace(better, sequence_parallel=False)
assert day_parts(better)["memory traffic"] < 0.65 * day_parts(whole_sequence)["memory traffic"]
assert round(1 - days(better) / days(theirs), 2) == 0.26

# after gain
assert [round(row[1], 2) for row in rows] == [0.29, 0.32, 0.30, 0.32]
assert all(0.305 < row[3] < 0.335 and 0.355 < row[2] < 0.425 for row in rows)
assert all(abs(row[3] - row[1]) < abs(row[2] - row[1]) for row in rows)
assert round(days(theirs) / 1.32) == 64
errors = []
for row in ours.KORTHIKANTI_2022:
    changed = replace(row.plan, recompute="selective", sequence_parallel=True)
    measured = {row.plan: row.full_s, changed: row.selective_s}
    both = [ours.step_time(row.shape, p, A100_CLUSTER, row.batch).seconds / s - 1 for p, s in measured.items()]
    errors.append(tuple(both))
assert abs(errors[0][0]) < 0.02 and errors[0][1] < -0.07  # 22 billion
assert all(full > each > 0 for full, each in errors[1:]) and [round(e, 2) for e in errors[-1]] == [0.13, 0.10]

# after search-run
best = ranked[0].plan
assert best.mesh.shape == (24, 16, 8) and (best.chunks, best.recompute, best.zero) == (4, "selective", 1)
assert round(days(best), 1) == 60.6 and round(gigabytes(best)) == 71 and round(mfu(best), 2) == 0.55
assert tried == 2514 and len(ranked) == 149
assert all(found.plan.sequence_parallel and found.plan.tensor == 8 for found in ranked[:5])
near = {found.plan.mesh.shape for found in ranked if found.time.seconds < 1.03 * ranked[0].time.seconds}
assert near == {(24, 16, 8), (12, 32, 8), (6, 64, 8)}
shared = [
    found.plan
    for found in ranked
    if found.plan.mesh.shape in near and found.time.seconds < 1.03 * ranked[0].time.seconds
]
assert {(plan.tensor, plan.sequence_parallel, plan.recompute, plan.zero) for plan in shared} == {
    (8, True, "selective", 1)
}
tie = ranked[1].plan
assert tie.mesh.shape == (12, 32, 8) and (tie.chunks, tie.zero) == (4, 1) and round(days(tie), 1) == 60.6
assert shape.layers // 64 == 2 and shape.layers // 32 == 4 and round(mfu(tie), 2) == 0.55
for fewer in (best, tie):
    halved = day_parts(fewer)["bubble"] / day_parts(plans["selective, cut, ZeRO-1"])["bubble"]
    assert 0.45 < halved < 0.55


def left_out_costs(keep):
    """How much longer the best plan takes of those that fit and lack something."""
    return round(next(days(found.plan) for found in ranked if keep(found.plan)) / days(best) - 1, 2)


assert left_out_costs(lambda plan: plan.tensor < 8) == 0.17
assert left_out_costs(lambda plan: plan.recompute != "selective") == 0.33
assert left_out_costs(lambda plan: not plan.sequence_parallel) == 0.34
assert left_out_costs(lambda plan: plan.zero == 0) == 0.08
assert (
    day_parts(replace(best, chunks=2))["bubble"] > 0.9 * day_parts(plans["selective, cut, ZeRO-1"])["bubble"]
)  # it is the chunks

# after search-days
timed = ours.KORTHIKANTI_2022[-1]
their_mfu = timed.shape.flops(timed.batch) / (timed.selective_s * 512 * 312e12)
assert timed.selective_s == 71.49 and timed.plan.devices == 512 and timed.plan.data == 1 and round(their_mfu, 2) == 0.56
full_mfu = timed.shape.flops(timed.batch) / (timed.full_s * 512 * 312e12)
mfu_2021 = trillion.flops_per_s * shape.flops(1) / shape.flops(1, "full") / 312e12
assert round(full_mfu, 2) == 0.43 and round(mfu_2021, 2) == 0.39
gain = timed.full_s / timed.selective_s
assert [round(days(best) * mfu(best) / (before * gain)) for before in (mfu_2021, full_mfu)] == [64, 59]
assert round(days(best) * mfu(best) / their_mfu) == 59 and 3072 / 512 == batch / timed.batch == 6
for spare, meshes in ((0.0, (24, 16, 8)), (0.2, (12, 32, 8))):
    found = ours.best_plans(shape, A100_CLUSTER, 3072, batch, spare=spare)[0].plan
    assert found.mesh.shape == meshes and round(days(found), 1) == 60.6
half_as_fast = Link(A100_CLUSTER.outside.latency_s, 12.5e9)
for changed in (A100_CLUSTER.but(matrix_efficiency=0.7), A100_CLUSTER.but(outside=half_as_fast)):
    assert ours.best_plans(shape, changed, 3072, batch)[0].plan.mesh.shape == (12, 32, 8)
old = {"recompute": ("full",), "sequence_parallel": (False,), "zero": (0,)}
for spare, agree in ((0.1, 5), (0.0, 3)):
    same = 0
    for row in ours.NARAYANAN_2021:
        found = ours.best_plans(row.shape, A100_CLUSTER, row.plan.devices, row.batch, spare=spare, **old)[0].plan
        same += found.mesh.shape == row.plan.mesh.shape
    assert same == agree

# after explorer
explorer = MeshExplorer()
assert "84.3 days" in explorer.in_words and "it fits" in explorer.in_words
steps_down = [
    ({"sequence_parallel": True}, ["82.6 days", "it fits"]),
    ({"recompute": "selective"}, ["62.2 days", "76.6 GB", "does not fit"]),
    ({"zero": 1}, ["62.2 days", "55.3 GB", "it fits"]),
    ({"pipeline": 16}, []),
    ({"chunks": 4}, ["60.6 days", "71.3 GB", "it fits"]),
]
for change, said in steps_down:
    explorer.set(**change)
    assert all(words in explorer.caption for words in said), explorer.caption
assert "164 GB" in MeshExplorer(recompute="selective").in_words
one_chunk = [Plan(tensor=8, pipeline=p, data=384 // p, recompute="selective") for p in (32, 64)]
kept = [ours.device_memory(shape, plan, batch)["activations"] for plan in one_chunk]
assert kept[0] == kept[1]  # check yourself, 3
assert Mesh(3, 4, 8).coordinates(50) == (1, 2, 2) and Mesh(3, 4, 8).group_of(50, "pipeline") == (34, 42, 50, 58)
