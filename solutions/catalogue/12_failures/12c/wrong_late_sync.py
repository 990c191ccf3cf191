# expect: may be empty: a name can be on the disk before its content
# like: wrong_no_sync
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["rename", new, name], ["sync", name], ["sync folder"]]
