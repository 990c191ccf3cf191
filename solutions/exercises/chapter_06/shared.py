"""What several exercises of chapter 6 use: schedules as lists of words."""

MANY = 12  # micro-batches, so that some have a number of two digits
TWO_DIGITS = 'The number of a micro-batch may have two digits: parts("F12") is ("F", 12)'


def words_of(schedule):
    """A schedule with a stage a rank as lists of words, as in [["F0", "B0"], ["F0", "B0"]]; rank r has stage r."""
    return [[f"{kind}{number}" for kind, _, number in operations] for operations in schedule.ranks]


def drawn_order(rng, stages, micro_batches):
    """Lists of words that can be carried out, in an order drawn at random, and so for each rank another."""
    words = [[] for _ in range(stages)]
    left = [[f"{kind}{number}" for kind in "FB" for number in range(micro_batches)] for _ in words]
    while any(left):
        rank = int(rng.choice([rank for rank, each in enumerate(left) if each]))
        word = str(rng.choice(left[rank]))
        kind, stage = word[0], rank + (1 if word[0] == "B" else -1)
        needs_other = 0 <= stage < stages and word not in words[stage]
        if not needs_other and (kind == "F" or f"F{word[1:]}" in words[rank]):
            left[rank].remove(word)
            words[rank].append(word)
    return words


def taken_apart(case, outcome):
    """A word that was unpacked into two, as `kind, number = word` does."""
    text = outcome.failure.text if outcome.failure else ""
    return f"{TWO_DIGITS}\n{text}" if "too many values to unpack" in text else None
