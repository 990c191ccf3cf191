# %% cached_property
import functools


class Plan:
    def __init__(self, data, model, change):
        self.data, self.model, self.change = data, model, change

    @functools.cached_property
    def least(self):
        d, m = self.data[0], self.model[0]
        for i in range(1, len(self.data)):
            d, m = self.data[i] + min(d, m + self.change[i]), self.model[i] + min(m, d + self.change[i])
        return min(d, m)


def cheapest_plan(data, model, change):
    return Plan(data, model, change).least


# %% dataclass_slots_order
from dataclasses import dataclass, field


@dataclass(order=True, slots=True)
class State:
    cost: float
    side: int = field(compare=False)


def cheapest_plan(data, model, change):
    states = [State(data[0], 0), State(model[0], 1)]
    for i in range(1, len(data)):
        states = [
            State(min(s.cost + change[i] * (s.side != side) for s in states) + (data, model)[side][i], side)
            for side in (0, 1)
        ]
    return min(states).cost


# %% enum_match
from enum import Enum, auto


class Side(Enum):
    DATA = auto()
    MODEL = auto()


def cheapest_plan(data, model, change):
    best = {Side.DATA: 0, Side.MODEL: float("inf")}
    for d, m, c in zip(data, model, change):
        new = {}
        for side in Side:
            match side:
                case Side.DATA:
                    own, other = d, Side.MODEL
                case Side.MODEL:
                    own, other = m, Side.DATA
            new[side] = own + min(best[side], best[other] + c)
        best = new
    return min(best.values())


# %% generator_send
def costs(data, model, change):
    d, m = 0, float("inf")
    for a, b, c in zip(data, model, change):
        d, m = a + min(d, m + c), b + min(m, d + c)
        yield min(d, m)


def cheapest_plan(data, model, change):
    *_, last = costs(data, model, change)
    return last


# %% callable_class
class CheapestPlan:
    """Counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, data, model, change):
        self.calls += 1
        d, m = 0, float("inf")
        for a, b, c in zip(data, model, change):
            d, m = a + min(d, m + c), b + min(m, d + c)
        return min(d, m)


cheapest_plan = CheapestPlan()


# %% wraps_and_timer
import functools, time


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            wrapper.seconds = time.perf_counter() - began

    wrapper.seconds = 0
    return wrapper


@timed
def cheapest_plan(data, model, change):
    d, m = 0, float("inf")
    for a, b, c in zip(data, model, change):
        d, m = a + min(d, m + c), b + min(m, d + c)
    return min(d, m)


# %% singledispatch
import functools


@functools.singledispatch
def cheapest_plan(data, model, change):
    raise TypeError(type(data))


@cheapest_plan.register
def _(data: list, model, change):
    d, m = 0, float("inf")
    for a, b, c in zip(data, model, change):
        d, m = a + min(d, m + c), b + min(m, d + c)
    return min(d, m)


# %% singledispatchmethod
import functools


class P:
    @functools.singledispatchmethod
    def go(self, data, model, change):
        raise TypeError

    @go.register(list)
    def _(self, data, model, change):
        d, m = 0, float("inf")
        for a, b, c in zip(data, model, change):
            d, m = a + min(d, m + c), b + min(m, d + c)
        return min(d, m)


cheapest_plan = P().go


# %% partialmethod_reduce
from functools import reduce, partial
import operator


def step(best, layer):
    (d, m), (a, b, c) = best, layer
    return a + min(d, m + c), b + min(m, d + c)


def plan(start, data, model, change):
    return min(reduce(step, zip(data, model, change), start))


cheapest_plan = partial(plan, (0, float("inf")))


# %% lru_method_recursion
import functools


class Plan:
    def __init__(self, *rows):
        self.rows = rows

    @functools.lru_cache(maxsize=None)
    def best(self, i, side):
        data, model, change = self.rows
        own = (data, model)[side][i]
        if i == 0:
            return own
        return own + min(self.best(i - 1, side), self.best(i - 1, 1 - side) + change[i])


def cheapest_plan(data, model, change):
    plan = Plan(data, model, change)
    return min(plan.best(len(data) - 1, side) for side in (0, 1))


# %% global_memo
memo = {}


def best(i, side, rows):
    key = (i, side)
    if key not in memo:
        data, model, change = rows
        own = (data, model)[side][i]
        memo[key] = own if i == 0 else own + min(best(i - 1, side, rows), best(i - 1, 1 - side, rows) + change[i])
    return memo[key]


def cheapest_plan(data, model, change):
    memo.clear()
    return min(best(len(data) - 1, side, (data, model, change)) for side in (0, 1))


# %% named_tuple_typed
from typing import NamedTuple, Protocol, TypeVar, Generic

T = TypeVar("T")


class Pair(NamedTuple):
    data: float
    model: float

    def next(self, a, b, c):
        return Pair(a + min(self.data, self.model + c), b + min(self.model, self.data + c))


class Box(Generic[T]):
    def __init__(self, value: T):
        self.value = value


def cheapest_plan(data, model, change):
    box = Box[Pair](Pair(0, float("inf")))
    for each in zip(data, model, change):
        box.value = box.value.next(*each)
    return min(box.value)
