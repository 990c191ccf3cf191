"""What is damaged is passed over, two lives are never mixed, and nothing whole goes before something newer is whole."""

import collections
import errno
import os
import threading
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import files, run, simulate
from course_lib.faults import Checkpoints, DamagedFileError, common_step, read_checked, seal

OLD = b"old" * 1000


@pytest.mark.parametrize("kept", [0, 5, 40, 47, 48, 3047])
def test_a_file_that_is_cut_anywhere_is_damaged(tmp_path, kept):
    path = tmp_path / "file"
    path.write_bytes(seal(OLD)[:kept])
    with pytest.raises(DamagedFileError, match=r"file (is torn: .* of 3000 bytes|has no whole head)"):
        read_checked(path)


@pytest.mark.parametrize("place", [0, 8, 20, 48, 3000])
def test_one_flipped_bit_is_damage(tmp_path, place):
    content = bytearray(seal(OLD))
    content[place] ^= 1
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DamagedFileError):
        read_checked(tmp_path / "file")


def tear(folder: Path, name: str) -> None:
    """Cut the newest file of this name."""
    (*_, path) = sorted(folder.glob(f"life-*{name}"))
    path.write_bytes(path.read_bytes()[:-1])


def names(folder: Path) -> list[str]:
    """The files without the six letters that are drawn."""
    return sorted(f"{name[:6]}{name[13:]}" for name in os.listdir(folder))


def save_all(comm, folder, steps, keep=3, state=None):
    """A life that begins where it can, and saves at these steps."""
    checkpoints = Checkpoints(folder, comm, keep)
    began = checkpoints.newest()
    for step in steps:
        checkpoints.save(step, {"rank": comm.rank, **(state or {})})
        comm.barrier()
    return began


def resume(comm, folder):
    checkpoints = Checkpoints(folder, comm)
    newest = checkpoints.newest()
    return newest, None if newest is None else checkpoints.load(newest)


def test_the_checkpoint_before_a_damaged_one_is_used(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (10, 20, 30):
        checkpoints.save(step, {"weights": torch.full((4,), step)})
    tear(tmp_path, "step-30.rank-0-of-1")
    assert checkpoints.steps() == [10, 20, 30]
    assert checkpoints.whole_steps() == [10, 20]
    assert checkpoints.newest() == 20
    assert checkpoints.load(20)["weights"].tolist() == [20] * 4
    with pytest.raises(DamagedFileError, match=r"step-30\.rank-0-of-1 is torn"):
        checkpoints.load(30)


def test_the_last_ones_are_kept_and_what_the_dead_left_is_swept(tmp_path):
    (tmp_path / "life-1-3fa9c1.step-5.rank-0-of-2.0123.tmp").write_bytes(b"half")
    (tmp_path / "thesis.tmp").write_bytes(b"mine")
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (10, 20, 30):
        checkpoints.save(step, {})
    assert names(tmp_path)[:2] == ["life-1.step-20.rank-0-of-1", "life-1.step-30.rank-0-of-1"]
    assert (tmp_path / "thesis.tmp").exists()
    assert len(names(tmp_path)) == 3
    with pytest.raises(ValueError, match="keep must be at least 1, got 0"):
        Checkpoints(tmp_path, keep=0)


def test_a_training_that_begins_again_keeps_what_it_saves(tmp_path):
    for step in (40, 50, 60):
        Checkpoints(tmp_path, keep=3).save(step, {"life": "old"})
    again = Checkpoints(tmp_path, keep=3)
    found = []
    for step in (10, 20, 30):
        again.save(step, {"life": "new"})
        found.append(Checkpoints(tmp_path).steps())
    assert found == [[50, 60, 10], [60, 10, 20], [10, 20, 30]]
    assert Checkpoints(tmp_path).newest() == 30
    again.save(60, {"life": "new"})
    assert again.load(60) == {"life": "new"}


def test_damaged_ones_do_not_count_among_those_that_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in range(1, 7):
        checkpoints.save(step, {})
        if step in (2, 3, 5):
            tear(tmp_path, f"step-{step}.rank-0-of-1")
        assert len(checkpoints.whole_steps()) >= min(step, 1)
    assert checkpoints.whole_steps() == [4, 6]


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_two_deaths_in_a_row_lose_nothing_whatever_is_kept(tmp_path, keep):
    def dies(comm, steps, last):
        checkpoints = Checkpoints(tmp_path, comm, keep)
        began = checkpoints.newest()
        for step in steps:
            checkpoints.save(step, {})
            comm.barrier()
        if comm.rank == 0:  # rank 1 dies before it has saved this one
            checkpoints.save(last, {})
        return began

    assert simulate(dies, 2, ([50, 60], 70)).results == [None, None]
    for last in (61, 62, 63):
        assert simulate(dies, 2, ([], last)).results == [60, 60]
    assert simulate(dies, 2, ([65], 70)).results == [60, 60]
    assert simulate(dies, 2, ([], 66)).results == [65, 65]


def test_the_same_step_of_two_lives_is_not_one_checkpoint(tmp_path):
    def dies(comm, rate, who_saves_70):
        checkpoints = Checkpoints(tmp_path, comm)
        began = checkpoints.newest()
        if began is None:
            checkpoints.save(60, {"rate": rate})
        if comm.rank in who_saves_70:
            checkpoints.save(70, {"rate": rate})
        return began

    simulate(dies, 2, (0.1, [0]))
    simulate(dies, 2, (0.01, [1]))  # so there is a 70 of each rank
    assert [(step, state["rate"]) for step, state in simulate(resume, 2, (tmp_path,)).results] == [(60, 0.1)] * 2


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_any_number_of_ranks_goes_on_from_the_newest_whole_one_of_four(tmp_path, ranks):
    simulate(save_all, 4, (tmp_path, [40, 50, 60]))
    for gone in ("step-60.rank-2-of-4", "step-60.rank-3-of-4"):  # half saved
        next(iter(tmp_path.glob(f"life-*{gone}"))).unlink()
    found = simulate(resume, ranks, (tmp_path,)).results
    assert [step for step, _ in found] == [50] * ranks
    assert [state["rank"] for _, state in found] == [rank if rank < 4 else 0 for rank in range(ranks)]
    assert simulate(save_all, ranks, (tmp_path, [55, 60, 65, 70])).results == [50] * ranks
    assert {name.split("-of-")[1] for name in names(tmp_path)} == {str(ranks)}
    assert simulate(resume, 5, (tmp_path,)).results[0][0] == 70


def test_real_processes_agree_as_simulated_ones_do(tmp_path):
    run(save_all, 2, (str(tmp_path), [1, 2]))
    tear(tmp_path, "step-2.rank-1-of-2")
    assert [step for step, _ in run(resume, 3, (str(tmp_path),)).results] == [1, 1, 1]


def test_a_rank_gets_its_own_part_and_the_rest_from_rank_0(tmp_path):
    def saves(comm):
        part = {"weights": 7, "random": "zero"} if comm.rank == 0 else {"random": "one"}
        Checkpoints(tmp_path, comm).save(1, part)

    simulate(saves, 2)
    found = simulate(resume, 3, (tmp_path,)).results
    assert [state["random"] for _, state in found] == ["zero", "one", "zero"]
    assert {state["weights"] for _, state in found} == {7}


def test_what_is_missing_is_said_by_its_step_and_its_parts(tmp_path):
    simulate(save_all, 3, (tmp_path, [7]))
    next(iter(tmp_path.glob("*rank-1-of-3"))).unlink()
    assert Checkpoints(tmp_path).newest() is None
    with pytest.raises(FileNotFoundError, match=r"step 7 has 2 of 3 parts in .*; steps there are \[7\]"):
        Checkpoints(tmp_path).load(7)
    with pytest.raises(FileNotFoundError, match="step 8 has no parts"):
        Checkpoints(tmp_path).load_part(8, 0)


def test_the_one_who_is_late_is_refused_and_harms_nobody(tmp_path):
    late, training = Checkpoints(tmp_path), Checkpoints(tmp_path)
    late.save(1, {"who": "late"})
    training.save(1, {"who": "training"})
    with pytest.raises(RuntimeError, match=r"another training has saved in .* since this one began .life-2-"):
        late.save(2, {"who": "late"})
    assert training.load(1) == {"who": "training"}
    training.save(2, {})
    assert training.whole_steps() == [1, 2]


def test_two_threads_save_one_rank_and_a_reader_looks_on_without_an_error(tmp_path):
    checkpoints, reader, found = Checkpoints(tmp_path, keep=2), Checkpoints(tmp_path), []
    done = threading.Event()

    def look():
        while not done.is_set():
            found.append(reader.newest() or 0)

    threads = [threading.Thread(target=lambda n=n: [checkpoints.save(s, {}) for s in range(n, 60, 2)]) for n in (0, 1)]
    looking = threading.Thread(target=look)
    for thread in (looking, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    looking.join()
    assert checkpoints.newest() in (58, 59)
    assert len(os.listdir(tmp_path)) == 2
    assert len(found) > 1


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_program_whose_steps_go_back_keeps_what_it_saves_last(tmp_path, ranks):
    for steps, newest in (([40, 50, 60, 10], 10), ([5, 5], 5), ([100, 200, 20, 30, 40], 40)):
        simulate(save_all, ranks, (tmp_path / str(newest), steps, 2, {"at": torch.tensor(steps)}))
        step, state = simulate(resume, ranks, (tmp_path / str(newest),)).results[-1]
        assert (step, state["at"].tolist()) == (newest, steps)


@pytest.mark.parametrize("step", [0, 10**8, 2**63 - 1])
def test_any_step_from_0_on_is_found_again(tmp_path, step):
    Checkpoints(tmp_path).save(step, {"step": step})
    assert Checkpoints(tmp_path).load(Checkpoints(tmp_path).newest()) == {"step": step}
    assert simulate(resume, 2, (tmp_path,)).results[1][0] == step


@pytest.mark.parametrize(("step", "error"), [(-1, ValueError), (2**63, ValueError), (1.5, TypeError)])
def test_a_step_that_is_no_whole_number_from_0_on_is_refused(tmp_path, step, error):
    with pytest.raises(error):
        Checkpoints(tmp_path).save(step, {})
    assert os.listdir(tmp_path) == []


def test_a_rank_in_place_of_a_communicator_is_refused(tmp_path):
    with pytest.raises(TypeError, match="comm must be a communicator, or None for one process, got 1"):
        Checkpoints(tmp_path, 1)


def test_a_full_disk_is_an_error_that_leaves_nothing_and_costs_nothing(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, {})

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        for step in range(2, 6):
            with pytest.raises(OSError, match="No space left"):
                checkpoints.save(step, {})
            assert len(os.listdir(tmp_path)) == 1
    checkpoints.save(6, {})
    assert checkpoints.whole_steps() == [6]


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"losses": [0.1, np.float64(0.2)]}, r"state\['losses'\]\[1\] is a numpy.float64"),
        ({"a": {"b": np.ones(2)}}, r"state\['a'\]\['b'\] is a numpy.ndarray"),
        ({"a": Pair(1, 2)}, r"state\['a'\] is a .*Pair"),
        ({"a": (PurePosixPath("x"),)}, r"state\['a'\]\[0\] is a pathlib.PurePosixPath"),
        ({"a": collections.defaultdict(int)}, r"state\['a'\] is a collections.defaultdict"),
        ({Pair(1, 2): 3}, r"the key Pair\(a=1, b=2\) of state is a"),
        ({"a": slice(1)}, r"state\['a'\] is a slice"),
        ({"a": ValueError("x")}, r"state\['a'\] is a ValueError"),
        ({"a": print}, r"state\['a'\] is a builtin_function_or_method"),
        ({"a": np.random.default_rng(0).bit_generator.state, "b": lambda: 0}, r"state\['b'\] is a function"),
    ],
)
def test_what_could_not_be_read_again_is_refused_by_name_before_anything_is_written(tmp_path, part, words):
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(TypeError, match=words):
        checkpoints.save(1, part)
    assert os.listdir(tmp_path) == []


def test_a_state_that_holds_itself_is_refused(tmp_path):
    state = {"a": []}
    state["a"].append(state)
    with pytest.raises(TypeError, match=r"state\['a'\]\[0\] holds itself"):
        Checkpoints(tmp_path).save(1, state)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.just(np.float64(1)),
    st.just(np.int32(3)),
    st.just(torch.float16),
    st.just(torch.Size([2])),
    st.just(Pair(1, 2)),
    st.just(frozenset([1])),
    st.just({1, 2}),
)
STATES = st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(st.text(), part) | st.tuples(part, part))


@settings(max_examples=25)
@given(state=st.dictionaries(st.text(), STATES, max_size=3))
def test_what_is_saved_is_what_is_loaded_or_it_is_refused(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("law")
    try:
        Checkpoints(folder).save(1, state)
    except TypeError:
        assert os.listdir(folder) == []
    else:
        assert Checkpoints(folder).load(1) == state


def test_tied_tensors_come_back_tied(tmp_path):
    weight = torch.ones(3)
    Checkpoints(tmp_path).save(1, {"embedding": weight, "head": weight})
    state = Checkpoints(tmp_path).load(1)
    state["embedding"] += 1
    assert state["head"].tolist() == [2, 2, 2]


def steps_of(comm):
    return common_step(comm, [[10, 20, 30], [10, 20], [20, 30]][comm.rank])


def nothing_in_common(comm):
    return common_step(comm, [[10], [20], []][comm.rank])


def test_ranks_agree_on_the_newest_step_that_all_have():
    assert simulate(steps_of, 3).results == [20, 20, 20]
    assert simulate(nothing_in_common, 3).results == [None] * 3
    assert common_step(None, []) is None
    assert run(steps_of, 3).results == [20, 20, 20]
