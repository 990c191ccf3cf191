"""The stand-in device keeps CUDA's rules; what breaks one is an error, and never in silence."""

import io
import pickle

import numpy as np
import pytest
import torch
from on_device import on_device
from torch import nn
from torch.nn import functional

pytestmark = pytest.mark.timeout(900)  # the first of all waits until the device is compiled

# Each gets a tensor of the device, one of somewhere else, and what brings a third tensor to where that one is.
MIXES = {
    "a sum": lambda here, other, to: here + other,
    "a product of matrices": lambda here, other, to: here @ other,
    "joined tensors": lambda here, other, to: torch.cat([here, other]),
    "stacked numbers": lambda here, other, to: torch.stack([here[0, 0], other[0, 0]]),
    "out=": lambda here, other, to: torch.add(here, here, out=other),
    "an operation in place": lambda here, other, to: other.add_(here),
    "a number that is written": lambda here, other, to: other[0, 0].clone().add_(here[0, 0]),
    "places of the device": lambda here, other, to: other[torch.tensor([1, 2]).to(here.device)],
    "places of index_select": lambda here, other, to: here.index_select(0, to(torch.tensor([1]))),
    "one place of index_select": lambda here, other, to: here.index_select(0, to(torch.tensor(1))),
    "rows of an embedding": lambda here, other, to: functional.embedding(to(torch.tensor([1])), here),
    "gathered places": lambda here, other, to: here.gather(0, to(torch.zeros(4, 4, dtype=torch.int64))),
    "values put at places": lambda here, other, to: here.index_put_((torch.tensor([0, 1]),), other[:2]),
    "a layer": lambda here, other, to: functional.linear(here, other),
    "a convolution": lambda here, other, to: functional.conv1d(here[None], other[:, :, None]),
    "a batch norm": lambda here, other, to: functional.batch_norm(here, to(torch.zeros(4)), to(torch.ones(4))),
    "a loss": lambda here, other, to: functional.cross_entropy(here, to(torch.tensor([0, 1, 2, 3]))),
    "a mask": lambda here, other, to: here.masked_fill(other > 0, 0.0),
    "a choice": lambda here, other, to: torch.where(other > 0, here, here),
    "random numbers": lambda here, other, to: torch.rand(
        3, generator=torch.Generator(other.device), device=here.device
    ),
}
FITS = {
    "a number of the CPU": lambda here, cpu: here * torch.tensor(2.0),
    "a number of the CPU that stands first": lambda here, cpu: torch.tensor(2.0) * here,
    "a number filled in": lambda here, cpu: here.clone().masked_fill_(here > 0, torch.tensor(2.0)),
    "a number in a choice": lambda here, cpu: torch.where(here > 0, here, torch.tensor(2.0)),
    "places of the CPU": lambda here, cpu: here[torch.tensor([1, 2])],
    "a mask of the CPU": lambda here, cpu: here[torch.ones(4, dtype=torch.bool)],
    "a number put at places": lambda here, cpu: here.clone().index_put_((torch.tensor([0, 1]),), torch.tensor(2.0)),
    "a copy": lambda here, cpu: here.clone().copy_(cpu),
    "a tensor of its kind": lambda here, cpu: here.new_zeros(3),
}


@pytest.mark.parametrize("where", ["cpu", "pretend:1"])
@on_device
def test_what_mixes_a_device_with_the_cpu_or_another_device_is_refused(where):
    for what, mix in MIXES.items():
        here, other = torch.randn(4, 4).to("pretend:0"), torch.randn(4, 4).to(where)
        with pytest.raises(RuntimeError, match=r"PRETEND: |same device|on device"):
            pytest.fail(f"{what} gives {mix(here, other, lambda tensor: tensor.to(where))}")


@on_device
def test_numpy_reads_no_tensor_of_a_device():
    here = torch.ones(3, device="pretend")
    for read in (torch.Tensor.numpy, np.asarray):
        with pytest.raises(TypeError, match="can't convert pretend:0 device type tensor"):
            read(here)


@on_device
def test_what_cuda_takes_from_the_cpu_is_taken():
    cpu = torch.randn(4, 4)
    found = {what: fit(cpu.to("pretend"), cpu).device for what, fit in FITS.items()}
    assert found == dict.fromkeys(FITS, torch.device("pretend:0"))


@on_device
def test_torch_finds_eight_accelerators_and_each_thread_has_one_of_its_own():
    import threading

    assert torch.accelerator.current_accelerator().type == "pretend"
    assert torch.accelerator.device_count() == 8
    seen = []

    def go():
        seen.append(torch.accelerator.current_device_index())

    torch.accelerator.set_device_index(3)
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    assert seen == [0]
    assert torch.empty(1, device="pretend").device.index == 3
    with torch.get_device_module("pretend").device(5):
        assert torch.empty(1, device="pretend").device.index == 5
    assert torch.accelerator.current_device_index() == 3
    with pytest.raises(RuntimeError, match="no device 8"):
        torch.accelerator.set_device_index(8)


@on_device
def test_each_device_has_random_numbers_of_its_own_and_a_seed_is_everyones():
    torch.manual_seed(5)
    first, cpu = [torch.rand(3, device=f"pretend:{number}") for number in (0, 1)], torch.rand(3)
    torch.manual_seed(5)
    torch.rand(100), torch.rand(100, device="pretend:1")  # of others
    assert torch.equal(torch.rand(3, device="pretend:0"), first[0])
    assert torch.equal(first[0].cpu(), first[1].cpu())
    assert torch.equal(first[0].cpu(), cpu)  # (CUDA's differ from the CPU's)
    module = torch.get_device_module("pretend")
    state = module.get_rng_state(1)
    drawn = functional.dropout(torch.ones(64, device="pretend:1"))
    module.set_rng_state(state, 1)
    assert torch.equal(functional.dropout(torch.ones(64, device="pretend:1")), drawn)
    assert 10 < int((drawn == 0).sum()) < 54
    assert set(drawn.tolist()) == {0.0, 2.0}


@on_device
def test_a_layer_gives_what_it_gives_on_the_cpu_and_its_gradients_too():
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    cpu = nn.Sequential(*layers, nn.Linear(64, 5), nn.LayerNorm(5), nn.GELU())
    here = pickle.loads(pickle.dumps(cpu)).to("pretend")
    x = torch.randn(3, 1, 8, 8)
    for module, device in ((cpu, "cpu"), (here, "pretend")):
        functional.cross_entropy(module(x.to(device)), torch.tensor([1, 0, 4], device=device)).backward()
    for ours, theirs in zip(here.parameters(), cpu.parameters(), strict=True):
        assert ours.grad.device.type == "pretend"
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
    for ours, theirs in zip(here.buffers(), cpu.buffers(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN, nn.MultiheadAttention, nn.Conv1d, nn.ConvTranspose1d])
@on_device
def test_layers_that_have_kernels_of_their_own_agree_with_the_cpu(kind):
    torch.manual_seed(0)
    cpu = kind(4, 2, 3) if "Conv" in kind.__name__ else kind(4, 2) if kind is nn.MultiheadAttention else kind(4, 6)
    here, x = pickle.loads(pickle.dumps(cpu)).to("pretend"), torch.randn(5, 4, 4)
    for module, input_ in ((cpu, x), (here, x.to("pretend"))):
        out = module(*[input_] * (3 if kind is nn.MultiheadAttention else 1))
        (out[0] if isinstance(out, tuple) else out).square().sum().backward()
    for ours, theirs in zip(here.parameters(), cpu.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
@on_device
def test_optimizers_step_as_on_the_cpu(kind):
    found = []
    for device in ("cpu", "pretend"):
        row = torch.arange(5.0).to(device).requires_grad_()
        optimizer = getattr(torch.optim, kind)([row], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            row.square().sum().backward()
            torch.nn.utils.clip_grad_norm_([row], 1.0)
            optimizer.step()
        found.append(row.detach().cpu())
    torch.testing.assert_close(*found)


@on_device
def test_autocast_and_the_scaler_of_losses_are_there():
    x = torch.randn(4, 4, device="pretend")
    with torch.autocast("pretend", torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert functional.softmax(x.bfloat16(), 0).dtype == torch.float32
    row = torch.ones(2, device="pretend", requires_grad=True)
    scaler, optimizer = torch.amp.GradScaler("pretend", init_scale=4.0), torch.optim.SGD([row], 0.1)
    scaler.scale((row * 2).sum()).backward()
    scaler.step(optimizer)
    assert row.grad.tolist() == [2.0, 2.0]


@on_device
def test_backward_passes_run_in_a_thread_of_their_device_as_cudas_do():
    import threading

    threads = []
    for device in ("cpu", "pretend"):
        x = torch.ones(1, device=device, requires_grad=True)
        y = x * 2
        y.register_hook(lambda gradient: threads.append(threading.current_thread()))
        y.sum().backward()
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


@on_device
def test_a_tensor_is_saved_with_its_device_and_read_onto_another():
    saved, tensor = io.BytesIO(), torch.arange(3.0).to("pretend:2")
    torch.save({"w": tensor}, saved)
    saved.seek(0)
    assert torch.load(saved)["w"].device == tensor.device
    saved.seek(0)
    assert torch.equal(torch.load(saved, map_location="cpu")["w"], torch.arange(3.0))
    assert pickle.loads(pickle.dumps(tensor)).device == tensor.device


@on_device
def test_memory_is_counted_by_device():
    module = torch.get_device_module("pretend")
    before = [module.memory_allocated(number) for number in range(8)]
    kept = torch.empty(100, device="pretend:3")
    assert [module.memory_allocated(number) for number in range(8)] == [*before[:3], before[3] + 400, *before[4:]]
    del kept
    assert [module.memory_allocated(number) for number in range(8)] == before


@on_device
def test_tied_weights_stay_tied_when_a_module_moves():
    module = nn.ModuleList([nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)])
    module[1].weight = module[0].weight
    module.to("pretend")
    assert module[1].weight is module[0].weight
    assert module[0].weight.device.type == "pretend"


def test_no_other_test_sees_an_accelerator_of_ours():
    current = torch.accelerator.current_accelerator()
    assert current is None or current.type != "pretend"
