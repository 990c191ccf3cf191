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
