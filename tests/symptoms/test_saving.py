"""What does not load: names with the wrapper's, and parameters of which a rank had nothing."""

from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from course_lib import RankError, run


def names_and_values(comm, inner: bool) -> dict[str, torch.Tensor]:
    ddp = DistributedDataParallel(nn.Linear(2, 1))
    state = (ddp.module if inner else ddp).state_dict()
    return {name: value.clone() for name, value in state.items()}


def test_the_wrapper_saved_has_other_names(causes) -> None:
    state, _ = run(names_and_values, 2, args=(False,)).results
    assert list(state) == ["module.weight", "module.bias"]
    with pytest.raises(RuntimeError) as caught:
        nn.Linear(2, 1).load_state_dict(state)
    [cause] = causes(str(caught.value))
    assert cause.startswith("The wrapper was saved, not the model in it")
    nn.Linear(2, 1).load_state_dict(run(names_and_values, 2, args=(True,)).results[0])


def average(comm, inner: bool) -> list[torch.Tensor]:
    ddp = DistributedDataParallel(nn.Linear(2, 1))
    kept = {name: each.clone() for name, each in ddp.module.named_parameters()}
    return [kept[name].lerp(each, 0.1).detach() for name, each in (ddp.module if inner else ddp).named_parameters()]


def test_an_average_of_the_weights_does_not_find_the_wrapper_saved_names(causes) -> None:
    with pytest.raises(RankError, match=r"KeyError: 'module\.weight'") as caught:
        run(average, 2, args=(False,))
    [cause] = causes(str(caught.value))
    assert cause.startswith("The wrapper was saved, not the model in it")
    run(average, 2, args=(True,))


def shards(comm, gather: bool) -> dict[str, torch.Tensor]:
    model = fully_shard(nn.Linear(2, 1), mesh=init_device_mesh("cpu", (2,)))
    state = model.state_dict()
    return {name: (each.full_tensor() if gather else each.to_local()).clone() for name, each in state.items()}


def test_what_a_rank_has_left_of_a_sharded_parameter_does_not_load(causes) -> None:
    _, left = run(shards, 2, args=(False,)).results
    assert left["bias"].shape == (0,)
    with pytest.raises(RuntimeError) as caught:
        nn.Linear(2, 1).load_state_dict(left)
    [cause] = causes(str(caught.value))
    assert cause.startswith("Each rank saved or loaded its shard of parameters (ZeRO-3)")
    for state in run(shards, 2, args=(True,)).results:
        nn.Linear(2, 1).load_state_dict(state)


def blocks_of(comm, folder: str, name: str) -> float:
    """A stage's only block, saved and read under a name."""
    name = name.format(stage=comm.rank)
    dcp.save({name: torch.full((2,), float(comm.rank))}, checkpoint_id=folder)
    state = {name: torch.full((2,), -1.0)}
    dcp.load(state, checkpoint_id=folder)
    return state[name][0].item()


@pytest.mark.parametrize(("name", "read"), [("blocks.0", [0, 0]), ("blocks.{stage}", [0, 1])])
def test_of_two_blocks_with_one_name_one_is_saved_and_no_error(tmp_path, name, read) -> None:
    assert run(blocks_of, 2, args=(str(tmp_path), name)).results == read


class Note:
    """What is no tensor."""


def test_an_object_in_a_file_is_refused_unless_the_file_is_trusted(causes, tmp_path) -> None:
    torch.save({"weight": torch.ones(1), "note": Note()}, tmp_path / "saved.pt")
    with pytest.raises(UnpicklingError) as caught:
        torch.load(tmp_path / "saved.pt")
    [cause] = causes(str(caught.value))
    assert cause.startswith("The file holds more than tensors")
    assert torch.load(tmp_path / "saved.pt", weights_only=False)["weight"] == 1


def test_a_torn_file_says_that_its_end_is_missing(causes, tmp_path) -> None:
    path = tmp_path / "torn.pt"
    torch.save(torch.ones(1000), path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RuntimeError) as caught:
        torch.load(path)
    [cause] = causes(str(caught.value))
    assert cause.startswith("A torn file")


def test_an_optimizer_of_other_parameters_is_refused(causes) -> None:
    whole = nn.Linear(2, 1)
    state = torch.optim.SGD(whole.parameters()).state_dict()
    with pytest.raises(ValueError, match="parameter group") as caught:
        torch.optim.SGD([whole.weight]).load_state_dict(state)
    [cause] = causes(str(caught.value))
    assert "the optimizer's groups, are others now" in cause


def save_and_load(comm, folders: list[Path]) -> float:
    """Each rank saves its part in its folder, and loads the whole."""
    folder, state = str(folders[comm.rank]), {f"part {comm.rank}": torch.ones(1)}
    dcp.save(state, checkpoint_id=folder)
    dcp.load(state, checkpoint_id=folder)
    return state[f"part {comm.rank}"].item()


def test_a_rank_that_saves_on_its_own_disk_finds_no_file_of_the_others(causes, tmp_path) -> None:
    with pytest.raises(RankError) as caught:
        run(save_and_load, 2, args=([tmp_path / "disk 0", tmp_path / "disk 1"],))
    [cause] = causes(str(caught.value))
    assert cause.startswith("The folder has not all ranks' files")
    assert run(save_and_load, 2, args=([tmp_path / "shared"] * 2,)).results == [1, 1]


def save_and_ask_for_more(comm, folder: Path, steps: int) -> None:
    """The optimizer has a state from its first step on; who loads asks for it."""
    saver, loader = ((model, torch.optim.Adam(model.parameters())) for model in (nn.Linear(2, 1), nn.Linear(2, 1)))
    for (model, optimizer), times in ((saver, steps), (loader, 1)):
        for _ in range(times):
            model(torch.ones(2)).backward()
            optimizer.step()
    dcp.save({"optimizer": saver[1].state_dict()}, checkpoint_id=str(folder))
    dcp.load({"optimizer": loader[1].state_dict()}, checkpoint_id=str(folder))


def test_an_optimizer_without_a_step_was_never_saved(causes, tmp_path) -> None:
    with pytest.raises(RankError, match="Missing key in checkpoint state_dict") as caught:
        run(save_and_ask_for_more, 2, args=(tmp_path / "before a step", 0))
    [cause] = causes(str(caught.value))
    assert "what is asked for was never saved (an optimizer's state before a step)" in cause
    run(save_and_ask_for_more, 2, args=(tmp_path / "after it", 1))


def two_copies(comm, tied: bool) -> torch.Tensor:
    """What a first and a last stage hold of one weight after a step of each, from its own use."""
    weight = nn.Parameter(torch.ones(2))
    (weight * (comm.rank + 1)).sum().backward()
    if tied:
        dist.all_reduce(weight.grad)
    return (weight - 0.1 * weight.grad).detach()


@pytest.mark.parametrize("tied", [False, True])
def test_a_weight_tied_apart_becomes_two_unless_gradients_are_added(tied) -> None:
    first, last = run(two_copies, 2, args=(tied,)).results
    assert torch.equal(first, last) == tied


def test_who_loads_a_model_on_meta_ties_its_weights_again() -> None:
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    layers[1].weight = layers[0].weight
    assert layers.to("meta").to_empty(device="cpu")[0].weight is not layers[1].weight


def make(comm, folder: Path, writers: int) -> None:
    if comm.rank < writers:
        folder.mkdir()
    dist.barrier()


def test_two_ranks_that_make_one_folder_are_torn_apart(causes, tmp_path) -> None:
    with pytest.raises(RankError, match="FileExistsError") as caught:
        run(make, 2, args=(tmp_path / "both", 2))
    [cause] = causes(str(caught.value))
    assert "several ranks write or delete one" in cause
    run(make, 2, args=(tmp_path / "one", 1))
