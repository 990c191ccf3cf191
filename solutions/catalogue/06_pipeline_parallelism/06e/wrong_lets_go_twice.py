# expect: A micro-batch is let go of once
def peak_held(schedule):
    peaks = []
    for words in schedule:
        held = peak = 0
        for word in words:
            held += 1 if word[0] == "F" else -1
            peak = max(peak, held)
        peaks.append(peak)
    return peaks
