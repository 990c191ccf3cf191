# expect: in the folder
def save_operations(files, name):
    new, old = name + ".tmp", name + ".old"
    first = [["write", old], ["sync", old]]
    return [*first, ["write", new], ["sync", new], ["rename", new, name], ["sync folder"]]
