# expect: Without a master copy the weight is rounded after every update
def trained_weight(weight, updates):
    alone = master = weight
    for update in updates:
        alone += fp16(update)
        master += update
    return [fp16(alone), fp16(master)]
