# expect: the table with all elements fits into no memory
def element(cores, index):
    table = cores[0]
    for core in cores[1:]:
        table = torch.tensordot(table, core, 1)
    return table[0, ..., 0][tuple(index)].item()
