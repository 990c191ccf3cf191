# %% right: last_block_first
def residual_plan(blocks):
    there, back = [], []
    for i in range(1, blocks + 1):
        a, b = f"{i}a", f"{i}b"
        if i < blocks:
            there += [f"run {a}", f"run {b}", f"store {i}", f"free {a}", f"free {b}"]
            again = [f"store {a}", f"store {b}", f"free {a}", f"free {b}"]
        else:
            again = [f"store {a}", f"store {b}", f"store {i}", f"free {a}", f"free {b}", f"free {i}"]
        back = again + [f"free {i - 1}", f"back {i}", f"back {b}", f"back {a}"] + back
    return there + back


# %% right: recursive
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


# %% wrong: from_the_input
def residual_plan(blocks):
    plan = []
    for last in range(blocks, 0, -1):
        for i in range(1, last):
            plan += [f"run {i}a", f"run {i}b", f"free {i}a", f"run {i}", f"free {i}b"]
            plan += [f"free {i - 1}"] * (i > 1)
        plan += [f"store {last}a", f"store {last}b", f"store {last}", f"free {last}a", f"free {last}b", f"free {last}"]
        plan += [f"free {last - 1}"] * (last > 1)
        plan += [f"back {last}", f"back {last}b", f"back {last}a"]
    return plan
