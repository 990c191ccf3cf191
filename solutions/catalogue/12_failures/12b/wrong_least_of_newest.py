# expect: the least of the ranks' newest
def newest_whole(files, ranks):
    holders = {}
    for name, length, checksum, content in files:
        if name.endswith(".tmp") or len(content) != length or zlib.crc32(content.encode()) != checksum:
            continue
        step, rank = name.removeprefix("step-").removesuffix(".tmp").split(".rank-")
        holders.setdefault(int(step), set()).add(int(rank))
    return min(max([step for step, have in holders.items() if rank in have] or [-1]) for rank in range(ranks))
