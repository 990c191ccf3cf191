# expect: -9 is larger than 7
def top_k_steps(gradients, k):
    residual, rows = [0] * len(gradients[0]), []
    for gradient in gradients:
        wanted = [g + r for g, r in zip(gradient, residual, strict=False)]
        largest = sorted(range(len(wanted)), key=lambda i: -wanted[i])[:k]
        sent = [w if i in largest else 0 for i, w in enumerate(wanted)]
        residual = [w - s for w, s in zip(wanted, sent, strict=False)]
        rows.append(sent)
    return [rows, residual]
