# expect: The next node is not served in full
def most_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    from math import ceil

    by_opens = opens_per_s * file_samples / samples_per_s
    by_bytes = bytes_per_s / (samples_per_s * sample_bytes)
    nodes = ceil(min(by_opens, by_bytes))
    return [nodes, "opens" if by_opens < by_bytes else "bytes", nodes * samples_per_s / file_samples * open_s]
