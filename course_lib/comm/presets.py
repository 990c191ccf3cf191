"""Named links of real hardware, each with who says so.

Rates are one direction's. A specification states what the wire can carry; NCCL's model states what its authors see of
it. Neither is a promise about your machine: what a link gives is measured, and chapter 0 measures this machine's own.

>>> from course_lib import Network
>>> network = Network.over(NVLINK_A100, ranks_per_node=8, outside=INFINIBAND_HDR)
>>> network.seconds(0, 1, 240_000_000) < network.seconds(0, 8, 240_000_000)
True
"""

from __future__ import annotations

from course_lib.comm.network import Link

_NCCL = "NVIDIA/nccl"
_HOP = f"latency: NCCL's model of one step of a ring, protocol Simple ({_NCCL}, src/graph/tuning.cc, hwLat)"
_NVLINK = f"usable rate per NVLink in NCCL's model ({_NCCL}, src/graph/topo.h), times"
_DEAN = (
    "latency: half of the 0.5 ms round trip inside a data centre (J. Dean, "
    '"Designs, Lessons and Advice from Building Large Distributed Systems", LADIS 2009)'
)
_NVLINK_LATENCY_S = 3.4e-6
_PCIE_LATENCY_S = 5.7e-6
_NET_LATENCY_S = 14e-6
_ETHERNET_LATENCY_S = 250e-6


def _nvlink(gigabytes_per_s: float, links: int, gpu: str) -> Link:
    source = f"bandwidth: {_NVLINK} the {links} links of a {gpu}; {_HOP}"
    return Link(_NVLINK_LATENCY_S, gigabytes_per_s * 1e9 * links, source)


def _pcie(version: str, gigatransfers_per_s: float) -> Link:
    source = f"bandwidth: specification, PCI Express {version}, 16 lanes, encoding 128b/130b; {_HOP}"
    return Link(_PCIE_LATENCY_S, gigatransfers_per_s * 1e9 * 16 * 128 / 130 / 8, source)


def _infiniband(name: str, gigabits_per_s: float) -> Link:
    source = f"bandwidth: specification, InfiniBand {name}, 4 lanes (InfiniBand Trade Association); {_HOP}"
    return Link(_NET_LATENCY_S, gigabits_per_s * 1e9 / 8, source)


def _ethernet(standard: str, gigabits_per_s: float) -> Link:
    return Link(_ETHERNET_LATENCY_S, gigabits_per_s * 1e9 / 8, f"bandwidth: specification, {standard}; {_DEAN}")


NVLINK_P100 = _nvlink(18.0, 4, "P100")
NVLINK_V100 = _nvlink(20.0, 6, "V100")
NVLINK_A100 = _nvlink(20.0, 12, "A100")
NVLINK_H100 = _nvlink(20.6, 18, "H100")
PCIE_4 = _pcie("4.0", 16)
PCIE_5 = _pcie("5.0", 32)
INFINIBAND_HDR = _infiniband("HDR", 200)
INFINIBAND_NDR = _infiniband("NDR", 400)
ETHERNET_10G = _ethernet("IEEE 802.3ae", 10)
ETHERNET_25G = _ethernet("IEEE 802.3by", 25)
ETHERNET_100G = _ethernet("IEEE 802.3ba", 100)

PRESETS: dict[str, Link] = {
    "NVLink, P100": NVLINK_P100,
    "NVLink, V100": NVLINK_V100,
    "NVLink, A100": NVLINK_A100,
    "NVLink, H100": NVLINK_H100,
    "PCIe 4.0 x16": PCIE_4,
    "PCIe 5.0 x16": PCIE_5,
    "InfiniBand HDR": INFINIBAND_HDR,
    "InfiniBand NDR": INFINIBAND_NDR,
    "10 Gbit Ethernet": ETHERNET_10G,
    "25 Gbit Ethernet": ETHERNET_25G,
    "100 Gbit Ethernet": ETHERNET_100G,
}
