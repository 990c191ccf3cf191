def top_k_steps(gradients, k):
    residual, rows = torch.zeros(len(gradients[0]), dtype=torch.int64), []
    for gradient in gradients:
        wanted = residual + torch.tensor(gradient)
        places = wanted.abs().topk(k)[1]
        residual = wanted.index_fill(0, places, 0)
        rows.append(wanted - residual)
    return [torch.stack(rows), residual]
