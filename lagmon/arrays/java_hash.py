"""The partition of `__consumer_offsets` that holds a group's commits: Java's hash of its name. Pure.

From org.apache.kafka.coordinator.group.GroupCoordinatorService.partitionFor: the absolute value of
String.hashCode modulo the number of partitions; the smallest integer counts as 0.
"""

from __future__ import annotations


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` with this group's records."""
    found = 0
    units = group.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    signed = found - (1 << 32) if found & 0x80000000 else found
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions
