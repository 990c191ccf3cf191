# expect: replaces what is there in one go
# like: wrong_deletes_first
def save_operations(files, name):
    new, old = name + ".tmp", name + ".old"
    operations = [["write", new], ["sync", new]]
    if name in files:
        operations += [["rename", name, old]]
    operations += [["rename", new, name], ["sync folder"]]
    return operations + [["delete", old], ["sync folder"]] * (name in files)
