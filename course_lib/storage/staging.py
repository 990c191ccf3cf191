"""Copy the data to every node first, or read them from the central storage in every epoch?"""

from __future__ import annotations

import math

from course_lib.checks import at_least, positive

__all__ = ["epochs_until_staging_pays", "staging_seconds"]


def staging_seconds(
    dataset_bytes: float, nodes: int, *, storage_bytes_per_s: float, link_bytes_per_s: float, whole: bool = True
) -> float:
    """Time until every node has its copy, all of them copying at once.

    Args:
        whole: each node takes everything; else 1/nodes of it.

    >>> staging_seconds(300e9, 10, storage_bytes_per_s=10e9, link_bytes_per_s=3e9)
    300.0
    >>> staging_seconds(300e9, 10, storage_bytes_per_s=10e9, link_bytes_per_s=3e9, whole=False)
    30.0
    """
    at_least(1, nodes=nodes)
    positive(storage_bytes_per_s=storage_bytes_per_s, link_bytes_per_s=link_bytes_per_s)
    copy_bytes = dataset_bytes if whole else dataset_bytes / nodes
    return max(nodes * copy_bytes / storage_bytes_per_s, copy_bytes / link_bytes_per_s)


def epochs_until_staging_pays(staging_s: float, remote_epoch_s: float, local_epoch_s: float) -> int | None:
    """The fewest epochs after which staging and reading locally took less time than reading remotely; None: never.

    >>> epochs_until_staging_pays(300, remote_epoch_s=400, local_epoch_s=300)
    4
    """
    gain_s = remote_epoch_s - local_epoch_s
    return math.floor(staging_s / gain_s) + 1 if gain_s > 0 else None
