# expect: Write the new one under another name
def save_operations(files, name):
    return [["write", name], ["sync", name], ["sync folder"]]
