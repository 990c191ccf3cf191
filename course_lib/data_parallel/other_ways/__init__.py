"""Other ways to share the work: local SGD, gossip averaging, load balancing, redundancy, recurrent networks."""

from course_lib.data_parallel.other_ways.gossip import (
    SharedRow,
    gossip_factor,
    gossip_round,
    keep_averaging,
    rounds_to_agree,
    train_with_gossip,
)
from course_lib.data_parallel.other_ways.local_sgd import average_parameters, drift, part_batches, train_local_sgd
from course_lib.data_parallel.other_ways.recurrent import (
    CharacterModel,
    parallel_streams,
    time_split_gradient,
    train_on_streams,
    windows,
)
from course_lib.data_parallel.other_ways.stragglers import (
    expected_step_s,
    random_seconds,
    slowest_rank_s,
    train_balanced,
    train_redundantly,
)
