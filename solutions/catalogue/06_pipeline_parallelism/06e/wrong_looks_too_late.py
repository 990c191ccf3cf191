# expect: Look after each F, too
def peak_held(schedule):
    last = "W" if any(word[0] == "W" for words in schedule for word in words) else "B"
    peaks = []
    for words in schedule:
        held = peak = 0
        for word in words:
            if word[0] == "F":
                held += 1
            elif word[0] == last:
                held -= 1
                peak = max(peak, held)
        peaks.append(peak)
    return peaks
