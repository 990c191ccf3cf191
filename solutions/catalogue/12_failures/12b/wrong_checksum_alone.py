# expect: The checksum of nothing is 0
def newest_whole(files, ranks):
    holders = {}
    for name, _, checksum, content in files:
        if name.endswith(".tmp") or zlib.crc32(content.encode()) != checksum:
            continue
        step, rank = name.removeprefix("step-").removesuffix(".tmp").split(".rank-")
        holders.setdefault(int(step), set()).add(int(rank))
    return max((step for step, have in holders.items() if len(have) == ranks), default=-1)
