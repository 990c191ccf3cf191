def reads(length, saved_by, ranks):
    saved, wanted = math.ceil(length / saved_by), math.ceil(length / ranks)
    plan = [[[], wanted] for _ in range(ranks)]
    for number in range(length):
        mine = plan[number // wanted]
        file, place = divmod(number, saved)
        if not mine[0] or mine[0][-1][0] != file:
            mine[0].append([file, place, place])
        mine[0][-1][2] += 1
        mine[1] -= 1
    return plan
