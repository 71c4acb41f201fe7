"""Meaning of, and advice for, each XID of NVIDIA's driver."""

from __future__ import annotations

from typing import NamedTuple

IGNORE = "none, unless it recurs often"
APP = "check the application first, then restart it"
RESET = "after its jobs end, reset the GPU: nvidia-smi --gpu-reset -i GPU"
REBOOT = "drain the node and reboot it"
SUPPORT = "drain the node and contact the vendor's support"
CABLES = "check cables, power and seating of the card, then reboot. If it recurs, contact support"
NVLINK = "reset the GPU and its NVLink peers. If it recurs, check the fabric and contact support"
UPDATE = "restart the application. If it recurs, update driver and firmware"

INFO, WARNING, CRITICAL = "info", "warning", "critical"


class Xid(NamedTuple):
    number: int
    name: str
    meaning: str
    action: str
    severity: str


ROWS = (
    Xid(8, "GPU stopped", "a command timed out", APP, WARNING),
    Xid(
        13,
        "engine exception",
        "invalid instruction or address, mostly an application error",
        APP,
        WARNING,
    ),
    Xid(31, "memory page fault", "the application accessed an unmapped address", APP, WARNING),
    Xid(32, "invalid push buffer", "corrupt command stream: driver, memory or PCIe", UPDATE, WARNING),
    Xid(38, "firmware error", "the driver's firmware failed", UPDATE, WARNING),
    Xid(43, "channel stopped", "an application error stopped its channel; others continue", APP, WARNING),
    Xid(44, "context switch fault", "an engine failed while switching applications", UPDATE, WARNING),
    Xid(
        45,
        "channel removed",
        "cleanup after an application ended or failed; look for an earlier XID",
        IGNORE,
        INFO,
    ),
    Xid(46, "GPU stopped", "the GPU no longer accepts commands", RESET, CRITICAL),
    Xid(48, "double-bit memory error", "an uncorrectable ECC error", RESET, CRITICAL),
    Xid(54, "no auxiliary power", "the card's power cable is not connected", CABLES, CRITICAL),
    Xid(56, "display engine error", "the display engine failed", UPDATE, WARNING),
    Xid(57, "memory interface", "the memory interface could not be programmed", SUPPORT, CRITICAL),
    Xid(58, "unstable memory", "the memory interface is unstable", SUPPORT, CRITICAL),
    Xid(59, "microcontroller error", "an internal controller failed", RESET, CRITICAL),
    Xid(60, "video processor", "the video processor raised an exception", APP, WARNING),
    Xid(61, "microcontroller warning", "an internal controller stopped at a breakpoint", RESET, CRITICAL),
    Xid(62, "microcontroller halt", "an internal controller halted", RESET, CRITICAL),
    Xid(63, "row remapped", "a faulty row or page was recorded for replacement", RESET, WARNING),
    Xid(
        64,
        "row remap failed",
        "a faulty row could not be recorded or replaced; isolate the GPU",
        SUPPORT,
        CRITICAL,
    ),
    Xid(65, "video processor", "the video processor raised an exception", APP, WARNING),
    Xid(66, "illegal driver access", "the driver made an invalid access", UPDATE, WARNING),
    Xid(67, "illegal driver access", "the driver made an invalid access", UPDATE, WARNING),
    Xid(68, "video decoder", "decoder 0 raised an exception", APP, WARNING),
    Xid(69, "engine class error", "a command does not match its engine", APP, WARNING),
    Xid(70, "copy engine 3", "a copy engine failed", RESET, WARNING),
    Xid(71, "copy engine 4", "a copy engine failed", RESET, WARNING),
    Xid(72, "copy engine 5", "a copy engine failed", RESET, WARNING),
    Xid(73, "video encoder 2", "an encoder failed", APP, WARNING),
    Xid(74, "NVLink error", "a link to another GPU or switch failed", NVLINK, CRITICAL),
    Xid(75, "copy engine 6", "a copy engine failed", RESET, WARNING),
    Xid(76, "copy engine 7", "a copy engine failed", RESET, WARNING),
    Xid(77, "copy engine 8", "a copy engine failed", RESET, WARNING),
    Xid(78, "vGPU start", "a virtual GPU did not start", UPDATE, WARNING),
    Xid(79, "fallen off the bus", "the GPU no longer responds over PCIe", CABLES, CRITICAL),
    Xid(80, "corrupt data sent", "corrupt data reached the GPU", RESET, CRITICAL),
    Xid(81, "VGA subsystem", "the VGA subsystem failed", UPDATE, WARNING),
    Xid(82, "JPEG decoder", "JPEG decoder 0 failed", APP, WARNING),
    Xid(83, "video decoder", "decoder 1 raised an exception", APP, WARNING),
    Xid(84, "video decoder", "decoder 2 raised an exception", APP, WARNING),
    Xid(85, "copy engine 9", "a copy engine failed", RESET, WARNING),
    Xid(86, "optical flow", "the optical-flow engine failed", APP, WARNING),
    Xid(88, "video decoder", "decoder 3 raised an exception", APP, WARNING),
    Xid(89, "video decoder", "decoder 4 raised an exception", APP, WARNING),
    Xid(92, "many corrected errors", "unusually frequent single-bit memory errors", SUPPORT, WARNING),
    Xid(93, "InfoROM wear", "the InfoROM is written too often", IGNORE, INFO),
    Xid(
        94,
        "contained memory error",
        "an uncorrectable error affected one application, which was ended",
        RESET,
        WARNING,
    ),
    Xid(
        95,
        "uncontained memory error",
        "an uncorrectable error may have affected every application",
        RESET,
        CRITICAL,
    ),
    Xid(109, "context switch timeout", "an engine did not release an application in time", RESET, CRITICAL),
    Xid(110, "security fault", "a security check of the GPU failed", REBOOT, CRITICAL),
    Xid(119, "GSP timeout", "the GPU's system processor does not respond to the driver", RESET, CRITICAL),
    Xid(120, "GSP error", "the GPU's system processor failed", RESET, CRITICAL),
    Xid(121, "C2C link", "the link between CPU and GPU corrected an error", IGNORE, WARNING),
    Xid(122, "SPI read", "the board's flash could not be read", SUPPORT, WARNING),
    Xid(123, "SPI write", "the board's flash could not be written", SUPPORT, WARNING),
    Xid(124, "SPI erase", "the board's flash could not be erased", SUPPORT, WARNING),
    Xid(125, "InfoROM file system", "the InfoROM is corrupt", SUPPORT, WARNING),
    Xid(136, "link training", "link training of an NVLink failed", NVLINK, CRITICAL),
    Xid(137, "fabric fault", "an access over NVLink was rejected; often an error at the peer", APP, WARNING),
    Xid(140, "unrecovered ECC", "a memory error was neither corrected nor contained", RESET, CRITICAL),
    Xid(141, "channel error", "a channel failed and was removed", APP, WARNING),
    Xid(142, "video encoder 3", "an encoder failed", APP, WARNING),
    Xid(143, "GPU start", "the GPU could not be initialized", REBOOT, CRITICAL),
    Xid(144, "NVLink 5: SAW", "an NVLink error in the access layer", NVLINK, CRITICAL),
    Xid(145, "NVLink 5: RLW", "an NVLink error in the reliability layer", NVLINK, CRITICAL),
    Xid(146, "NVLink 5: TLW", "an NVLink error in the transaction layer", NVLINK, CRITICAL),
    Xid(147, "NVLink 5: TREX", "an NVLink error in its traffic unit", NVLINK, CRITICAL),
    Xid(148, "NVLink 5: control", "an NVLink error in its control unit", NVLINK, CRITICAL),
    Xid(149, "NVLink 5: network", "an NVLink error in the physical or link layer", NVLINK, CRITICAL),
    Xid(150, "NVLink 5: MSE", "an NVLink error in its management engine", NVLINK, CRITICAL),
    Xid(151, "key rotation", "keys of confidential computing could not be rotated", REBOOT, CRITICAL),
    Xid(
        154,
        "recovery action changed",
        "the driver changed its recommended action; see the message",
        RESET,
        WARNING,
    ),
    Xid(155, "NVLink by software", "software reported an NVLink error", NVLINK, WARNING),
    Xid(156, "resource retired", "a hardware resource was retired", RESET, WARNING),
    Xid(157, "retirement failed", "a faulty resource could not be retired", SUPPORT, CRITICAL),
    Xid(158, "fatal timeout", "the GPU did not respond in time and cannot continue", RESET, CRITICAL),
    Xid(160, "channel retired", "a memory channel was retired", RESET, WARNING),
    Xid(161, "retirement failed", "a faulty memory channel could not be retired", SUPPORT, CRITICAL),
    Xid(167, "PCIe timeout", "PCIe did not respond in time and cannot continue", CABLES, CRITICAL),
)

BY_NUMBER = {row.number: row for row in ROWS}


def find_xid(number: int) -> Xid:
    """Return the row of an XID, or a placeholder for an unknown one."""
    unknown = Xid(number, "unknown XID", "see NVIDIA's list of XIDs", "contact the vendor", WARNING)
    return BY_NUMBER.get(number, unknown)


def describe_xid(number: int) -> str:
    """Return meaning and action of an XID as a sentence."""
    row = find_xid(number)
    return f"XID {number}, {row.name}: {row.meaning}. Action: {row.action}."


def get_severity(number: int) -> str:
    """Return info, warning or critical."""
    return find_xid(number).severity
