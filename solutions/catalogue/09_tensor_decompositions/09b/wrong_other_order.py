# expect: The first index belongs to the first core
def element(cores, index):
    row = torch.ones(1, 1)
    for core in cores:
        row = row @ core[:, index.pop() % core.shape[1]]
    return row.item()
