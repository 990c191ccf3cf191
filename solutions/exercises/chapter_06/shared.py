"""What several exercises of chapter 6 use: schedules as lists of words."""

MANY = 12  # micro-batches, so that some have a number of two digits
TWO_DIGITS = 'The number of a micro-batch may have two digits: parts("F12") is ("F", 12)'


def words_of(schedule):
    """A schedule with a stage a rank as lists of words, as in [["F0", "B0"], ["F0", "B0"]]; rank r has stage r."""
    return [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]


def taken_apart(case, outcome):
    """A word that was unpacked into two, as `kind, number = word` does."""
    text = outcome.failure.text if outcome.failure else ""
    return f"{TWO_DIGITS}\n{text}" if "too many values to unpack" in text else None
