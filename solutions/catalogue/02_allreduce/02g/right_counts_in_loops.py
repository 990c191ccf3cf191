def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps, sent, seconds = 0, [0] * world_size, 0.0
    for _ in range(1, world_size):
        steps += 1
        seconds += latency_s + message_bytes / bytes_per_s
        sent = [count + message_bytes for count in sent]
    return [steps, sum(sent), max(sent), seconds]
