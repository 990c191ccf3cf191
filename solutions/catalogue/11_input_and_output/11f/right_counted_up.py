def max_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    nodes = 0
    while True:
        samples = (nodes + 1) * samples_per_s
        if samples > opens_per_s * file_samples:
            limit = "opens"
            break
        if samples * sample_bytes > bytes_per_s:
            limit = "bytes"
            break
        nodes += 1
    if samples * sample_bytes > bytes_per_s and bytes_per_s / sample_bytes < opens_per_s * file_samples:
        limit = "bytes"
    return nodes, limit, nodes * samples_per_s * open_s / file_samples
