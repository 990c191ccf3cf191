# %% instance_of_callable_with_slots
class Receiver:
    __slots__ = ("following", "early")

    def __call__(self, packets, numbers, window):
        self.following, self.early = 0, {}
        delivered, acks = [], []
        for number, payload in packets:
            self.early |= {number: payload} if (number - self.following) % numbers < window else {}
            while (text := self.early.pop(self.following, None)) is not None:
                delivered.append(text)
                self.following = (self.following + 1) % numbers
            acks.append(self.following)
        return delivered, acks


received = Receiver()
