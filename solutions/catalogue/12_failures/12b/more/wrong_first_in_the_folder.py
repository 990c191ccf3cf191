# expect: A folder gives its files in any order
def newest_whole(files, ranks):
    holders = {}
    for name, length, checksum, content in files:
        if not name.endswith(".tmp") and len(content) == length and zlib.crc32(content.encode()) == checksum:
            step, rank = name.removeprefix("step-").split(".rank-")
            holders.setdefault(int(step), set()).add(int(rank))
    return next((step for step, have in holders.items() if have >= set(range(ranks))), -1)
