# expect: those of ranks 0 to ranks - 1
def newest_whole(files, ranks):
    holders = {}
    for name, length, checksum, content in files:
        if not name.endswith(".tmp") and len(content) == length and zlib.crc32(content.encode()) == checksum:
            step, rank = name.removeprefix("step-").split(".rank-")
            holders.setdefault(int(step), set()).add(int(rank))
    return max((step for step, have in holders.items() if len(have) == ranks), default=-1)
