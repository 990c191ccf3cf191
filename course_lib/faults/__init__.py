"""When machines fail: what to save, how often, and what the others do meanwhile.

In the order of the page: all that a training's next step depends on; files that are whole or absent, and a folder of
them; trainings that are killed and go on; how often to save, and how often large trainings failed; saving beside the
training, and in shards; torchrun's restart with fewer ranks. `delivery` gets messages through a wire that loses them;
`experiments` has what only the page measures.
"""

from course_lib.faults.atomic import DamagedFileError, read_checked, seal, sync_folder, unseal, write_atomically
from course_lib.faults.background import BackgroundSaver, async_stall_s, snapshot
from course_lib.faults.checkpoints import Checkpoints, common_step
from course_lib.faults.data_order import DataOrder
from course_lib.faults.elastic import ElasticRun, ElasticStep, elastic_run
from course_lib.faults.generators import GENERATORS, Generator, random_states, restore_random_states
from course_lib.faults.interval import (
    RunStretch,
    SimulatedRun,
    best_interval_s,
    daly_interval_s,
    first_order_interval_s,
    simulate_run,
    waste,
    young_interval_s,
)
from course_lib.faults.kills import KilledTraining, Life, kill_later, kill_training, live
from course_lib.faults.published import (
    LLAMA_3,
    LLAMA_3_CAUSES,
    META_CLUSTERS,
    META_JOB_MTTF_H,
    META_PROJECTED_MTTF_H,
    OPT_175B,
    FailedTraining,
    job_mtbf_s,
    meta_training_share,
)
from course_lib.faults.shards import Piece, load_shards, load_zero, own_range, pieces_to_read, save_shards, save_zero
from course_lib.faults.training import Training

__all__ = [
    "DataOrder",
    "GENERATORS",
    "Generator",
    "random_states",
    "restore_random_states",
    "Training",
    "DamagedFileError",
    "seal",
    "unseal",
    "write_atomically",
    "sync_folder",
    "read_checked",
    "Checkpoints",
    "common_step",
    "Life",
    "KilledTraining",
    "kill_later",
    "live",
    "kill_training",
    "young_interval_s",
    "first_order_interval_s",
    "daly_interval_s",
    "best_interval_s",
    "waste",
    "RunStretch",
    "SimulatedRun",
    "simulate_run",
    "FailedTraining",
    "LLAMA_3",
    "LLAMA_3_CAUSES",
    "OPT_175B",
    "META_CLUSTERS",
    "META_JOB_MTTF_H",
    "META_PROJECTED_MTTF_H",
    "job_mtbf_s",
    "meta_training_share",
    "snapshot",
    "async_stall_s",
    "BackgroundSaver",
    "Piece",
    "own_range",
    "pieces_to_read",
    "save_shards",
    "load_shards",
    "save_zero",
    "load_zero",
    "ElasticStep",
    "ElasticRun",
    "elastic_run",
]
