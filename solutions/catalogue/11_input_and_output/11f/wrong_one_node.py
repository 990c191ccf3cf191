# expect: All nodes have opens under way
def most_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    by_opens = opens_per_s * file_samples // samples_per_s
    by_bytes = bytes_per_s // (samples_per_s * sample_bytes)
    limit = "opens" if by_opens < by_bytes else "bytes"
    return [min(by_opens, by_bytes), limit, samples_per_s / file_samples * open_s]
