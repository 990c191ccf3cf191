# expect: take the message off
def mended_messages(steps, k):
    residuals, sent = {}, []
    for buckets in steps:
        sent.append([])
        for number, bucket in enumerate(buckets):
            waiting = residuals.get(number, [0] * len(bucket))
            wanted = [g + w for g, w in zip(bucket, waiting, strict=False)]
            largest = sorted(range(len(wanted)), key=lambda i: -abs(wanted[i]))[:k]
            message = [wanted[i] if i in largest else 0 for i in range(len(wanted))]
            residuals[number] = wanted
            sent[-1].append(message)
    return sent
