"""What is damaged is recognized and passed over, and ranks agree on the newest checkpoint."""

import pytest
import torch

from course_lib import run, simulate
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


def test_the_checkpoint_before_a_damaged_one_is_used(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (10, 20, 30):
        checkpoints.save(step, {"weights": torch.full((4,), step)})
    newest = tmp_path / "step-00000030.rank-0"
    newest.write_bytes(newest.read_bytes()[:-1])
    assert checkpoints.steps() == [10, 20, 30]
    assert checkpoints.whole_steps() == [10, 20]
    assert checkpoints.load(20)["weights"].tolist() == [20] * 4
    with pytest.raises(DamagedFileError, match=r"step-00000030\.rank-0 is torn"):
        checkpoints.load(30)


def test_the_last_ones_are_kept_and_what_the_dead_left_is_swept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    left = tmp_path / "step-00000005.rank-0.123.tmp"
    left.write_bytes(b"half")
    for step in (10, 20, 30):
        checkpoints.save(step, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000020.rank-0", "step-00000030.rank-0"]
    with pytest.raises(ValueError, match="keep must be from 1 to 16, got 0"):
        Checkpoints(tmp_path, keep=0)


def test_a_rank_gets_its_own_part_and_the_rest_from_rank_0(tmp_path):
    Checkpoints(tmp_path, rank=0).save(1, {"weights": 7, "random": "zero"})
    Checkpoints(tmp_path, rank=1).save(1, {"random": "one"})
    assert Checkpoints(tmp_path, rank=1).load(1) == {"weights": 7, "random": "one"}


def steps_of(comm):
    return common_step(comm, [[10, 20, 30], [10, 20], [20, 30]][comm.rank])


def nothing_in_common(comm):
    return common_step(comm, [[10], [20], []][comm.rank])


def test_ranks_agree_on_the_newest_step_that_all_have():
    assert simulate(steps_of, 3).results == [20, 20, 20]
    assert simulate(nothing_in_common, 3).results == [None] * 3
    assert common_step(None, []) is None
    assert run(steps_of, 3).results == [20, 20, 20]
