# expect: That is the worst rank
def peak_held(schedule):
    peaks = []
    for words in schedule:
        held = peak = 0
        for word in words:
            held += (word[0] == "F") - (word[0] == ("W" if any(each[0] == "W" for each in words) else "B"))
            peak = max(peak, held)
        peaks.append(peak)
    return max(peaks)
