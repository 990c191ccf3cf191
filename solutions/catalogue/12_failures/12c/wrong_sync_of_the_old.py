# expect: there is no file
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["rename", new, name], ["sync", new], ["sync folder"]]
