# %% right: extra_syncs
def save_operations(files, name):
    operations = []
    new = f"{name}.{len(files)}.tmp"
    for file in files:
        if file.endswith(".tmp"):
            operations.append(("delete", file))
    operations += [("write", new), ("sync", new), ("sync folder",)]
    return [*operations, ("rename", new, name), ("sync folder",), ("sync", name)]


# %% right: words
def save_operations(files, name):
    plan = f"write new.tmp, sync new.tmp, rename new.tmp {name}"
    return [words.split() for words in plan.split(", ")] + [["sync folder"]]
