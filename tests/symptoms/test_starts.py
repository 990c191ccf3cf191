"""What does not start: the words of the launcher, of the group, of the wrapper and of a frozen model."""

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.run import determine_local_world_size
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.cpp_extension import load_inline

from course_lib import RankError, run


def ask_the_wrapper(comm) -> None:
    DistributedDataParallel(nn.Linear(2, 1)).in_features  # noqa: B018


def give_a_device_to_a_model_on_the_cpu(comm) -> None:
    DistributedDataParallel(nn.Linear(2, 1), device_ids=[0])


def make_the_group_again(comm) -> None:
    dist.init_process_group("gloo")


def freeze_half_of_a_unit(comm, **options) -> None:
    layers = nn.Sequential(nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 2))
    FullyShardedDataParallel(layers, device_id=torch.device("cpu"), **options)


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        (ask_the_wrapper, "The model's own names"),
        (give_a_device_to_a_model_on_the_cpu, "One process drives several devices"),
        (make_the_group_again, "A collective before `init_process_group`"),
        (freeze_half_of_a_unit, "A unit does not fit: two dtypes, frozen and trained parameters"),
    ],
)
def test_a_refusal_is_found_by_its_words(causes, program, cause) -> None:
    with pytest.raises(RankError) as caught:
        run(program, 2)
    assert any(found.startswith(cause) for found in causes(str(caught.value)))


def test_with_its_own_parameters_the_first_fsdp_takes_frozen_and_trained_ones() -> None:
    run(freeze_half_of_a_unit, 2, kwargs={"use_orig_params": True})


def test_an_empty_number_of_processes_is_refused_by_the_launcher(causes) -> None:
    with pytest.raises(ValueError, match="nproc_per_node") as caught:
        determine_local_world_size("")
    [found] = causes(str(caught.value))
    assert "launcher and script disagree" in found


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_frozen_model_under_a_reentrant_checkpoint_has_no_gradient(causes) -> None:
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError) as caught:
        checkpoint(layer, torch.ones(2), use_reentrant=True).sum().backward()
    [found] = causes(str(caught.value))
    assert found.startswith("A reentrant checkpoint")
    checkpoint(layer, torch.ones(2), use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None


def tie(comm, together: bool) -> None:
    """A first and a last layer with one weight, sharded apart or together."""
    mesh, layers = init_device_mesh("cpu", (2,)), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    layers[1].weight = layers[0].weight
    for unit in [list(layers)] if together else layers:
        fully_shard(unit, mesh=mesh)
    fully_shard(layers, mesh=mesh)(torch.ones(1, 2)).sum().backward()


def test_a_tied_weight_belongs_to_one_unit(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(tie, 2, args=(False,))
    [found] = causes(str(caught.value))
    assert "one in two units (tied embeddings)" in found
    run(tie, 2, args=(True,))


def part_into_heads(comm, heads: int) -> int:
    """Each rank has half of the columns of four heads of two."""
    layer = parallelize_module(nn.Linear(2, 8), init_device_mesh("cpu", (2,)), ColwiseParallel())
    return layer(torch.ones(3, 2)).view(3, heads, 2).shape[1]


def test_a_part_is_not_cut_by_the_numbers_of_the_whole(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(part_into_heads, 2, args=(4,))
    [found] = causes(str(caught.value))
    assert found.startswith("A part is used with the numbers of the whole")
    assert run(part_into_heads, 2, args=(2,)).results == [2, 2]


def train_stage(comm, sizes: list[int]) -> None:
    stage = PipelineStage(nn.Linear(3, 3), comm.rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
    for size in sizes:
        batch = torch.ones(size, 3)
        schedule.step(*[batch] * (comm.rank == 0), **{"target": batch} if comm.rank else {})


def test_a_pipeline_takes_each_batch_to_be_as_long_as_its_first(causes) -> None:
    with pytest.raises(RankError) as caught:
        run(train_stage, 2, args=([8, 6],))
    assert any("as long as its first" in cause for cause in causes(str(caught.value)))
    run(train_stage, 2, args=([8, 8],))


def across_a_unit(comm, after: torch.dtype | None) -> torch.dtype:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=after)
    unit = fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (2,)), mp_policy=policy)
    return nn.Linear(2, 2)(unit(torch.ones(1, 2))).dtype


def test_two_dtypes_meet_where_a_unit_in_bf16_ends(causes) -> None:
    with pytest.raises(RankError, match="BFloat16 and Float") as caught:
        run(across_a_unit, 2, args=(None,))
    [found] = causes(str(caught.value))
    assert found.startswith("Two dtypes meet in one operator")
    assert run(across_a_unit, 2, args=(torch.float32,)).results == [torch.float32] * 2
    with torch.autocast("cpu"):
        assert nn.Linear(2, 2)(torch.ones(1, 2, dtype=torch.bfloat16)).dtype == torch.bfloat16


@pytest.mark.parametrize(
    "move", [lambda: nn.Linear(2, 2, device="meta").to("cpu"), lambda: torch.ones(2, device="meta") + torch.ones(2)]
)
def test_a_tensor_that_lies_elsewhere_is_refused(causes, move) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        move()
    [found] = causes(str(caught.value))
    assert found.startswith("A tensor lies elsewhere")


def test_a_function_within_a_function_cannot_be_pickled(causes) -> None:
    def train(rank: int) -> None: ...

    with pytest.raises(AttributeError) as caught:
        mp.spawn(train, nprocs=1)
    [found] = causes(str(caught.value))
    assert found.startswith("A fork after the device was used; or a spawn")


def test_versions_do_not_fit_where_a_name_or_an_argument_is_unknown(causes) -> None:
    with pytest.raises(TypeError) as unknown:
        nn.Linear(2, 2, of_a_later_version=True)
    with pytest.raises(ModuleNotFoundError) as missing:
        __import__("torch.of_a_later_version")
    with pytest.raises(ImportError) as name:
        exec("from torch import of_a_later_version")
    for caught in (unknown, missing, name):
        [found] = causes(str(caught.value))
        assert found.startswith("Versions do not fit")


@pytest.mark.filterwarnings("ignore")
def test_an_extension_that_does_not_compile_is_not_built(causes, monkeypatch, tmp_path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-v*) echo gcc version 99;; *) exit 1;; esac\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(RuntimeError) as caught:
        load_inline("nothing", cpp_sources="", build_directory=str(tmp_path))
    [found] = causes(str(caught.value))
    assert found.startswith("An extension is built at first use")
