def residual_plan(blocks):
    def from_block(i):
        """The plan from block i on, which begins and ends with value i - 1 held."""
        a, b = f"{i}a", f"{i}b"
        if i == blocks:
            return f"store {a}; store {b}; store {i}; free {a}; free {b}; free {i}; back {i}; back {b}; back {a}"
        there = f"run {a}; run {b}; free {a}; store {i}; free {b}; "
        again = f"; free {i}; store {a}; store {b}; free {a}; free {b}; back {i}; back {b}; back {a}"
        return there + from_block(i + 1) + again

    return from_block(1).split("; ")
