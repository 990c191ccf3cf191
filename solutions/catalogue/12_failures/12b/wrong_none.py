# expect: the answer is -1
def newest_whole(files, ranks):
    holders = {}
    for name, length, checksum, content in files:
        if name.endswith(".tmp") or len(content) != length or zlib.crc32(content.encode()) != checksum:
            continue
        step, rank = name.removeprefix("step-").removesuffix(".tmp").split(".rank-")
        holders.setdefault(int(step), set()).add(int(rank))
    return max((step for step, have in holders.items() if len(have) == ranks), default=None)
