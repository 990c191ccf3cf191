def received(packets, numbers, window):
    messages, count, answers = {}, 0, []
    for number, payload in packets:
        for place in range(count, count + window):
            if place % numbers == number:
                messages[place] = payload
        while count in messages:
            count += 1
        answers.append(count % numbers)
    return [[messages[place] for place in range(count)], answers]
