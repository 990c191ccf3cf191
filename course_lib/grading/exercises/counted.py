"""What of the judge's own runs beside an answer: the text of such functions comes behind the student's cells.

So they import for themselves, and run with names of their own: a notebook may have a `max` or a `len` of its own, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def judges_watch(seen: Callable[[Any, Any, Any], None]) -> Any:
    """A context in which this is told of all that torch computes: the operator, its arguments and its result."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    composite = torch._C.DispatchKey.CompositeImplicitAutograd

    class Watch(TorchDispatchMode):
        pass

    def dispatched(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:  # in inference mode it comes whole, though it is made of others
                return func._op_dk(composite, *args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        seen(func, args, result)
        return result

    # Not in the class: torch would import its compiler for it, which takes a second.
    Watch.__torch_dispatch__ = dispatched
    return Watch()


def judges_counter(name: str) -> Any:
    """A context in which `alive` gets a number for each time that torch computes this: how many results live then.

    In place or not is one: `torch.func` computes anew what dropout and others change in place.
    """
    import weakref

    results: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def seen(operator: Any, args: Any, result: Any) -> None:
        if operator.overloadpacket.__name__.removesuffix("_") == name:
            results.append(weakref.ref(result.untyped_storage()))
            alive.append(sum(each() is not None for each in results))

    counter = judges_watch(seen)
    counter.alive = alive
    return counter


def counting(judged: Callable[..., Any], function: str) -> str:
    """Source that puts one of these around the function of this name."""
    functions: list[Callable[..., Any]] = [judges_watch, judges_counter, judged]
    source = "from __future__ import annotations\n" + "\n\n".join(inspect.getsource(each) for each in functions)
    return f"{function} = {_alone(source, judged.__name__)}({function})\n"


def standing_in(source: str, function: str) -> str:
    """Source that gives the function of this name that this source defines, in place of the student's own."""
    return f"{function} = {_alone(source, function)}\n"


def _alone(source: str, name: str) -> str:
    """An expression: what the source defines under this name, with names of its own, and Python's own builtins."""
    own = f'(__import__("builtins").exec({source!r}, names), names[{name!r}])[1]'
    return f'(lambda names: {own})({{"__name__": "__main__"}})'
