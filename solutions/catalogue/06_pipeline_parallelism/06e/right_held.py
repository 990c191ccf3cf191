def peak_held(schedule):
    freeing = "W" if any("W" in word for words in schedule for word in words) else "B"
    peaks = []
    for words in schedule:
        held = [0]
        for word in words:
            held.append(held[-1] + (word[0] == "F") - (word[0] == freeing))
        peaks.append(max(held))
    return peaks
