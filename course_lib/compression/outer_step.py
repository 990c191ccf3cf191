"""Average less often: each site takes steps of its own, then one outer step follows what all of them changed.

site 0    s s s s s s s s │         s s s s s s s s │         inner steps: no message
site 1    s s s s s s s s │ outer   s s s s s s s s │ outer   one all-reduce of a row as long as the parameters
site 2    s s s s s s s s │         s s s s s s s s │
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator


class OuterStep:
    """DiLoCo's outer step: what the sites changed, seen as a gradient, and SGD with Nesterov's momentum on it.

    With a rate of 1 and no momentum it is local SGD: everybody gets the mean of all parameters.

    Attributes:
        common: the parameters from which all sites took their last inner steps, in one row.
        velocity: the sum of all outer gradients so far, those of k steps ago times momentum to the k.
        gradient: the last outer gradient, the mean of what the sites changed, with the sign turned.

    Cost: one all-reduce of the parameters; the three rows are memory of each rank, beside the inner optimizer's.
    Source: A. Douillard et al., "DiLoCo: distributed low-communication training of language models", arXiv 2311.08105
    (rate 0.7, momentum 0.9, inner steps by AdamW).
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        rate: float = 0.7,
        momentum: float = 0.9,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        """Begin at the module's parameters, which must be the same on all ranks.

        Args:
            module: whose parameters the inner steps change; all of one dtype.
            rate: of the outer step.
            momentum: 0 for none.
            all_reduce: leaves in a row the sum of all ranks' rows; a compressed one fits, too.

        Raises:
            ValueError: unless 0 < rate and 0 <= momentum < 1.
        """
        if not (rate > 0 and 0 <= momentum < 1):
            raise ValueError(f"rate must be more than 0 and momentum from 0 to below 1, got {rate} and {momentum}")
        self.module, self.all_reduce = module, all_reduce
        self.rate, self.momentum = rate, momentum
        self.common = parameters_to_vector(module.parameters()).detach().clone()
        self.velocity = torch.zeros_like(self.common)
        self.gradient = torch.empty_like(self.common)  # the same memory in each step, as compressors want it

    def __call__(self, comm: Communicator) -> bool:
        """Leave the same new parameters on every rank, from which all go on; whether the step was taken.

        Where a site's parameters overflowed, all go on from the parameters before the inner steps, and nothing is kept
        of it.
        """
        own = parameters_to_vector(self.module.parameters()).detach()
        self.gradient.copy_((self.common - own) / comm.world_size)  # uphill, as gradients point
        self.all_reduce(comm, self.gradient)
        taken = bool(self.gradient.isfinite().all())
        if taken:
            self.velocity = self.momentum * self.velocity + self.gradient
            self.common = self.common - self.rate * (self.gradient + self.momentum * self.velocity)
        vector_to_parameters(self.common.clone(), self.module.parameters())
        return taken
