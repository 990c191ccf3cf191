# expect: do not round them
import math


def most_nodes(samples_per_s, sample_bytes, file_samples, opens_per_s, bytes_per_s, open_s):
    opens = math.ceil(samples_per_s / file_samples)
    a, b = opens_per_s / opens, bytes_per_s / (samples_per_s * sample_bytes)
    n = int(min(a, b))
    return [n, "opens" if a < b else "bytes", n * opens * open_s]
