def save_operations(files, name):
    plan = f"write new.tmp, sync new.tmp, rename new.tmp {name}"
    return [words.split() for words in plan.split(", ")] + [["sync folder"]]
