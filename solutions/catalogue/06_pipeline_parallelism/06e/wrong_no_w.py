# expect: W needs the activations, too
def peak_held(schedule):
    peaks = []
    for words in schedule:
        held = peak = 0
        for word in words:
            held += {"F": 1, "B": -1, "W": 0}[word[0]]
            peak = max(peak, held)
        peaks.append(peak)
    return peaks
