# expect: Torn and changed files do not count
def newest_whole(files, ranks):
    holders = {}
    for name, *_ in files:
        if name.endswith(".tmp"):
            continue
        step, rank = name.removeprefix("step-").removesuffix(".tmp").split(".rank-")
        holders.setdefault(int(step), set()).add(int(rank))
    return max((step for step, have in holders.items() if len(have) == ranks), default=-1)
