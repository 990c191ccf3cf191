"""Pipeline parallelism: the layers of a model on several ranks, one after the other, and who works when.

A schedule as data, in words, and its check; the schedules of the literature, those in the shape of a V
and those of two passes in one call; when each operation happens; the schedule that fits a memory; the executor that
carries out any of them, and what it holds meanwhile; the small GPT in stages and smaller stages of whole
numbers; what others measured.
"""

from course_lib.pipeline.channels import Inbox, Outbox, receiver_of, sends_to, taken_before
from course_lib.pipeline.executor import HeldActivations, PipelineRank, run_schedule
from course_lib.pipeline.published import GPIPE_THROUGHPUT, ZERO_BUBBLE_RATES, BubbleRates
from course_lib.pipeline.schedule import (
    Operation,
    Schedule,
    ScheduleError,
    check_order,
    check_schedule,
    from_words,
    inputs_of,
    peak_in_flight,
    play_schedule,
    words_of,
)
from course_lib.pipeline.schedules import (
    SCHEDULES,
    all_v,
    alternating,
    breadth_first,
    gpipe,
    idles_least,
    interleaved,
    known_schedules,
    one_at_a_time,
    one_forward_one_backward,
    zero_bubble_h1,
    zero_bubble_h2,
)
from course_lib.pipeline.stages import (
    GPTStage,
    equal_to_one_process,
    gpt_stages,
    sum_tied_gradients,
    whole_number_batch,
    whole_number_stage,
)
from course_lib.pipeline.timing import (
    OperationTimes,
    PipelineTimeline,
    Timed,
    pipeline_timeline,
    recorded_timeline,
    textbook_bubble,
)
from course_lib.pipeline.v_shaped import block_ticks, dual_pipe, dual_pipe_v, filled_v, v_half, v_min, zero_bubble_v
