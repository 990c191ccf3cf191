# expect: First without the master copy, then with it
def trained_weight(weight, updates):
    alone = weight
    for update in updates:
        alone = fp16(alone + update)
    return [fp16(weight + sum(updates)), alone]
