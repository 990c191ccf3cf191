"""Arithmetic where the vectors lie: what a server can be told to do with its parts of named vectors.

command    vectors           what each server does with its part          what it answers
dot        target, source                                                  its part of target . source
scale      target            target = factor x target
add        target, source    target = target + factor x source
copy       target, source    target = source
abs_sum    target                                                          its part of the sum of |target|
evaluate   x, g              g = gradient at x, from the workers           (the workers answer: their parts of the loss)

Dean et al. name the first three as examples of theirs, and a multiplication, which L-BFGS does not need. Added here: a
factor for `add`; `copy`, which a line search needs to go back; `abs_sum`, for the length of a first step; and
`evaluate`, which makes a server collect the gradient.

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import torch

from course_lib.parameter_server.messages import Message

__all__ = ["COMMANDS", "Command", "ShardVectors"]

COMMANDS = ("dot", "scale", "add", "copy", "abs_sum", "evaluate")
_PACKED = struct.Struct("<8s8sd")  # target, source, factor: 24 bytes, however long the vectors are


class Command(NamedTuple):
    """One line of the table: the name of a command, those of its vectors (up to 8 characters), and a factor."""

    name: str
    target: str
    source: str = ""
    factor: float = 1.0

    @property
    def answered(self) -> bool:
        """True if a number comes back."""
        return self.name in ("dot", "abs_sum", "evaluate")

    def message(self, sender: int, *, version: int = 0, count: int = 1) -> Message:
        """The command as a message of 64 + 24 bytes.

        Raises:
            ValueError: if the command is not in the table, or a vector's name has more than 8 characters.

        >>> message = Command("add", "x", "d", factor=0.5).message(sender=0)
        >>> message.payload.numel(), Command.from_message(message)
        (24, Command(name='add', target='x', source='d', factor=0.5))
        """
        if self.name not in COMMANDS:
            raise ValueError(f"a command must be one of {', '.join(COMMANDS)}, got {self.name!r}")
        names = [name.encode() for name in (self.target, self.source)]
        if max(map(len, names)) > 8:
            raise ValueError(f"a vector's name may have 8 characters, got {self.target!r} and {self.source!r}")
        payload = torch.frombuffer(bytearray(_PACKED.pack(*names, self.factor)), dtype=torch.uint8)
        number = COMMANDS.index(self.name)
        return Message("command", sender, version=version, count=count, number=number, payload=payload)

    @staticmethod
    def from_message(message: Message) -> Command:
        """The command that `message` carries."""
        assert message.payload is not None
        target, source, factor = _PACKED.unpack(message.payload.cpu().numpy().tobytes())
        return Command(COMMANDS[message.number], target.rstrip(b"\0").decode(), source.rstrip(b"\0").decode(), factor)


class ShardVectors:
    """One server's parts of named vectors, all of one length. At first there is `x`, the parameters.

    No vector is changed in place: each command makes a new one. So `copy` costs nothing, and a message may still carry
    `x` while the next `x` is made.
    """

    def __init__(self, x: torch.Tensor) -> None:
        self.vectors = {"x": x}

    def __getitem__(self, name: str) -> torch.Tensor:
        if name not in self.vectors:
            raise ValueError(f"there is no vector {name!r} on this shard, only {', '.join(self.vectors)}")
        return self.vectors[name]

    def execute(self, command: Command) -> float | None:
        """Do one command of the table, all but `evaluate`; return the shard's part of the answer if it has one.

        >>> shard = ShardVectors(torch.tensor([3.0, -4.0]))
        >>> shard.execute(Command("copy", "d", "x"))
        >>> shard.execute(Command("scale", "d", factor=2.0))
        >>> shard.execute(Command("dot", "x", "d")), shard.execute(Command("abs_sum", "d"))
        (50.0, 14.0)
        """
        name, target, source, factor = command
        if name == "dot":
            return float(self[target] @ self[source])
        if name == "abs_sum":
            return float(self[target].abs().sum())
        if name == "scale":
            self.vectors[target] = self[target] * factor
        elif name == "add":
            self.vectors[target] = torch.add(self[target], self[source], alpha=factor)
        elif name == "copy":
            self.vectors[target] = self[source]
        else:
            raise ValueError(f"a shard cannot do {name!r} by itself")
        return None
