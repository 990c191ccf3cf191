# expect: gave 3 values where 4 are right
def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps = world_size - 1
    return steps, steps * world_size * message_bytes, steps * (latency_s + message_bytes / bytes_per_s)
