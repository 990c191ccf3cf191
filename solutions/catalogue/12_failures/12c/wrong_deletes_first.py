# expect: replaces what is there in one go
def save_operations(files, name):
    new = name + ".tmp"
    makes_room = [["delete", name]] if name in files else []
    return [["write", new], ["sync", new], *makes_room, ["rename", new, name], ["sync folder"]]
