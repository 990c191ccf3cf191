# expect: Round the sum after an update is added
def trained_weight(weight, updates):
    plain = master = weight
    for update in updates:
        plain = fp16(plain) + update
        master += update
    return [plain, fp16(master)]
