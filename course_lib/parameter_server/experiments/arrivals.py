"""How long a policy needs on given machines: the virtual second at which the loss is first below a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from course_lib.checks import at_least
from course_lib.parameter_server.experiments.training import History, train
from course_lib.parameter_server.policies import Policy

__all__ = ["Needed", "time_to_loss", "train_to_loss"]

UNTIL_S = 13.0


class Needed(NamedTuple):
    """What several runs needed.

    Attributes:
        seconds: the median of their times; infinite if more than half of them did not arrive.
        oldest: the largest staleness of a gradient that one of them used.
    """

    seconds: float
    oldest: int


def time_to_loss(policy: Policy, *, loss: float = 0.2, seeds: Sequence[int] = range(5), **setting: Any) -> Needed:
    """The median over seeds of the virtual time at which the loss on all training images is first below `loss`.

    Everybody's loss is looked at every tenth of a second: whoever updates more often is not looked at more often.
    Whoever is not there after 13 virtual seconds does not arrive. `setting`: what else `train` takes, such as workers,
    speeds and rate.

    Cost: that of `train` for each seed; a run that is there in the first third is not trained to its end.

    Raises:
        ValueError: if there is no seed.

    >>> from course_lib.parameter_server import synchronous
    >>> from course_lib.parameter_server.experiments import Speeds
    >>> time_to_loss(synchronous(8), workers=8, rate=8, speeds=Speeds(0.1, 0.1), seeds=[0])
    Needed(seconds=2.8, oldest=0)
    """
    at_least(1, seeds=len(seeds))
    runs = [train_to_loss(policy, loss=loss, seed=seed, **setting) for seed in seeds]
    oldest = max(max(history.staleness, default=0) for history in runs)
    return Needed(median(history.seconds_to(loss) for history in runs), oldest)


def train_to_loss(policy: Policy, *, loss: float = 0.2, until_s: float = UNTIL_S, **setting: Any) -> History:
    """A run that goes on until its loss has been below `loss`, or for 13 virtual seconds.

    A shorter run is the beginning of a longer one, so a third of the time is tried first.
    """
    until: dict[str, Any] = {"updates": math.inf, "every_s": 0.1}
    history = train(policy, **setting, **until, seconds=until_s / 3)
    return history if history.seconds_to(loss) < math.inf else train(policy, **setting, **until, seconds=until_s)
