"""docs/planning.md says what the model and the command say."""

import re
from pathlib import Path

from course_lib.planning import CLUSTERS, band_of, misses, titan_memory

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")


def test_the_table_is_every_row_that_the_band_rests_on() -> None:
    expected = [f"| {gpu.upper()} | {m.source} | {m.what} | {m.ratio:.2f} |" for gpu in CLUSTERS for m in misses(gpu)]
    assert re.findall(r"^\| [AH]100 .*$", PAGE, re.MULTILINE) == expected


def test_its_sentences_have_the_bands_ends() -> None:
    a100, h100 = (band_of(misses(gpu)) for gpu in ("a100", "h100"))
    text = " ".join(PAGE.split())
    assert f"took from {1 - a100.least:.0%} less to {a100.most - 1:.0%} more time than the model gives" in text
    assert f"on H100s always more, by {h100.least - 1:.0%} to {h100.most - 1:.0%}" in text
    needed, said = titan_memory()
    assert f"took {said / 1e9:.0f} GB of a GPU in torchtitan, and the formulas give {needed / 1e9:.0f}" in text


def test_a_band_of_two_sources_would_have_held_two_rows_of_the_third() -> None:
    found = misses("h100")
    others = band_of([miss for miss in found if "Mosaic" not in miss.source])
    mosaic = [miss for miss in found if "Mosaic" in miss.source]
    inside = sum(others.least <= miss.ratio <= others.most for miss in mosaic)
    assert f"would have held {inside} of MosaicML's {len(mosaic)} rows on H100" in " ".join(PAGE.split())
