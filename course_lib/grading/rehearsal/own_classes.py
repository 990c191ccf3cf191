"""A packed program whose classes are each rank's own, as they are in processes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["unpack_own"]

MAKERS = ("_make_skeleton_class", "_make_skeleton_enum")  # of cloudpickle, for classes that travel by value


def unpack_own(packed: bytes) -> Any:
    """What `pack` has packed, each class of the notebook made anew.

    cloudpickle by itself makes one class for a whole process, so that simulated ranks would share its attributes.
    """
    return _Unpickler(io.BytesIO(packed)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _untracked(found) if module.startswith("cloudpickle.") and name in MAKERS else found


def _untracked(make: Callable[..., Any]) -> Callable[..., Any]:
    """This maker of classes without the number by which it would find one that was made before."""
    return lambda *args: make(*args[:-2], None, args[-1])
