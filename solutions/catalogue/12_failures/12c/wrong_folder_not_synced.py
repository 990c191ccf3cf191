# expect: A new name is on the disk once
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["sync", new], ["rename", new, name]]
