"""What exercises of chapter 11 use: samples as lists of bytes, and their records."""


def sample_of(rng, size):
    """So many bytes, none of them small, so that none looks like a length."""
    return rng.integers(40, 256, size).tolist()


def record(sample):
    """The length in two bytes, the high one first, and the sample."""
    return [len(sample) // 256, len(sample) % 256, *sample]
