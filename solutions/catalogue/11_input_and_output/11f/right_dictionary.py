def max_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    from fractions import Fraction
    from math import floor

    a_node_opens = Fraction(samples_per_s, file_samples)
    allowed = {"opens": opens_per_s / a_node_opens, "bytes": Fraction(bytes_per_s, samples_per_s * sample_bytes)}
    limit = min(allowed, key=allowed.get)
    nodes = floor(allowed[limit])
    return [nodes, limit, float(nodes * a_node_opens) * open_s]
