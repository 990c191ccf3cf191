import re


def newest_whole(files, ranks):
    whole = set()
    for name, length, checksum, content in files:
        match = re.fullmatch(r"step-(\d+)\.rank-(\d+)", name)
        if match and len(content) == length and zlib.crc32(bytes(content, "utf-8")) == checksum:
            whole.add((int(match[1]), int(match[2])))
    for step in sorted({step for step, _ in whole}, reverse=True):
        if all((step, rank) in whole for rank in range(ranks)):
            return step
    return -1
