# expect: A new name needs a sync of the folder
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["sync", new], ["rename", new, name]]
