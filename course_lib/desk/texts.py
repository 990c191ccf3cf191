"""Texts that a user gives, in whatever encoding an editor, a shell or a spreadsheet wrote them."""

from __future__ import annotations

import codecs
import re

__all__ = ["NoText", "text_of"]

MARKS = (  # the longer ones first: UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE = 4096
CONTROL = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")  # in no text; bells, tabs and colors are
MOST_CONTROL = 0.05
MOST_LETTERS = 0.7


class NoText(ValueError):
    """These bytes are no text; says so."""


def text_of(data: bytes, begins: bytes = b"") -> str:
    r"""The text that these bytes are: UTF-8, UTF-16 or UTF-32, with a mark or without, else Windows' Latin letters.

    Args:
        begins: the first bytes of the file, if `data` is only its end: there stands its mark.

    Raises:
        NoText: if they are something else, such as an archive.

    >>> text_of("Zoë".encode("utf-16")), text_of(b"Zo\xeb"), text_of("Zoë".encode("utf-8-sig"))
    ('Zoë', 'Zoë', 'Zoë')
    """
    text = _decoded(data, _encoding(begins or data, data)).replace("\0", "").removeprefix("\ufeff")
    if len(CONTROL.findall(text)) > MOST_CONTROL * len(text):
        raise NoText("this is no text, as an archive or a picture is none")
    return text


def _encoding(begins: bytes, data: bytes) -> str:
    """What the mark says; without one, what zero bytes tell: every second one is, where Latin letters have two."""
    for mark, encoding in MARKS:
        if begins.startswith(mark):
            return encoding
    sample = data[:SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > MOST_LETTERS * len(sample) / 2 and min(even, odd) < len(sample) / 16:
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8"


def _decoded(data: bytes, encoding: str) -> str:
    if encoding != "utf-8":
        return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if not data[: error.start].isascii():  # letters of UTF-8 came before: one is odd, or cut in two
            return data.decode(errors="replace")
        return data.decode("cp1252", "replace")
