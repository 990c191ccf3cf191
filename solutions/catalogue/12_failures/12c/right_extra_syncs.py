def save_operations(files, name):
    operations = []
    new = f"{name}.{len(files)}.tmp"
    for file in files:
        if file.endswith(".tmp"):
            operations.append(("delete", file))
    operations += [("write", new), ("sync", new), ("sync folder",)]
    return [*operations, ("rename", new, name), ("sync folder",), ("sync", name)]
