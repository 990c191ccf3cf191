"""What a rank is sending: until an isend is waited for, its tensor belongs to the message and must stay as it is."""

from __future__ import annotations

import torch

__all__ = ["Sends"]


class Sends:
    """The tensors under way of one rank, each with what it held when its isend was called."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[torch.Tensor, bytes, str]] = {}

    def began(self, handle: int, tensor: torch.Tensor, where: str) -> None:
        """An isend of this tensor was called there."""
        self._open[handle] = tensor, _content(tensor), where

    def waited(self, handle: int) -> None:
        """Its wait() was called.

        Raises:
            RuntimeError: if the tensor has been changed in the meantime.
        """
        if handle in self._open:
            tensor, as_sent, where = self._open.pop(handle)
            if _content(tensor) != as_sent:
                place = f" ({where})" if where else ""
                raise RuntimeError(f"a tensor was changed while it was being sent: wait() for its isend first{place}")

    def ended(self) -> None:
        """The program has ended.

        Raises:
            RuntimeError: if a tensor has been changed after an isend that nobody waited for.
        """
        for tensor, as_sent, where in self._open.values():
            if _content(tensor) != as_sent:
                place = f" ({where})" if where else ""
                raise RuntimeError(
                    f"a tensor was changed after its isend{place}, and nothing had waited for that: it may still be on "
                    "its way. Keep what isend returns, and call its wait() before you change the tensor"
                )


def _content(tensor: torch.Tensor) -> bytes:
    """A tensor's bytes, whatever its dtype: a number that is not one equals itself here."""
    return tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes()
