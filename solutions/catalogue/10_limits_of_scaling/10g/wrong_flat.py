# expect: A list of messages for each step
def mended_messages(steps, k):
    residuals, sent = {}, []
    for buckets in steps:
        for number, bucket in enumerate(buckets):
            waiting = residuals.get(number, [0] * len(bucket))
            wanted = [g + w for g, w in zip(bucket, waiting, strict=False)]
            largest = sorted(range(len(wanted)), key=lambda i: -abs(wanted[i]))[:k]
            message = [wanted[i] if i in largest else 0 for i in range(len(wanted))]
            residuals[number] = [w - m for w, m in zip(wanted, message, strict=False)]
            sent.append(message)
    return sent
