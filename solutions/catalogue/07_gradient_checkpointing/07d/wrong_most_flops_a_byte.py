def kept_operations(operations, budget):
    kept = []
    for number in sorted(range(len(operations)), key=lambda i: operations[i][1] / operations[i][0], reverse=True):
        size, _, needed = operations[number]
        if needed and size <= budget:
            kept.append(number)
            budget -= size
    return sorted(kept)
