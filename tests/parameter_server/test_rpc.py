"""The asynchronous server in torch.distributed.rpc: the production tool does what ours does."""

import tempfile

import pytest
import torch

from course_lib import run
from course_lib.parameter_server.rpc_server import RpcServer, push_and_pull
from course_lib.tasks import Classifier, load_digits


def program(comm, folder, pushes):
    from torch.distributed import rpc

    from course_lib.parameter_server.rpc_server import RpcServer, rpc_work

    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rpc")
    rpc.init_rpc(f"rank{comm.rank}", rank=comm.rank, world_size=comm.world_size, rpc_backend_options=options)
    if comm.rank > 0:
        rpc_work(comm.rank, pushes, 0.5)
    rpc.shutdown()
    return RpcServer.parameters, RpcServer.updates


def test_a_call_is_one_step_down_the_gradient():
    before, updates = RpcServer.parameters.clone(), RpcServer.updates
    after = push_and_pull(torch.ones_like(before), 0.25)
    assert torch.equal(after, before - 0.25)
    assert RpcServer.updates == updates + 1


@pytest.mark.slow
def test_workers_on_processes_of_their_own_train_the_servers_parameters():
    with tempfile.TemporaryDirectory() as folder:
        (row, updates), *others = run(program, 3, args=(folder, 8), echo=False).results
    assert updates == 16
    assert [count for _, count in others] == [0, 0]
    task, data = Classifier(), load_digits()
    losses = [task.loss(p, data.train_inputs, data.train_labels) for p in (task.initial(), row)]
    assert losses[1] < losses[0] / 1.5
