"""Dropout on several ranks: other masks where numbers are a rank's own, the same mask where all have the same."""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import nn

from course_lib.comm import Communicator
from course_lib.replay import random_states, set_random_states


class RandomOfRank(nn.Module):
    """Random numbers of a state of their own, inside `with`: each time they go on where the last time ended.

    The state is a buffer. So a module that has this as a part saves it with its weights, and a recomputation that puts
    buffers back (`Replay`) draws the same masks again.

    Args:
        stream: what the numbers follow from. Two streams are never in step.
        device: a GPU, where masks are drawn on one.
    """

    def __init__(self, stream: str, device: torch.device | None = None) -> None:
        super().__init__()
        self.device, self._outside = device or torch.device("cpu"), list[torch.Tensor]()
        seed = int.from_bytes(blake2b(stream.encode(), digest_size=4).digest())  # torch takes 32 bits
        for number, kind in enumerate(dict.fromkeys(("cpu", str(self.device)))):
            self.register_buffer(f"state_{number}", torch.Generator(kind).manual_seed(seed).get_state())

    def __enter__(self) -> None:
        if self._outside:
            raise RuntimeError("these random numbers are in use already: leave the inner `with` out")
        self._outside = random_states(self.device)
        set_random_states([state.cpu() for state in self.buffers()], self.device)

    def __exit__(self, *_: object) -> None:
        for kept, state in zip(self.buffers(), random_states(self.device), strict=True):
            kept.copy_(state)
        outside, self._outside = self._outside, []
        set_random_states(outside, self.device)


def random_of_rank(comm: Communicator, seed: int, *, same: bool, device: torch.device | None = None) -> RandomOfRank:
    """Random numbers for `with`, from `seed` alone (`same`) or from `seed` and the rank; outside nothing changes.

    Inside a tensor-parallel block every rank drops its own heads and hidden numbers, so masks must differ. Where every
    rank holds the same activations, masks must be the same, or the copies are copies no more. Where the sequence is cut
    over the ranks, they must differ again.

    Make one of each kind for the training, and enter it for each mask: it goes on where it was left. What is made anew
    from the same seed begins anew, with the same masks. `comm` is the tensor group: data ranks need seeds of their own.

    Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053, appendix B.2.

    >>> from course_lib import simulate
    >>> def draw(comm, same):
    ...     numbers = random_of_rank(comm, seed=1, same=same)
    ...     with numbers:
    ...         first = torch.rand(1).item()
    ...     with numbers:
    ...         return first, torch.rand(1).item()
    >>> len(set(simulate(draw, 2, args=(True,)).results)), len(set(simulate(draw, 2, args=(False,)).results))
    (1, 2)
    """
    return RandomOfRank(f"{seed}" if same else f"{seed} of rank {comm.rank}", device)
