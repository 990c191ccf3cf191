# expect: A rename came after
def save_operations(files, name):
    new = name + ".tmp"
    return [["write", new], ["sync", new], ["sync folder"], ["rename", new, name]]
