def mended_messages(steps, k):
    sent = [[None] * len(buckets) for buckets in steps]
    for number in range(len(steps[0])):
        waiting = [0] * len(steps[0][number])
        for step, buckets in enumerate(steps):
            waiting = [w + g for w, g in zip(waiting, buckets[number], strict=False)]
            largest = set(sorted(range(len(waiting)), key=lambda i: abs(waiting[i]), reverse=True)[:k])
            sent[step][number] = [w * (i in largest) for i, w in enumerate(waiting)]
            waiting = [0 if i in largest else w for i, w in enumerate(waiting)]
    return sent
