# expect: That is what it gave before
def mended_messages(steps, k):
    residuals, sent = {}, []
    for buckets in steps:
        sent.append([])
        for bucket in buckets:
            waiting = residuals.get(id(bucket), [0] * len(bucket))
            wanted = [g + w for g, w in zip(bucket, waiting, strict=False)]
            largest = sorted(range(len(wanted)), key=lambda i: -abs(wanted[i]))[:k]
            message = [wanted[i] if i in largest else 0 for i in range(len(wanted))]
            residuals[id(bucket)] = [w - m for w, m in zip(wanted, message, strict=False)]
            sent[-1].append(message)
    return sent
