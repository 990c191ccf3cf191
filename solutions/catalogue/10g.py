# %% right: one_bucket_after_the_other
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


# %% right: torch
def mended_messages(steps, k):
    residuals, sent = [torch.zeros(len(bucket)) for bucket in steps[0]], []
    for buckets in steps:
        sent.append([])
        for residual, bucket in zip(residuals, buckets, strict=False):
            residual += torch.tensor(bucket, dtype=torch.float32)
            message, places = torch.zeros_like(residual), residual.abs().topk(k).indices
            message[places] = residual[places]
            residual -= message
            sent[-1].append(message)
    return sent
