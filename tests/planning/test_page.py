"""docs/planning.md says what the model and the command say."""

import re
from pathlib import Path
from statistics import median

from course_lib.mesh import A100_CLUSTER, H100_CLUSTER, MOSAIC_2023, ring_s, step_time
from course_lib.planning import CLUSTERS, band_of, misses, titan_memory

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")


def test_the_table_is_every_row_that_the_band_rests_on() -> None:
    expected = [f"| {gpu.upper()} | {m.source} | {m.what} | {m.ratio:.2f} |" for gpu in CLUSTERS for m in misses(gpu)]
    assert re.findall(r"^\| [AH]100 .*$", PAGE, re.MULTILINE) == expected


def test_its_sentences_have_the_bands_ends() -> None:
    a100, h100 = (band_of(misses(gpu)) for gpu in ("a100", "h100"))
    text = " ".join(PAGE.split())
    assert f"took from {1 - a100.least:.0%} less to {a100.most - 1:.0%} more time than the model gives" in text
    assert f"on H100s from {1 - h100.least:.0%} less to {h100.most - 1:.0%} more" in text
    needed, said = titan_memory()
    assert f"took {said / 1e9:.0f} GB of a GPU in torchtitan, and the formulas give {needed / 1e9:.0f}" in text


def test_it_says_how_many_rows_are_how_near_and_which_are_the_worst() -> None:
    found = [miss for gpu in CLUSTERS for miss in misses(gpu)]
    errors = [abs(1 / miss.ratio - 1) for miss in found]
    text = " ".join(PAGE.split())
    assert f"within 10% of {sum(error <= 0.1 for error in errors)} rows" in text
    assert f"within 20% of {sum(error <= 0.2 for error in errors)}" in text
    assert f"half of the rows are missed by less than {median(errors):.1%}" in text
    worst = sorted(found, key=lambda miss: miss.ratio)[-2:]
    assert {miss.what for miss in worst} == {"29.98 B, 8 GPUs, 8,192 tokens, FSDP"}
    llama = [miss.ratio for miss in found if "Llama" in miss.source]
    assert f"took {min(llama) - 1:.0%} to {max(llama) - 1:.0%} longer" in text


def test_it_says_what_chapter_13s_model_alone_would_miss() -> None:
    ratios = []
    for row in MOSAIC_2023:
        cluster = {"a100": A100_CLUSTER, "h100": H100_CLUSTER}[row.gpu]
        seconds = row.batch * row.shape.sequence / row.plan.devices / row.tokens_per_s
        ratios.append(seconds / step_time(row.shape, row.plan, cluster, row.batch).seconds)
    assert f"between {1 - min(ratios):.0%} too slow and {max(ratios) - 1:.0%} too fast" in " ".join(PAGE.split())


def test_the_constant_cost_of_a_micro_batch_is_near_what_fsdp_sends() -> None:
    few, many = (
        next(row for row in MOSAIC_2023 if row.gpu == "h100" and row.billions == 29.98 and row.plan.micro_batch == size)
        for size in (3, 10)
    )
    tokens = [row.plan.micro_batch * row.shape.sequence for row in (few, many)]
    seconds = [count / row.tokens_per_s for count, row in zip(tokens, (few, many), strict=True)]
    constant_s = seconds[0] - tokens[0] * (seconds[1] - seconds[0]) / (tokens[1] - tokens[0])
    three_s = 3 * ring_s(2 * few.shape.parameters, 8, 1, H100_CLUSTER) / 2
    text = " ".join(PAGE.split())
    assert f"took {seconds[0]:.2f} s for a micro-batch of {tokens[0]:,} tokens" in text
    assert f"{seconds[1]:.2f} s for {tokens[1]:,}" in text
    assert f"has {constant_s:.1f} s for no tokens" in text
    assert f"take {three_s:.1f} s on those links" in text
