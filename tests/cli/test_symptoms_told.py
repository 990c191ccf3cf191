"""What people say or paste, in symptoms_told/: the row of its cause is among the three that are named.

A file there is called like the row's table. In it `# ` begins a row, or `nothing` what the page does not know, and
`\\n` stands for the end of a line.
"""

import re
from pathlib import Path

import pytest

from course_lib.cli.symptoms import fitting, read_rows

HERE = Path(__file__).parent
ROWS = read_rows((HERE.parents[1] / "notebooks" / "symptoms.md").read_text(encoding="utf-8"))
FILES = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob("symptoms_told/*.txt"))]
PARTS = [part for text in FILES for part in re.findall(r"^# (.+)\n((?:.+\n)+)", text, re.MULTILINE)]


@pytest.mark.parametrize(("begins", "text"), [(row, text) for row, texts in PARTS for text in texts.splitlines()])
def test_what_is_told_or_pasted_names_the_row_of_its_cause(begins: str, text: str) -> None:
    named = [match.row.sees for match in fitting(text.replace("\\n", "\n"), ROWS)]
    assert named == [] if begins == "nothing" else any(sees.startswith(begins) for sees in named), named
