# %% inference_mode_deco
@torch.inference_mode()
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% inference_mode_plain_deco
@torch.inference_mode
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% inference_mode_with
def input_split_forward(comm, x, weight, bias):
    with torch.inference_mode():
        y = x @ weight.T
        all_reduce(comm, y)
        return y + bias


# %% no_grad_deco
@torch.no_grad()
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% set_grad_enabled
@torch.set_grad_enabled(False)
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% compile_eager_deco
@torch.compile(backend="eager")
def addend(x, weight):
    return x @ weight.T


def input_split_forward(comm, x, weight, bias):
    y = addend(x, weight)
    all_reduce(comm, y)
    return y + bias


# %% compile_eager_bare
addend = torch.compile(lambda x, weight: x @ weight.T, backend="eager")


def input_split_forward(comm, x, weight, bias):
    y = addend(x, weight)
    all_reduce(comm, y)
    return y + bias


# %% compile_whole
@torch.compile(backend="eager", dynamic=True)
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% compile_module
class Part(torch.nn.Module):
    def forward(self, x, weight):
        return torch.nn.functional.linear(x, weight)


part = torch.compile(Part(), backend="eager")


def input_split_forward(comm, x, weight, bias):
    y = part(x, weight)
    all_reduce(comm, y)
    return y + bias


# %% dynamo_disable
@torch.compiler.disable
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% jit_script
@torch.jit.script
def addend(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x @ weight.T


def input_split_forward(comm, x, weight, bias):
    y = addend(x, weight)
    all_reduce(comm, y)
    return y + bias


# %% autocast_off
def input_split_forward(comm, x, weight, bias):
    with torch.autocast("cpu", enabled=False):
        y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% autocast_deco
@torch.autocast("cpu", enabled=False)
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% default_dtype_inside
def input_split_forward(comm, x, weight, bias):
    torch.set_default_dtype(torch.float64)
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% default_device_inside
def input_split_forward(comm, x, weight, bias):
    torch.set_default_device("cpu")
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% dispatch_mode
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Count.calls += 1
        return func(*args, **(kwargs or {}))


def input_split_forward(comm, x, weight, bias):
    with Count():
        y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% tensor_subclass
class Named(torch.Tensor):
    pass


def input_split_forward(comm, x, weight, bias):
    y = (x @ weight.T).as_subclass(Named)
    all_reduce(comm, y)
    return y + bias
