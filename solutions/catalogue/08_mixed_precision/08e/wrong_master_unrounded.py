# expect: what the network uses of it is rounded to fp16
def trained_weight(weight, updates):
    alone = master = weight
    for update in updates:
        alone, master = fp16(alone + update), master + update
    return [alone, master]
