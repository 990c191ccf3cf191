def step_seconds(backward_s, exchange_s):
    def end(layer):
        if layer == len(backward_s):
            return 0.0
        return max(end(layer + 1), sum(backward_s[layer:])) + exchange_s[layer]

    return sum(backward_s) + sum(exchange_s), end(0)
