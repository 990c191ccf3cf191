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
