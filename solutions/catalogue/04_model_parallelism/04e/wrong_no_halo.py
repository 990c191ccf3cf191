# expect: where is the halo
def halo_rows(comm, mine, height, kernel, stride, padding):
    return mine
