"""Data parallelism: every rank trains the whole model on its part of each batch."""

from course_lib.data_parallel.async_gossip import AsyncGossipRun, SharedRow, keep_averaging, train_with_async_gossip
from course_lib.data_parallel.averaging import average_gradients, average_gradients_in_buckets, batch_share
from course_lib.data_parallel.balance import BalancedStep, shares_by_speed, slowest_rank_s, train_balanced
from course_lib.data_parallel.batch_norm import SyncBatchNorm, synchronize_batch_norm
from course_lib.data_parallel.batch_statistics import (
    VARIANCE_WAYS,
    Scatter,
    expected_scatter,
    running_weight,
    statistics_scatter,
    train_with_batch_norm,
    variance_parts,
)
from course_lib.data_parallel.buckets import BUCKET_BYTES, Bucket, bucket_plan
from course_lib.data_parallel.digits_task import accuracy, digits_model, scores
from course_lib.data_parallel.gossip import (
    GossipRun,
    gossip_factor,
    gossip_round,
    mixing_matrix,
    rounds_to_agree,
    train_with_gossip,
)
from course_lib.data_parallel.local_sgd import (
    LocalRun,
    average_parameters,
    average_states,
    digit_batches,
    drift,
    train_local_sgd,
)
from course_lib.data_parallel.overlap import DataParallel
from course_lib.data_parallel.recurrent import (
    CharacterModel,
    encode,
    parallel_streams,
    time_split_gradient,
    train_on_streams,
    windows,
)
from course_lib.data_parallel.redundancy import RedundantRun, expected_step_s, random_seconds, train_redundantly
from course_lib.data_parallel.sharding import (
    Shard,
    epoch_order,
    epoch_shards,
    global_batches,
    part_lengths,
    split_batch,
)
from course_lib.data_parallel.state import DisagreementError, broadcast_state, check_agreement, state_hash
from course_lib.data_parallel.step import LayerCost, StepTimeline, Stretch, equal_layers, step_timeline
from course_lib.data_parallel.timed import timed, timed_model, timed_step
from course_lib.data_parallel.zero_gradients import ShardedGradients
from course_lib.data_parallel.zero_memory import (
    FP32_ADAM,
    FP32_MOMENTUM,
    MIXED_ADAM,
    BytesPerParameter,
    Held,
    Moment,
    elements_held,
    memory_moments,
    zero_bytes,
    zero_elements_sent,
    zero_parts,
)
from course_lib.data_parallel.zero_optimizer import ShardedOptimizer
from course_lib.data_parallel.zero_parameters import ZERO_STAGES, ShardedParameters
from course_lib.data_parallel.zero_unit import Unit

__all__ = [
    "accuracy",
    "AsyncGossipRun",
    "average_gradients",
    "average_gradients_in_buckets",
    "average_parameters",
    "average_states",
    "BalancedStep",
    "batch_share",
    "broadcast_state",
    "Bucket",
    "BUCKET_BYTES",
    "bucket_plan",
    "BytesPerParameter",
    "CharacterModel",
    "check_agreement",
    "DataParallel",
    "digit_batches",
    "digits_model",
    "DisagreementError",
    "drift",
    "elements_held",
    "encode",
    "epoch_order",
    "epoch_shards",
    "equal_layers",
    "expected_scatter",
    "expected_step_s",
    "FP32_ADAM",
    "FP32_MOMENTUM",
    "global_batches",
    "gossip_factor",
    "gossip_round",
    "GossipRun",
    "Held",
    "keep_averaging",
    "LayerCost",
    "LocalRun",
    "memory_moments",
    "MIXED_ADAM",
    "mixing_matrix",
    "Moment",
    "parallel_streams",
    "part_lengths",
    "random_seconds",
    "RedundantRun",
    "rounds_to_agree",
    "running_weight",
    "Scatter",
    "scores",
    "Shard",
    "ShardedGradients",
    "ShardedOptimizer",
    "ShardedParameters",
    "SharedRow",
    "shares_by_speed",
    "slowest_rank_s",
    "split_batch",
    "state_hash",
    "statistics_scatter",
    "step_timeline",
    "StepTimeline",
    "Stretch",
    "SyncBatchNorm",
    "synchronize_batch_norm",
    "time_split_gradient",
    "timed",
    "timed_model",
    "timed_step",
    "train_balanced",
    "train_local_sgd",
    "train_on_streams",
    "train_redundantly",
    "train_with_async_gossip",
    "train_with_batch_norm",
    "train_with_gossip",
    "Unit",
    "variance_parts",
    "VARIANCE_WAYS",
    "windows",
    "zero_bytes",
    "zero_elements_sent",
    "zero_parts",
    "ZERO_STAGES",
]
