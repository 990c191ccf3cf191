def trained_weight(weight, updates):
    half = torch.tensor(weight, dtype=torch.float16)
    master = torch.tensor(weight, dtype=torch.float32)
    for update in updates:
        half = (half.float() + update).half()
        master += update
    return [half.item(), master.half().item()]
