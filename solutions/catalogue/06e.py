# %% right: held
def peak_held(schedule):
    freeing = "W" if any("W" in word for words in schedule for word in words) else "B"
    peaks = []
    for words in schedule:
        held = [0]
        for word in words:
            held.append(held[-1] + (word[0] == "F") - (word[0] == freeing))
        peaks.append(max(held))
    return peaks


# %% right: sets
def peak_held(schedule):
    def peak(words):
        held, most = set(), 0
        for word in words:
            kind, i = parts(word)
            if kind == "F":
                held.add(i)
            elif kind == "W" or f"W{i}" not in words:
                held.remove(i)
            most = max(most, len(held))
        return most

    return [peak(words) for words in schedule]
