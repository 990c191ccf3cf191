# expect: Indices count from 0
def element(cores, index):
    row = torch.ones(1, 1)
    for core, place in zip(cores, index, strict=True):
        row = row @ core[:, place - 1]
    return row.item()
