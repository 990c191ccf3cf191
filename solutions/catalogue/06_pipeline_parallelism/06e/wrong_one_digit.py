# expect: may have two digits
def peak_held(schedule):
    peaks = []
    for words in schedule:
        held, peak = set(), 0
        for word in words:
            if word[0] == "F":
                held.add(word[1])
            elif word[0] == "W" or "W" not in " ".join(words):
                held.discard(word[1])
            peak = max(peak, len(held))
        peaks.append(peak)
    return peaks
