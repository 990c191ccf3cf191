"""What the page '01 · Data parallelism' says, asserted: a block behind each cell that shows it."""

# after stake-numbers
from course_lib.published import GOYAL_2017

assert (steps_before, steps, round(1000 * step_s), round(steps * step_s / 60)) == (450_410, 14_075, 232, 54)
assert 4 * GOYAL_2017.parameters == 100e6
assert (GOYAL_2017.backward_s, GOYAL_2017.servers, GOYAL_2017.link_bytes_per_s) == (0.125, 32, 6.25e9)
assert (round(experiments.GOYAL_RECIPES["unscaled"]), round(experiments.GOYAL_ERRORS[256])) == (42, 24)


def in_minutes(step):
    return steps * step.seconds / 60


# after bars-first
[(first, _)] = plans.values()
assert round(in_minutes(first)) == 85
assert len(first.buckets) == 160
assert round(first.seconds - first.compute_s, 2) == 0.13
assert (first.seconds - first.compute_s) / first.seconds > 1 / 3

# after law
assert len(hashes) == 1
assert distance(alone, together[0]) < 1e-5

# after tokens
of_thirds, of_four, of_ranks = rows.values()
assert 0.5 < of_thirds < 0.9
assert of_four > 1 > of_ranks > 0.1
assert seed != 0 or (1 / 9 < of_ranks < 1 / 7 and 0.7 < of_thirds < 0.8)
quarters = sum(gradient_of(part) for part in order[:50].split([13, 13, 12, 12])) / 4
assert 0.01 < wrong_by(quarters, gradient_of(order[:50])) < 0.1

for another in range(8):
    examples = dp.epoch_order(len(digits.train_labels), epoch=0, seed=another)[:161]
    own = digits_model(another)

    def of(part, own=own):
        own.zero_grad()
        loss_of(own, part).backward()
        return torch.cat([parameter.grad.flatten() for parameter in own.parameters()])

    found = [of(part) for part in examples.split([100, 10, 50, 1])]
    by_ranks = ((100 * found[0] + 10 * found[1]) / 110 + (50 * found[2] + found[3]) / 51) / 2
    assert 1.2 < wrong_by(sum(found) / 4, of(examples)) < 2.6
    assert 0.125 < wrong_by(by_ranks, of(examples)) < 0.295

# after start-cell
assert models == {True: 4, False: 1}
assert max(losses[True]) < before - 0.3
assert min(losses[True]) > max(losses[False]) + 0.3
assert min(losses[True]) > 1.4
assert max(losses[True]) < 2
assert 0.8 < losses[False][0] < 1.2

from course_lib import RankError


def own_start_checked(comm):
    dp.check_agreement(comm, digits_model(seed + comm.rank))


def broadcast_first(comm):
    model = digits_model(seed + comm.rank)
    dp.broadcast_state(comm, model, src=0)
    dp.check_agreement(comm, model)
    return dp.state_hash(model)


try:
    refused = simulate(own_start_checked, 4)
except RankError as error:
    refused = error.cause_text
assert all(words in refused for words in ("rank 0 against", "rank 3: other numbers in 0.weight"))
assert len(set(simulate(broadcast_first, 4).results)) == 1

# after sampler
parts = rows.values()
assert all(one == two != three for one, two, three in parts)
assert sum(len(one) for one, _, _ in parts) == 12
assert len({example for one, _, _ in parts for example in one}) == 10


def masks(comm, same_seed):
    torch.manual_seed(seed if same_seed else seed + comm.rank)
    comm.barrier()
    return functional.dropout(torch.ones(16), 0.5).tolist()


class Turned(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.randint(360, ()).item()


def angles(comm, same_seed):
    torch.manual_seed(seed if same_seed else seed + comm.rank)
    loader = torch.utils.data.DataLoader(Turned(), batch_size=None, num_workers=2)
    return [list(loader) for _ in range(2)]


assert all(
    (run(masks, 2, args=(same,)).results[0] == run(masks, 2, args=(same,)).results[1]) == same for same in (0, 1)
)
turned = run(angles, 2, args=(True,)).results
assert turned[0] == turned[1]
assert turned[0][0] != turned[0][1]  # epochs differ by themselves
assert turned[0][0][0] != turned[0][0][1]  # and the two workers
assert len(set(map(str, run(angles, 2, args=(False,)).results))) == 2

# after my-buckets
reports = [simulate(my_training, 4, args=(epoch[:5], way)) for way in (mean_of_gradients, average_in_buckets)]
each, packed = (report.trace for report in reports)
assert len(each.messages) == 2 * len(packed.messages)
assert each.total_bytes == packed.total_bytes
assert distance(reports[0].results[0], reports[1].results[0]) < 1e-5

# after buckets-run
assert [round(1000 * (latency + sent)) for _, latency, sent, _ in rows] == [130, 33]
assert [minutes for *_, minutes in rows] == ["85", "62"]
assert [round(1000 * latency) for _, latency, *_ in rows] == [99, 2]
lost = [in_minutes(step_of(buckets, False)) - steps * step_s / 60 for buckets in (160, 4)]
assert 0.7 < 1 - lost[1] / lost[0] < 0.8
assert 625_000 / 32 / links.bytes_per_s < 3.2e-6
half, twice = (Network(latency_s=latency_s, bytes_per_s=6.25e9) for latency_s in (5e-6, 20e-6))
assert [round(in_minutes(step_of(160, False, network))) for network in (half, twice)] == [73, 108]
assert [round(in_minutes(step_of(4, False, network))) for network in (half, twice)] == [62, 63]

# after overlap-model
late, hidden = computed.values()
assert (round(1000 * late.seconds), round(1000 * hidden.seconds)) == (288, 216)
assert round(hidden.all_reduces[0].start_s, 3) == round(hidden.backward[1].end_s, 3) == 0.1
assert [each.end_s <= hidden.compute_s for each in hidden.all_reduces] == [True, True, False]
for step, way in ((late, False), (hidden, True)):  # real hooks and messages, to the last digits
    report = simulate(experiments.timed_step, 4, (small, 2_000_000), {"overlap": way}, network=slow)
    assert abs(report.results[0] - step.seconds) < 1e-9

from course_lib import MismatchError


def in_two_orders(comm, names):
    apples, oranges = torch.ones(1), torch.full((1,), 10.0)
    for name, fruit in zip(names, (apples, oranges) if comm.rank else (oranges, apples), strict=True):
        ring_all_reduce(comm, fruit, name=name[comm.rank])
    return apples.item(), oranges.item()


assert run(in_two_orders, 2, args=(["  ", "  "],)).results == [(11, 11), (11, 11)]  # for 2 and 20
try:
    refused = run(in_two_orders, 2, args=(["ab", "ba"],))
except MismatchError as error:
    refused = error
assert "in the same order" in str(refused)

# after overlap-run
assert [[round(each, 1) for each in row[1:]] for row in rows] == [[55.8, 54.9], [79.0, 55.0], [148.9, 55.5]]
assert in_minutes(step_of(160, True)) < in_minutes(step_of(4, False))
wire_s = sum(each.end_s - each.start_s for each in step_of(160, True).all_reduces)
assert round(1000 * wire_s) == 130

# after half-run
fifty, half, ten = (dict(zip(*curve, strict=True)) for curve in curves.values())
assert (round(fifty[20], 1), round(half[20], 1), round(ten[20])) == (54.9, 55.2, 66)
assert min(fifty, key=fifty.get) == min(half, key=half.get) == 80
assert round(60 * (fifty[20] - fifty[80])) == 16
assert half[160] > half[80] + 8
bytes_alone = Network(latency_s=10e-6, bytes_per_s=GOYAL_2017.needed_bits_per_s / 8)
assert (GOYAL_2017.needed_bits_per_s, round(in_minutes(step_of(20, True, bytes_alone)), 1)) == (12.8e9, 57.8)
assert round(1000 * step_of(20, True).seconds) == 234
assert round(1000 * 3600 / steps) == 256
assert (GOYAL_2017.iteration_growth, round(GOYAL_2017.efficiency, 2)) == (1.12, 0.89)

# after no-sync
loud, quiet = (simulate(gradient_in_three, 4, args=(way,)) for way in (False, True))
assert quiet.trace.total_bytes * 3 == loud.trace.total_bytes
assert all(torch.allclose(each.results[0], gradient_of(order[:48]), atol=1e-6) for each in (quiet, loud))

# after bars-third
assert [round(in_minutes(step)) for step, _ in plans.values()] == [85, 62, 55]

# after bars-fourth
published = experiments.GOYAL_RECIPES
assert [plans[name][1] for name in ("32 times the rate, at once", "raised gradually")] == [
    published["no warm-up"],
    published["gradual warm-up"],
]
assert (published["unscaled"], published["√k"], published["constant warm-up"]) == (41.67, 26.22, 25.88)
assert published["gradual warm-up"] == experiments.GOYAL_ERRORS[8192] == 23.74
assert published["gradual warm-up"] < published["no warm-up"] < published["constant warm-up"] < published["√k"]
assert round(32**0.5, 1) == 5.7

# after knee
assert curve[4] < curve[1] + 0.01 < curve[64]
assert curve[16] < curve[32] < curve[64]
assert curve[16] < curve[1] + 0.01
assert [experiments.GOYAL_ERRORS[256 * k] for k in (1, 32, 64)] == [23.60, 23.74, 24.79]

from course_lib.data_parallel import zero

assert round(16 * 25e6 / 1e9, 1) == 0.4
assert (zero.zero_bytes(7.5e9, 64, 0), round(zero.zero_bytes(7.5e9, 64, 3) / 1e9, 1)) == (120e9, 1.9)

# after sharded-run
(_, needed_s, needed), (whole, ahead_s, ahead_minutes) = rows.values()
assert (whole, round(needed), round(ahead_minutes)) == (2, 69, 55)
exchange_s = 31 * links.seconds(0, 1, 5_000_000 // 32)
computing_s = [units[0].forward_s, units[0].backward_s]
assert (len(units), round(1000 * exchange_s, 1), 3 * len(units) - 1) == (20, 1.1, 59)
assert min(computing_s) > 0.005
assert abs(needed_s - step_s - 59 * exchange_s) < 1e-9
assert abs(ahead_s - step_s - 2 * exchange_s) < 1e-9
assert round(steps * step_of(20, overlap=True).seconds / 60) == 55
assert abs(31 * 3 / (31 * 2) - 1.5) < 1e-9  # one and a half all-reduces

# after explorer
from dataclasses import replace

from course_lib.widgets.step import BUCKETS, StepSetting, bucket_curve, timeline_of

here = StepSetting(**StepExplorer().values)
assert round(here.steps * timeline_of(here).seconds / 60, 1) == 54.9
small_buckets = replace(here, bucket_bytes=2_000_000)
assert timeline_of(small_buckets).seconds < timeline_of(here).seconds
many = timeline_of(replace(small_buckets, world_size=1024))
assert (round(1000 * timeline_of(small_buckets).seconds), round(1000 * many.seconds)) == (233, 960)
assert len(many.buckets) == 40
times = bucket_curve(replace(here, world_size=1024, bucket_bytes=0))
assert (BUCKETS[times.index(min(times))], round(1000 * min(times))) == (20_000_000, 266)
