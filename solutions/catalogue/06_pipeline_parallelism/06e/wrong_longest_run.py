# expect: The longest run of F is not
def peak_held(schedule):
    peaks = []
    for words in schedule:
        held = peak = 0
        for word in words:
            held = held + 1 if word[0] == "F" else 0
            peak = max(peak, held)
        peaks.append(peak)
    return peaks
