# expect: An update is added, not taken away
def trained_weight(weight, updates):
    alone = master = weight
    for update in updates:
        alone = fp16(alone - update)
        master -= update
    return [alone, fp16(master)]
