# expect: A length from 256 on needs its high byte
def pack(samples, most_bytes):
    shards = []
    for sample in samples:
        each = [0, len(sample)] + sample
        if not shards or len(shards[-1]) + len(each) > most_bytes:
            shards.append([])
        shards[-1] += each
    return shards
