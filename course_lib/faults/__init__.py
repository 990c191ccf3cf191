"""When machines fail: what to save, how often, and what the others do meanwhile.

In the order of the page: all that a training's next step depends on; files that are whole or absent, and a folder of
them; how often to save, and how often large trainings failed; saving beside the training, to a neighbor's memory, and
in shards. `delivery` gets messages through a wire that loses them; `experiments` kills trainings, flips bits, and has
what else only the page measures.
"""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.faults.training import DataOrder, random_states, restore_random_states, Training
from course_lib.files import write_atomically
from course_lib.faults.checkpoint_files import DamagedFileError, read_checked, seal, unseal
from course_lib.faults.checkpoints import Checkpoints, common_step
from course_lib.faults.interval import (
    RunStretch,
    best_interval_s,
    daly_interval_s,
    failure_cost_s,
    first_order_interval_s,
    simulate_run,
    waste,
    young_interval_s,
)
from course_lib.faults.published import (
    LLAMA_3,
    LLAMA_3_CAUSES,
    META_CLUSTERS,
    META_JOB_MTTF_H,
    META_PROJECTED_MTTF_H,
    OPT_175B,
    FailedTraining,
    job_mtbf_s,
)
from course_lib.faults.background import BackgroundSaver, async_stall_s, snapshot
from course_lib.faults.neighbors import NeighborCopy, lost_share
from course_lib.faults.shards import load_shards, pieces_to_read, save_shards, load_zero, save_zero
