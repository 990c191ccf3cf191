# expect: The master copy is not rounded between updates
def trained_weight(weight, updates):
    alone = master = weight
    for update in updates:
        alone = fp16(alone + update)
        master = fp16(master + update)
    return [alone, master]
