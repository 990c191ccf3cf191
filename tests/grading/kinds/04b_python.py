# %% contextmanager
import contextlib


@contextlib.contextmanager
def summed(comm, tensor):
    yield tensor
    all_reduce(comm, tensor)


def input_split_forward(comm, x, weight, bias):
    with summed(comm, torch.zeros(len(x), len(weight))) as y:
        y += x @ weight.T
    return y + bias


# %% contextmanager_decorator
import contextlib


@contextlib.contextmanager
def quiet():
    with torch.no_grad(), contextlib.suppress(ZeroDivisionError):
        yield


@quiet()
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% exitstack_class
import contextlib


class Sum(contextlib.AbstractContextManager):
    def __init__(self, comm):
        self.comm, self.left = comm, contextlib.ExitStack()

    def add(self, t):
        self.left.callback(all_reduce, self.comm, t)
        return t

    def __exit__(self, *e):
        return self.left.__exit__(*e)


def input_split_forward(comm, x, weight, bias):
    with Sum(comm) as s:
        y = s.add(x @ weight.T)
    return y + bias


# %% method_of_instance_rank
class Work:
    total = None

    def forward(self, comm, x, weight, bias):
        self.total = x @ weight.T
        all_reduce(comm, self.total)
        return self.total + bias


input_split_forward = Work().forward


# %% classmethod_static
class Work:
    @classmethod
    def forward(cls, comm, x, weight, bias):
        y = cls.part(x, weight)
        all_reduce(comm, y)
        return y + bias

    @staticmethod
    def part(x, weight):
        return x @ weight.T


input_split_forward = Work.forward


# %% metaclass_registry
class Meta(type):
    known = {}

    def __new__(mcs, name, bases, body):
        made = super().__new__(mcs, name, bases, body)
        mcs.known[name] = made
        return made


class Base(metaclass=Meta):
    pass


class Plain(Base):
    def __call__(self, comm, x, weight, bias):
        y = x @ weight.T
        all_reduce(comm, y)
        return y + bias


def input_split_forward(*a):
    return Meta.known["Plain"]()(*a)


# %% cached_property_rank
import functools


class Layer:
    def __init__(self, comm, x, weight):
        self.comm, self.x, self.weight = comm, x, weight

    @functools.cached_property
    def y(self):
        y = self.x @ self.weight.T
        all_reduce(self.comm, y)
        return y


def input_split_forward(comm, x, weight, bias):
    layer = Layer(comm, x, weight)
    return layer.y + bias


# %% flag_enum_weakref
import enum, weakref, contextvars, itertools, operator


class Kind(enum.Flag):
    OWN = enum.auto()
    ALL = enum.auto()


where = contextvars.ContextVar("where", default=Kind.OWN)
alive = weakref.WeakValueDictionary()


def input_split_forward(comm, x, weight, bias):
    token = where.set(Kind.OWN | Kind.ALL)
    y = x @ weight.T
    alive["y"] = y
    all_reduce(comm, y)
    where.reset(token)
    return y + bias


# %% async_inside
import asyncio


async def work(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    await asyncio.sleep(0)
    return y + bias


def input_split_forward(comm, x, weight, bias):
    return asyncio.run(work(comm, x, weight, bias))
