# expect: its matrix for the index i is core[:, i]
def element(cores, index):
    row = torch.ones(1, 1)
    for core, place in zip(cores, index, strict=True):
        row = row @ core[place]
    return row.item()
