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
