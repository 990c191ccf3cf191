import torch


def rank_memory(model, mesh, stage, micro_batch, micro_batches, zero):
    (layers, h, a, s), (d, p, t) = model, mesh
    held = most = done = 0
    forwards = 0
    while done < micro_batches:
        if forwards < micro_batches and forwards - done < p - stage:
            forwards += 1
        else:
            done += 1
        most = max(most, forwards - done)
    kept = torch.tensor([2.0, 2.0, 12.0], dtype=torch.float64) * 12 * h * h * layers / (p * t)
    for level, place in ((1, 2), (2, 1), (3, 0)):
        if zero >= level:
            kept[place] /= d
    held = most * (layers / p) * s * micro_batch * h / t * (34 + 5 * a * s / h)
    return [*kept.tolist(), held]
