"""What the page '13 · More on three dimensions' says, asserted: a block behind each cell that shows it."""

# after hsdp-table
psi = 5_120
assert [row[2] for row in rows] == [psi // 8, psi // 8, psi // 4, psi // 4]
assert [row[3] for row in rows] == [26_880, 107_520, 10_240, 10_240] and 10 < 107_520 / 10_240 < 11
n, ranks = 2, 8
for row, m in zip(rows, (1, 4, 1, 4), strict=True):
    leaves = 3 * m * n * psi * (1 - 1 / ranks) if row[0].startswith("ZeRO") else 2 * (n - 1) * psi
    assert leaves == row[3]
four_nodes = Network(bytes_per_s=240e6, ranks_per_node=2, outside=Link(0.0, 25e6))
for near, leaves in ((8, 3 * 4 * psi * 7 // 8), (2, 2 * (4 - 1) * psi)):
    done = simulate(step_of, 8, args=(near, 1), network=four_nodes)
    assert ours.node_bytes(done.trace, four_nodes)[1] == 8 * leaves

# after hsdp-torch-run
assert max(row[2] for row in rows) < 1e-12
if world_size == 4:
    assert [row[1] for row in rows] == [psi // 4, psi // 2]

# after clip-run
assert max(result.difference for result in sharded) < 1e-10
assert all(abs(a - b) < 1e-10 for result in sharded for a, b in zip(result.norms, expected, strict=True))

# after savers-run
assert all(row[4] for row in rows)
plain, cut, again, zero = (dict(zip(ours.DIMENSIONS, row[1:4], strict=True)) for row in rows)
assert zero == plain and 1.4 < again["tensor"] / plain["tensor"] < 1.6
assert plain["pipeline"] > 1.5 * cut["pipeline"] and plain["tensor"] < cut["tensor"] < 1.1 * plain["tensor"]
assert cut["tensor"] - plain["tensor"] == 8 * 2 * 2 * (4 * 6 * 32 + 32 * 32 + 2 * 32)  # 4 blocks, positions, last norm

# after second
assert round(max(abs(row[3]) for row in rows), 2) == 0.13 and round(max(abs(row[4]) for row in rows), 2) == 0.23
full, selective = [row for row in rows if row[1] == "full"], [row for row in rows if row[1] == "selective"]
assert all(one[3] > 0 and one[3] > other[3] for one, other in zip(full, selective, strict=True))
for column in (3, 4):
    assert abs(full[-1][column]) > abs(full[0][column])

# after others
worst = [row[2] for row in rows]
assert [round(each, 3) for each in worst] == [0.064, 0.044, 0.049, 0.078, 0.159]
assert rows[0][1] == A100_CLUSTER.matrix_efficiency

# after llama
assert all(list(row[3:]) == sorted(row[3:]) for row in rows)
assert [round(each, 2) for each in (rows[2][3], rows[2][6])] == [-0.31, 0.16]
assert max(abs(row[5]) for row in rows) < 0.065  # four chunks
first, needs = ours.LLAMA3_2024[0], []
for row in ours.LLAMA3_2024[:1]:
    for chunks in (1, 2, 4, 8):
        plan = replace(row.plan, chunks=chunks)
        needs.append(sum(ours.device_memory(row.shape, plan, row.batch).values()) / 1e9)
assert 80 < min(needs) and max(needs) < 123, needs

# after titan
errors = [row[4] for row in rows]
assert abs(errors[1]) < 0.02 and 0.5 < errors[3] < 0.6 and 0.8 < errors[7] < 0.95
assert rows[3][2] / rows[0][2] < 1.01 and rows[7][2] / rows[4][2] < 1.14

# after pytorch-table
assert all(max(losses) - min(losses) < 1e-12 for _, *losses in rows)

# after pytorch-dcp
assert rows[0][-1] == 0 and all(row[-1] < 1e-12 for row in rows)

# after reshard-run
apart = [row[-1] for row in rows]
assert apart[0] == apart[1] == 0 and max(apart[2:4]) < 1e-10 and apart[4] > 1e-3
parts = [Checkpoints(place).load_part(2, rank)["numbers"] for rank in range(8)]
assert torch.cat(parts).sort().values.tolist() == list(range(config.parameters))  # each number once
assert not any(len(part) for part in parts[4:])

# after context-run
assert apart < 1e-10 and [row[1] for row in rows] == [(2, 6), (4, 6), (6, 7)]
sizes = ours.StepSizes(config, micro_batches=1, micro_batch=16, length=32)
assert counted == ours.step_bytes(sizes, cut)
turns = 8 * 4 * (6 * 2 - 4) * 16 * 16 * 32 // 2 * 8  # ranks, layers, parts, numbers, bytes
assert 0.85 < turns / counted["tensor"] < 1 and (3 * 2 - 2) / (4 * (2 - 1)) == 1
assert 0.9 < counted["context"] / counted["tensor"] < 1.15

# after context-plan
seconds = {row[0]: row[-1] for row in rows}
assert 11 < seconds[1] / seconds[16] < 12.5 and 0.7 < seconds[32] / seconds[16] < 0.78
published = ours.LLAMA3_2024[2].plan
assert rows[2][1:4] == (published.data, published.pipeline, published.tensor) and rows[2][4] == "full"
assert rows[3][4] == rows[4][4] == "none"
limits = {"context": (1,), "sequence_parallel": (True,), "zero": (1,)}
without = ours.best_plans(llama, H100_CLUSTER, 16_384, 128, **limits)[0]
assert without.time.bubble_s > 0.9 * without.time.seconds and without.plan.micro_batches(128) == 1

# after experts-run
rate = {row[:2]: row[-1] for row in rows}
assert rows[0][2] > 80e9 > max(row[2] for row in rows[1:]) and max(rate, key=rate.get) == (1, 8)
assert 1.1 < rate[1, 8] / 438 < 1.12 and rows[5][3] > 0.14
assert 1 / 7.5 < rows[0][4] < 1 / 6
assert round(ours.MIXTRAL_2024.shape.active_parameters / 1e9, 1) == 12.9
assert round(ours.MIXTRAL_2024.shape.parameters / 1e9, 1) == 46.7
