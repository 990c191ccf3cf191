# %% custom_fwd_bwd
class Layer(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.T @ x


def output_split_backward(comm, x, weight, y_grad):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    Layer.apply(x, weight).backward(y_grad)
    x_grad = x.grad
    all_reduce(comm, x_grad)
    return [x_grad, weight.grad]


# %% custom_fwd_cast
class Layer(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.T @ x


def output_split_backward(comm, x, weight, y_grad):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    Layer.apply(x, weight).backward(y_grad)
    x_grad = x.grad
    all_reduce(comm, x_grad)
    return [x_grad, weight.grad]


# %% once_differentiable
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.T @ x


def output_split_backward(comm, x, weight, y_grad):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    Layer.apply(x, weight).backward(y_grad)
    x_grad = x.grad
    all_reduce(comm, x_grad)
    return [x_grad, weight.grad]


# %% once_and_custom
class Layer(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    @torch.autograd.function.once_differentiable
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.T @ x


def output_split_backward(comm, x, weight, y_grad):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    Layer.apply(x, weight).backward(y_grad)
    x_grad = x.grad
    all_reduce(comm, x_grad)
    return [x_grad, weight.grad]


# %% module_with_hooks
class Cut(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight.clone())

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


def output_split_backward(comm, x, weight, y_grad):
    cut = Cut(weight)
    x = x.clone().requires_grad_()
    x.register_post_accumulate_grad_hook(lambda t: all_reduce(comm, t.grad))
    cut(x).backward(y_grad)
    return [x.grad, cut.weight.grad]


# %% vmap_grad
from torch.func import vjp, vmap, functional_call


def output_split_backward(comm, x, weight, y_grad):
    _, back = vjp(lambda x, w: x @ w.mT, x, weight)
    x_grad, w_grad = back(y_grad)
    x_grad = x_grad.clone()
    all_reduce(comm, x_grad)
    return x_grad, w_grad
