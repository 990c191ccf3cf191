# %% right: in_place
def top_k_steps(gradients, k):
    waiting, rows = [0 for _ in gradients[0]], []
    for gradient in gradients:
        for place, number in enumerate(gradient):
            waiting[place] += number
        row = [0] * len(waiting)
        for _ in range(min(k, len(waiting))):
            place = max(range(len(waiting)), key=lambda i: abs(waiting[i]))
            row[place], waiting[place] = row[place] + waiting[place], 0
        rows.append(row)
    return rows, waiting


# %% right: torch
def top_k_steps(gradients, k):
    residual, rows = torch.zeros(len(gradients[0]), dtype=torch.int64), []
    for gradient in gradients:
        wanted = residual + torch.tensor(gradient)
        places = wanted.abs().topk(k)[1]
        residual = wanted.index_fill(0, places, 0)
        rows.append(wanted - residual)
    return [torch.stack(rows), residual]
