"""What a page claims, each sentence held by the cell that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

__all__ = ["Claims", "show_claims"]


class Claims:
    """Sentences that hold, one a line."""

    def __init__(self, sentences: list[str]) -> None:
        self.sentences = sentences

    def __repr__(self) -> str:
        return "\n".join(f"✓ {sentence}" for sentence in self.sentences)

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        return f"<ul style=\"list-style-type:'✓ '\">{lines}</ul>"


def show_claims(claims: Mapping[str, object]) -> Claims:
    """The sentences of a page that hold, to leave as the last line of a cell.

    Args:
        claims: sentence -> whether it holds.

    Raises:
        AssertionError: if one does not; all of them are named.

    >>> show_claims({"a ring of 4 takes 6 steps": 2 * (4 - 1) == 6, "answer 2: 12 GB": round(11.96) == 12})
    ✓ a ring of 4 takes 6 steps
    ✓ answer 2: 12 GB
    """
    wrong = [sentence for sentence, holds in claims.items() if not holds]
    if wrong:
        raise AssertionError(f"does not hold: {'; '.join(wrong)}")
    return Claims(list(claims))
