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
