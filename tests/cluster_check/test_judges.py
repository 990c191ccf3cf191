"""What is judged, on made-up ranks: what is found, what is not, and that every finding has its row of symptoms."""

import socket
from pathlib import Path

import pytest

from course_lib.cluster_check import (
    NOTE,
    PROBLEM,
    CheckError,
    Checkup,
    ClusterFinding,
    Facts,
    ProbeAnswer,
    ProbeServer,
    RankPair,
    RankPlace,
    draw_checkup,
    findings,
    probe,
    rounds_of_pairs,
)
from course_lib.cluster_check.facts import InterfaceAddress
from course_lib.cluster_check.judge import (
    judge_clocks,
    judge_facts,
    judge_pairs,
    judge_products,
    judge_reach,
    judge_sums,
)
from course_lib.cluster_check.meeting import find_place
from course_lib.published import Timing

PAGE = (Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8")


def fact(rank: int, machine: str = "a", **other: object) -> Facts:
    way = InterfaceAddress("eth0", f"10.0.0.{rank + 1}")
    sizes = {"open_files": 65536, "locked_bytes": -1, "shared_memory_bytes": 10**10, "cores": 8, "threads": 1}
    names = {"host": machine, "machine": machine, "versions": "Python 3.11, torch 2.13, Linux 6", "device": "CPU"}
    usual = {"rank": rank, "local_rank": 0, "local_world_size": 1, "pid": 100 + rank, "backend": "gloo"}
    return Facts(**(usual | names | sizes | {"address": way, "route": way, "interface_bits_per_s": 0.0} | other))


def pair(one: int, other: int, bytes_per_s: float) -> RankPair:
    return RankPair(one, other, [(size, 1e-5 + size / bytes_per_s) for size in (1_000, 1_000_000)])


@pytest.mark.parametrize(
    "name", [name for name, value in vars(findings).items() if name.isupper() and isinstance(value, str)]
)
def test_every_symptom_is_the_beginning_of_a_row_in_its_table(name: str) -> None:
    title, colon, cause = getattr(findings, name).partition(": ")
    assert not colon or f"| {cause}" in PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_ranks_of_one_kind_give_no_finding() -> None:
    facts = [fact(0), fact(1, "b"), fact(2, "c")]
    assert judge_facts(facts) == []
    answers = {(a, b): ProbeAnswer(1e-4, 1e-3) for a in range(3) for b in range(3) if a != b}
    assert judge_reach(answers, facts) == judge_clocks(answers, facts) == []
    pairs = [pair(0, 1, 1e9), pair(0, 2, 0.9e9), pair(1, 2, 1.1e9)]
    assert judge_pairs(pairs, facts) == judge_products([1e9, 0.9e9, 1e9], facts) == []
    assert judge_sums([Timing(1_000_000, 2e-3)], pairs, facts) == []


@pytest.mark.parametrize(
    ("changed", "words", "symptom"),
    [
        ({"open_files": 1024}, "rank 1 may open 1024 files", findings.LIMITS),
        ({"backend": "nccl", "locked_bytes": 8_388_608}, "rank 1 may lock 8.39 MB", findings.LIMITS),
        ({"backend": "nccl"}, "ranks chose other backends", findings.DEVICE),
        ({"shared_memory_bytes": 67_108_864}, "only 67.1 MB in /dev/shm: rank 1 ", findings.SHARED_MEMORY),
        ({"threads": 8, "local_world_size": 2}, "export OMP_NUM_THREADS=4", findings.THREADS),
        ({"backend": "gloo", "local_world_size": 9}, "rank 1: 9 ranks share 8 cores of b", findings.THREADS),
        ({"versions": "Python 3.11, torch 2.12, Linux 6"}, "versions differ", findings.VERSIONS),
        ({"address": InterfaceAddress("lo", "127.0.0.1")}, "export GLOO_SOCKET_IFNAME=eth0", findings.ADDRESS),
        (
            {"address": InterfaceAddress("eth7", "", "there is no interface 'eth7', but lo, eth0")},
            "no interface 'eth7'",
            findings.ADDRESS,
        ),
    ],
)
def test_what_one_rank_has_otherwise_is_found_once_with_its_row(changed, words, symptom) -> None:
    found = [each for each in judge_facts([fact(0), fact(1, "b", **changed)]) if words in each.words]
    assert [each.symptom for each in found] == [symptom]


def test_another_kernel_is_no_other_version() -> None:
    assert judge_facts([fact(0), fact(1, "b", versions="Python 3.11, torch 2.13, Linux 5")]) == []


def test_two_ranks_of_a_machine_on_one_gpu_are_found_and_on_two_machines_not() -> None:
    gpu = {"backend": "nccl", "device": "H100 uuid-1"}
    assert [one.symptom for one in judge_facts([fact(0, **gpu), fact(1, **gpu)])] == [findings.DEVICE]
    assert judge_facts([fact(0, **gpu), fact(1, "b", **gpu)]) == []


def test_who_is_not_reached_is_named_once_with_all_who_tried() -> None:
    facts = [fact(0), fact(1, "b"), fact(2, "c")]
    answers = {
        (0, 1): ProbeAnswer(trouble="refused"),
        (2, 1): ProbeAnswer(trouble="refused"),
        (1, 0): ProbeAnswer(1e-4),
    }
    [one] = judge_reach(answers, facts)
    assert one.words.startswith("ranks 0, 2 cannot reach rank 1 (b, process 101) at 10.0.0.2 (eth0) (refused)")


@pytest.mark.parametrize(("offset_s", "words"), [(2.0, "2 s ahead of"), (-0.5, "500 ms behind")])
def test_a_clock_apart_is_found_once_a_machine(offset_s, words) -> None:
    facts = [fact(0), fact(1, "b"), fact(2, "b")]
    [one] = judge_clocks({(0, 1): ProbeAnswer(1e-4, offset_s), (0, 2): ProbeAnswer(1e-4, offset_s)}, facts)
    assert f"the clock of b is {words} rank 0's" in one.words


def test_slow_links_have_the_machine_that_they_share() -> None:
    facts = [fact(0), fact(1, "b"), fact(2, "c"), fact(3, "d")]
    rates = {(0, 1): 1e9, (0, 2): 1e8, (0, 3): 1e9, (1, 2): 1e8, (1, 3): 1e9, (2, 3): 1e8}
    [one] = judge_pairs([pair(*ends, rate) for ends, rate in rates.items()], facts)
    assert one.words.startswith("3 of 6 links between machines are slow")
    assert one.words.endswith("all slow ones have machine c in common")
    rates |= {(0, 2): 1e9, (2, 3): 1e9, (0, 3): 1e8}
    [one] = judge_pairs([pair(*ends, rate) for ends, rate in rates.items()], facts)
    assert "in common" not in one.words


def test_one_slow_link_between_machines_whose_others_are_fast_blames_neither_of_them() -> None:
    facts = [fact(0), fact(1, "b"), fact(2, "c")]
    [one] = judge_pairs([pair(0, 1, 1e8), pair(0, 2, 1e9), pair(1, 2, 1e9)], facts)
    assert one.words.startswith("1 of 3 links between machines are slow; the slowest, a (rank 0) to b (rank 1),")
    assert "in common" not in one.words


def test_two_machines_are_held_against_what_their_interface_says_and_against_one_machine() -> None:
    facts = [fact(0, interface_bits_per_s=1e11), fact(1, "b", interface_bits_per_s=1e11)]
    [one] = judge_pairs([pair(0, 1, 1e9)], facts)
    assert "the interface eth0 says 12.5 GB/s" in one.words
    facts = [fact(0), fact(1), fact(2, "b")]
    [one] = judge_pairs([pair(0, 1, 1e11), pair(0, 2, 1e9), pair(1, 2, 1e9)], facts)
    assert "within a machine" in one.words


def test_an_all_reduce_is_held_against_the_ring_but_for_gloo_within_one_machine() -> None:
    pairs, slow = [pair(0, 1, 1e9)], [Timing(1_000_000, 1.0)]
    [one] = judge_sums(slow, pairs, [fact(0), fact(1, "b")])
    assert "takes 1 s" in one.words
    assert judge_sums(slow, pairs, [fact(0), fact(1)]) == []


def test_the_slowest_to_compute_is_named() -> None:
    [one] = judge_products([1e9, 0.5e9, 1e9], [fact(0), fact(1), fact(2)])
    assert one.words.startswith("slow to compute: rank 1. The slowest, rank 1 (a, process 101), makes 0.5 billion")


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 9])
def test_a_tournament_has_every_pair_once_and_nobody_twice_in_a_round(ranks) -> None:
    rounds = list(rounds_of_pairs(ranks))
    pairs = [each for one in rounds for each in one]
    assert sorted(pairs) == [(a, b) for a in range(ranks) for b in range(a + 1, ranks)]
    for one in rounds:
        assert len({rank for each in one for rank in each}) == 2 * len(one)


def test_a_probe_server_says_its_name_and_its_clock_is_ours() -> None:
    server = ProbeServer("127.0.0.1", b"a" * 16)
    answer = probe("127.0.0.1", server.port, b"a" * 16)
    assert answer.trouble == ""
    assert abs(answer.clock_offset_s) <= answer.seconds / 2
    assert probe("127.0.0.1", server.port, b"b" * 16).trouble == "somebody else answers there"
    server.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "refused" in probe("127.0.0.1", port, b"a" * 16).trouble


NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")

SLURM = (
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
)
SLURM = (*SLURM, "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NUM_TASKS")


@pytest.fixture(autouse=True)
def nobody_started_us(monkeypatch) -> None:
    for name in (*NAMES, "TORCHELASTIC_USE_AGENT_STORE", *SLURM):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variables", "options", "place"),
    [
        ({}, (), (0, 1, 0, 1, "127.0.0.1", 0, True, "nobody")),
        ({"RANK": 1, "WORLD_SIZE": 4, "MASTER_ADDR": "m"}, (), (1, 4, 1, 4, "m", 29500, False, "RANK and WORLD_SIZE")),
        ({"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "m"}, ("n:7",), (0, 2, 0, 2, "n", 7, True, "RANK and WORLD_SIZE")),
        ({"SLURM_PROCID": 5, "SLURM_NTASKS": 8, "SLURM_LOCALID": 1}, ("n",), (5, 8, 1, 2, "n", 29500, False, "Slurm")),
        ({}, ("127.0.0.1:9", 3), (0, 3, 0, 1, "127.0.0.1", 9, True, "--nnodes")),
        ({}, ("192.0.2.77:9", 3), (None, 3, 0, 1, "192.0.2.77", 9, False, "--nnodes")),
        ({}, ("192.0.2.77:9", 3, 2), (2, 3, 0, 1, "192.0.2.77", 9, False, "--nnodes")),
    ],
)
def test_a_place_is_read_off_what_started_the_rank(monkeypatch, variables, options, place) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    assert find_place(*options) == place


@pytest.mark.parametrize(
    ("step", "here"),
    [
        ("2", [2]),
        ("2(x3)", [2, 2, 2]),
        ("2(x3),1", [2, 2, 2, 1]),
        ("1(x2),4,2(x2)", [1, 1, 4, 2, 2]),
        ("", [2, 2]),  # the job's number, where nothing is said of the step
    ],
)
def test_every_rank_of_a_slurm_step_finds_the_same_number_on_its_machine(monkeypatch, step, here) -> None:
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2" if not step else "8")
    monkeypatch.setenv("SLURM_NTASKS", str(sum(here)))
    if step:
        monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", step)
        monkeypatch.setenv("SLURM_TASKS_PER_NODE", "8(x5)")
    for node, count in enumerate(here):
        for local_rank in range(count):
            named = {"PROCID": sum(here[:node]) + local_rank, "LOCALID": local_rank, "NODEID": node}
            for name, value in named.items():
                monkeypatch.setenv(f"SLURM_{name}", str(value))
            assert find_place("n")[:4] == (named["PROCID"], sum(here), local_rank, count)


def test_a_rank_that_knows_no_meeting_place_says_so_with_the_row(monkeypatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(CheckError, match="set MASTER_ADDR and MASTER_PORT") as caught:
        find_place()
    assert [one.symptom for one in caught.value.findings] == [findings.RANKS]
    monkeypatch.delenv("RANK")
    for name, value in {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CheckError, match="Slurm made this rank 1 of 2, and nobody says where they meet"):
        find_place()
    assert str(ClusterFinding("note", "words", "row")) == "note: words\n    See symptoms.md, row"


@pytest.mark.parametrize("options", [("host:port", 2), ("host:1", 2, 2), ("host:1", 2, -1)])
def test_numbers_that_cannot_be_are_refused(options) -> None:
    with pytest.raises(ValueError, match="got"):
        find_place(*options)


def checkup(*found: ClusterFinding) -> Checkup:
    place = RankPlace(0, 3, 0, 3, "10.0.0.1", 29500, True, "torchrun")
    pairs = [pair(0, 1, 1e9), pair(0, 2, 0.9e9), pair(1, 2, 1.1e9)]
    return Checkup(place, pairs=pairs, sums=[Timing(10**6, 2e-3)], products=[1e9, 2e9, 3e9], findings=list(found))


def test_the_picture_has_its_verdict_on_top_the_grave_first_and_all_of_it_in_view() -> None:
    found = [
        ClusterFinding(NOTE, "rank 2 computes slowly " * 9, "x"),
        ClusterFinding(PROBLEM, "rank 1 is not reached", "x"),
    ]
    picture = draw_checkup(checkup(*found))
    picture.draw_without_rendering()
    title = picture._suptitle
    first, second, *others = title.get_text().split("\n")
    assert first == "Found: 2, of them 1 that keep a training from starting"
    assert second == "problem: rank 1 is not reached"
    assert others[0].startswith("note: rank 2")
    box = title.get_window_extent()
    assert box.x1 <= picture.bbox.x1
    assert box.y0 >= max(axes.get_tightbbox().y1 for axes in picture.axes)
    assert "of them 1" in picture.alt


def test_a_picture_of_many_findings_names_the_page_for_the_rest() -> None:
    picture = draw_checkup(checkup(*[ClusterFinding(NOTE, f"finding {n}", "x") for n in range(20)]))
    lines = picture._suptitle.get_text().split("\n")
    assert (len(lines), lines[-1]) == (9, "… and more, on the page of text")
    assert draw_checkup(checkup())._suptitle.get_text() == "Nothing was found that is not as it should be."


def test_the_picture_names_rates_with_their_units_as_the_table_does():
    picture = draw_checkup(checkup())
    axes = next(axes for axes in picture.axes if axes.get_ylabel() == "bus bandwidth")
    assert axes.yaxis.get_major_formatter()(1e8, 0) == "100 MB/s"


def test_no_point_lies_under_the_legend() -> None:
    picture = draw_checkup(checkup())
    picture.draw_without_rendering()
    [axes] = [axes for axes in picture.axes if axes.get_legend()]
    assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0
