# expect: may be empty: a name can be on the disk before its content
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["rename", new, name], ["sync folder"]]
