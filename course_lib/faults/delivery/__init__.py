"""Messages that are lost, doubled and late, and two protocols that deliver each exactly once and in order.

In the order of the page: the wire; what goes wrong without a protocol; stop-and-wait; selective repeat; what they cost.
"""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.faults.delivery.lossy_wire import LossyWire, Packet, transmissions_per_message
from course_lib.faults.delivery.protocols import (
    KeepAll,
    Receiver,
    Sender,
    SendOnce,
    KeepNext,
    StopAndWait,
    KeepOrder,
    SelectiveRepeat,
)
from course_lib.faults.delivery.simulation import Crossing, Delivery, deliver
