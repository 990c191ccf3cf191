"""Pre-flight check of a cluster before its first training: `torchrun ... -m course_lib check`.

- `find_place` says which rank this is and where all meet; `meet` goes there, with a time-out that names who is missing;
- `Facts` is what each rank says of itself: host, address, versions, device, limits;
- `probe` tries who reaches whom by plain TCP, and reads the clocks, before a process group is made;
- `measure_pairs`, `measure_all_reduce` and `measure_product` measure links, all-reduce and ranks;
- `judge` makes findings of all that, each with its row of the page of symptoms; `page_of` and `draw_checkup` show it.

On Gloo all of it is tested. On NCCL it is written as documented, and nobody has tried it.
"""

from course_lib.cluster_check.checkup import Checkup, check_up
from course_lib.cluster_check.facts import Facts, collect_facts
from course_lib.cluster_check.findings import NOTE, PROBLEM, CheckError, ClusterFinding
from course_lib.cluster_check.measure import (
    ProbeAnswer,
    ProbeServer,
    RankPair,
    expected_seconds,
    measure_all_reduce,
    measure_pairs,
    probe,
    rounds_of_pairs,
)
from course_lib.cluster_check.meeting import Meeting, MissingRanks, RankPlace, find_place, meet
from course_lib.cluster_check.page import draw_checkup, page_of
