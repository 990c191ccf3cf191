# %% right: names
def newest_whole(files, ranks):
    by_name = {name: rest for name, *rest in files}

    def whole(name):
        length, checksum, content = by_name.get(name, (1, 0, ""))
        return length == len(content) and checksum == zlib.crc32(content.encode())

    newest = -1
    for name in by_name:
        step = int(name.split(".")[0].split("-")[1])
        if step > newest and all(whole(f"step-{step}.rank-{rank}") for rank in range(ranks)):
            newest = step
    return newest


# %% right: step_by_step
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
