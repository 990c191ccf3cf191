"""Messages that are lost, doubled and late, and two protocols that deliver each exactly once and in order.

In the order of the page: the wire; what goes wrong without a protocol; stop-and-wait; selective repeat; what they cost.
"""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.faults.delivery.wire import LossyWire, Packet
from course_lib.faults.delivery.protocol import KeepAll, Receiver, Sender, SendOnce
from course_lib.faults.delivery.stop_and_wait import KeepNext, StopAndWait
from course_lib.faults.delivery.selective_repeat import KeepOrder, SelectiveRepeat
from course_lib.faults.delivery.simulation import Crossing, Delivery, deliver
from course_lib.faults.delivery.cost import transmissions_per_message

__all__ = [
    "LossyWire",
    "Packet",
    "Receiver",
    "Sender",
    "KeepAll",
    "SendOnce",
    "KeepNext",
    "StopAndWait",
    "KeepOrder",
    "SelectiveRepeat",
    "Crossing",
    "Delivery",
    "deliver",
    "transmissions_per_message",
]
