"""What a rank is sending and receiving: until somebody waits for it, its tensor belongs to the message.

On real processes a buffer that two messages share, or that is read or written too early, holds whatever came first.
Here it is an error, or a number that is none, each time. The judge's ranks and the notebook's check both use this.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .tensors import raw_bytes


@dataclass
class _Open:
    """A transfer that nobody has waited for, and what its tensor has to hold until then."""

    tensor: torch.Tensor
    where: str
    content: bytes = b""

    def __post_init__(self) -> None:
        self.content = raw_bytes(self.tensor)

    def overlaps(self, tensor: torch.Tensor) -> bool:
        (start, end), (other_start, other_end) = _range(self.tensor), _range(tensor)
        return start < other_end and other_start < end

    @property
    def place(self) -> str:
        return f" ({self.where})" if self.where else ""


class Transfers:
    """The transfers of one rank that have begun and that nobody has waited for, by a number of their own."""

    def __init__(self) -> None:
        self._sends: dict[int, _Open] = {}
        self._receives: dict[int, _Open] = {}

    def sends(self, number: int, tensor: torch.Tensor, where: str) -> None:
        """An isend of this tensor was called there.

        Raises:
            RuntimeError: if a message may be arriving in it.
        """
        self.refuse_arriving(tensor, where)
        self._sends[number] = _Open(tensor, where)

    def receives(self, number: int, tensor: torch.Tensor, where: str) -> None:
        """An irecv into this tensor was called there. Until its wait the tensor holds no numbers.

        Raises:
            RuntimeError: if another message may be arriving in it, or leaving from it.
        """
        self.refuse_shared(tensor, where)
        if tensor.dtype != torch.bool:  # a truth value is one or the other
            tensor.detach().reshape(-1).view(torch.uint8).fill_(0xFF)  # nan in every floating dtype
        self._receives[number] = _Open(tensor, where)

    def refuse_arriving(self, tensor: torch.Tensor, where: str) -> None:
        """Refuse to send what an irecv may change.

        Raises:
            RuntimeError: if one that nobody has waited for goes into the same memory.
        """
        for receive in self._receives.values():
            if receive.overlaps(tensor):
                raise RuntimeError(
                    f"this sends a tensor{_at(where)} in which a message may still be arriving{receive.place}: wait() "
                    "for that irecv first, or give it a tensor of its own"
                )

    def refuse_shared(self, tensor: torch.Tensor, where: str) -> None:
        """Refuse to receive into memory that another message still uses.

        Raises:
            RuntimeError: if it does.
        """
        for receive in self._receives.values():
            if receive.overlaps(tensor):
                raise RuntimeError(
                    f"two messages may be arriving in the same memory: this one{_at(where)} and one that nobody has "
                    f"waited for{receive.place}. Give each a tensor of its own, or wait() for the first"
                )
        for send in self._sends.values():
            if send.overlaps(tensor):
                raise RuntimeError(
                    f"this receives into a tensor{_at(where)} that may still be leaving{send.place}: wait() for that "
                    "isend first, or receive into a tensor of its own"
                )

    def waited(self, number: int) -> None:
        """Its wait() was called.

        Raises:
            RuntimeError: if the tensor has been changed in the meantime.
        """
        send, receive = self._sends.pop(number, None), self._receives.pop(number, None)
        if send and raw_bytes(send.tensor) != send.content:
            raise RuntimeError(f"a tensor was changed while it was being sent: wait() for its isend first{send.place}")
        if receive and raw_bytes(receive.tensor) != receive.content:
            words = "a tensor was changed while a message was arriving in it: wait() for its irecv first"
            raise RuntimeError(words + receive.place)

    def ended(self) -> None:
        """The program has ended.

        Raises:
            RuntimeError: if a tensor has been changed after an isend that nobody waited for.
        """
        for send in self._sends.values():
            if raw_bytes(send.tensor) != send.content:
                raise RuntimeError(
                    f"a tensor was changed after its isend{send.place}, and nothing had waited for that: it may still "
                    "be on its way. Keep what isend returns, and call its wait() before you change the tensor"
                )


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """Where a tensor without gaps lies in memory."""
    return tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size() * (not tensor.is_meta)


def _at(where: str) -> str:
    return f", {where}," if where else ""
