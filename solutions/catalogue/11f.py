# %% right: counted_up
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


# %% right: dictionary
def max_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    from fractions import Fraction
    from math import floor

    a_node_opens = Fraction(samples_per_s, file_samples)
    allowed = {"opens": opens_per_s / a_node_opens, "bytes": Fraction(bytes_per_s, samples_per_s * sample_bytes)}
    limit = min(allowed, key=allowed.get)
    nodes = floor(allowed[limit])
    return [nodes, limit, float(nodes * a_node_opens) * open_s]
