"""What the lecture of chapter 06 says, as asserts: each block runs behind the cell that its head names."""

# after naive-run
from math import isclose

assert naive.makespan_s == 24 and isclose(naive.idle, 3 / 4)
for p in (1, 2, 3, 5, 8):
    one = ours.pipeline_timeline(ours.one_at_a_time(p, 3), units)
    assert isclose(one.idle, (p - 1) / p) and one.makespan_s == 3 * 3 * p  # no faster than one rank

# after profile
row = ours.ZERO_BUBBLE_RATES[0]
assert (row.stages, row.micro_batches) == (8, 24)
backward = profile.input_s + profile.weight_s
assert [round(each, 1) for each in (profile.forward_s, backward, profile.transfer_s)] == [18.5, 27.4, 0.6]
first_ms = ours.pipeline_timeline(ours.one_at_a_time(8, 24), no_transfers).makespan_s
assert round(first_ms / 1000, 1) == 8.8 and round(24 * profile.all_s / 1000, 2) == 1.10
assert round(1000 * bars["one after the other"][0]) == 875 and bars["one after the other"][1] == 1

# after gpipe-draw
assert gpipe.makespan_s == 21 and gpipe.makespan_s - 4 * 3 == 9

# after bubble-table
assert [row[2] for row in rows] == [8, 24, 63, 240] and [round(row[1], 2) for row in rows[1:3]] == [0.23, 0.1]
assert all(isclose(idle, 7 / (m + 7)) for m, idle, _ in rows) and rows[1][0] == 3 * 8
assert 7 / (62 + 7) > 0.1 >= 7 / (63 + 7)
for p, m in [(1, 1), (2, 3), (3, 5), (5, 2), (6, 12)]:
    assert isclose(idle_and_held(ours.gpipe(p, m), no_transfers)[0], (p - 1) / (m + p - 1), abs_tol=1e-12)
    assert isclose(ours.textbook_bubble(p, m), (p - 1) / (m + p - 1))

# after heart-run
assert same and len(set(words)) == 1 and words[0] == "F0 F1 F2 F3 B3 B2 B1 B0"
for part in batch.chunk(4):
    assert len(part) == 4

# after rounds
assert round(bars["GPipe, three rounds of 8"][0], 3) == 0.467 and isclose(bars["GPipe, three rounds of 8"][0], 7 / 15)
assert bars["GPipe"][1] == 24 and round(bars["GPipe"][0], 3) == 0.226

# after f1b-draw
assert {name: timeline.makespan_s for name, timeline in both.items()} == {"GPipe": 33, "1F1B": 33}
for p, m in [(1, 3), (3, 2), (3, 5), (5, 5), (8, 3), (8, 24)]:
    pair = [make(p, m) for make in (ours.gpipe, ours.one_forward_one_backward)]
    assert len({ours.pipeline_timeline(each, units).makespan_s for each in pair}) == 1
    assert ours.peak_in_flight(pair[1]) == [min(m, p - r) for r in range(p)]

# after f1b-run
assert same and words[0].startswith(" ".join(f"F{number}" for number in range(min(4, world_size))))
assert words[-1] == "F0 B0 F1 B1 F2 B2 F3 B3"

# after f1b-memory
assert [round(row[2], 3) for row in rows] == [0.226, 0.226, 0.028, 0.028]
assert rows[1][3] == rows[3][3] == "8, 7, 6, 5, 4, 3, 2, 1" and rows[2][3] == ", ".join(["240"] * 8)

# after bars-f1b
assert isclose(bars["1F1B"][0], bars["GPipe"][0]) and bars["1F1B"][1] == 8


# after own-schedule
def whether_it_hangs(schedule, *more):
    try:
        run(gradients_of, len(schedule), args=(schedule, *more))
    except DeadlockError as error:
        assert "circle" in str(error)
        return True
    return False


assert whether_it_hangs(clever)
try:
    ours.check_schedule(ours.from_words(clever))
    refused = False
except ours.ScheduleError:
    refused = True
assert refused

# Neighbors in different orders come to their end, but messages have no names: the gradients are wrong.
crossed = ["F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 F2 F3 B3 B2 B1 B0"]
ours.check_schedule(ours.from_words(crossed))
assert not ours.equal_to_one_process(run(gradients_of, 2, args=(crossed,)).results, batch, seed)
in_step = [crossed[1], crossed[1]]
assert ours.equal_to_one_process(run(gradients_of, 2, args=(in_step,)).results, batch, seed)

# after send-run
for ranks in (2, 3):
    assert not whether_it_hangs(ours.words_of(ours.gpipe(ranks, 4)), True)
    assert whether_it_hangs(ours.words_of(ours.one_forward_one_backward(ranks, 4)), True)
    assert not whether_it_hangs(ours.words_of(ours.one_forward_one_backward(ranks, 4)))

# after transfer
assert [[round(share, 3) for share in row[1:]] for row in rows] == [[0.226, 0.226], [0.23, 0.243], [0.295, 0.439]]
assert round(ours.ZERO_BUBBLE_RATES[0].rates["1F1B"], 3) == 0.243
for c in (0.6, 2, 10):
    times = replace(profile, transfer_s=c)
    steps = [ours.pipeline_timeline(ours.one_forward_one_backward(8, m), times).makespan_s for m in (64, 128)]
    assert isclose((steps[1] - steps[0]) / 64, profile.all_s + 14 * c / 8, rel_tol=1e-3)
    late = ours.pipeline_timeline(ours.gpipe(8, 24), times).makespan_s
    assert isclose(late, 31 * profile.all_s + 14 * c)

# after slow
assert round(bars["1F1B, with transfers"][0], 3) == 0.243
assert round(bars["1F1B, last stage twice as long"][0], 2) == 0.51
assert 2 < bars["1F1B, last stage twice as long"][0] / bars["1F1B, with transfers"][0] < 2.2
assert isclose(sum(uneven), 8) and isclose(uneven[-1], 2 * uneven[0]) and isclose(uneven[-1] / sum(uneven), 2 / 9)
by_place = []
for place in range(8):
    shares = [8 / 9] * 8
    shares[place] = 16 / 9
    by_place.append(idle_and_held(f1b, replace(profile, shares=shares))[0])
assert by_place == sorted(by_place) and round(by_place[0], 2) == 0.46 and isclose(by_place[7], bars[list(bars)[-1]][0])
many = idle_and_held(ours.one_forward_one_backward(8, 2000), replace(no_transfers, shares=uneven))[0]
assert 0 < many - (1 - 9 / 16) < 0.01 and round(1 - 9 / 16, 2) == 0.44
assert round(idle_and_held(ours.one_forward_one_backward(8, 64), profile)[0], 2) == 0.12
from math import comb

assert round(comb(39, 11) / 1e9, 1) == 1.7  # ways to cut 40 layers into 12 stages

# after split-backward
assert torch.equal(x.grad, b) and all(same)
assert round(profile.input_s, 1) == 18.1 and round(profile.weight_s, 1) == 9.3

# after zero-held
assert [row[1] for row in rows] == ["1.46 s", "1.31 s"] and [round(row[2], 3) for row in rows] == [0.243, 0.159]
assert [round(row[2], 4) for row in rows] == [ours.ZERO_BUBBLE_RATES[0].rates[row[0]] for row in rows]
assert rows[1][3] == ", ".join(["8"] * 8) and rows[0][3] == "8, 7, 6, 5, 4, 3, 2, 1"

# after zero-draw
assert [timeline.makespan_s for timeline in zero.values()] == [33, 27]
assert ours.words_of(zero["ZB-H1"].schedule)[3].split("B3")[1].split()[0] == "W0"
put_off = [words.split().index("W0") for words in ours.words_of(ours.zero_bubble_h1(4, 8))]
assert put_off == sorted(put_off) and zero["ZB-H1"].peak_in_flight == [4] * 4

# after bars-last
assert bars["ZB-H1, with transfers"][0] < 1 / 6 and bars["ZB-H1, with transfers"][1] == 8
assert all(idle > 1 / 6 or held > 8 for idle, held in list(bars.values())[:-1])
shares = [idle_and_held(ours.zero_bubble_h1(8, 24), replace(profile, transfer_s=ms))[0] for ms in (1, 2)]
assert shares[0] < 1 / 6 < shares[1]

# after torch-order
expected = [
    words.translate({ord(digit): None for digit in "0123456789"})
    for words in ours.words_of(ours.one_forward_one_backward(2, 4))
]
assert same and [" ".join(order) for order, _ in results] == expected

# after explorer
from course_lib.pipeline import SCHEDULES

rounded = ours.OperationTimes(18.5, 18.1, 9.3, 0.6)
found = {}
for ms in (0.6, 10):
    for name, make in SCHEDULES.items():
        schedule = make(8, 24)
        stages = schedule.stages // 8
        timeline = ours.pipeline_timeline(schedule, replace(rounded, transfer_s=ms).shared_by(stages))
        found[ms, name] = timeline.idle, max(timeline.peak_in_flight) / stages
good = {name for ms, name in found if ms == 0.6 and found[ms, name][0] < 1 / 6}
assert good == {"ZB-H1", "ZB-V", "interleaved", "breadth-first", "ZB-H2", "DualPipeV"}
assert {name for name in good if found[0.6, name][1] <= 8} == {"ZB-H1", "ZB-V"}
assert [round(found[0.6, name][0], 3) for name in ("ZB-H1", "ZB-V")] == [0.159, 0.074]
least = min((share, name, held) for (ms, name), (share, held) in found.items() if ms == 10)
assert round(least[0], 3) == 0.195 and least[1:] == ("ZB-H2", 15)
assert {found[0.6, name][1] for name in good if found[0.6, name][1] > 8} == {8.5, 11.5, 15, 24}
assert isclose(ours.textbook_bubble(8, 56), 1 / 9)
ours.check_schedule(ours.from_words(["F0 F1 B0 B1", "F0 F1 B1 B0"]))
three = ours.OperationTimes(1, 1, 1, shares=(1, 2, 1, 1))
pace = ours.pipeline_timeline(ours.one_forward_one_backward(4, 400), three).makespan_s
assert abs(1 - 1200 / pace - 0.5) < 0.01
