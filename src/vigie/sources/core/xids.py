"""What each XID of NVIDIA's driver means and what its maker advises, in our own words: one row each."""

from __future__ import annotations

from typing import NamedTuple

IGNORE = "nothing to do unless it comes often"
APP = "look at the application first; start it again"
RESET = "reset the GPU when its jobs have ended: nvidia-smi --gpu-reset -i GPU"
REBOOT = "take the node out of service and reboot it"
SUPPORT = "take the node out of service and call the vendor's support"
CABLES = "check cables, power and seating of the card; then reboot; if it comes back call support"
NVLINK = "reset the GPU and its NVLink peers; if it comes back check the fabric and call support"
UPDATE = "start the application again; if it comes back update driver and firmware"

INFO, WARNING, CRITICAL = "info", "warning", "critical"


class Xid(NamedTuple):
    """One row of the table."""

    number: int
    name: str
    meaning: str
    action: str
    severity: str


ROWS = (
    Xid(8, "GPU stopped", "a command did not end in time", APP, WARNING),
    Xid(
        13,
        "engine exception",
        "an instruction or address was refused; mostly a fault of the program",
        APP,
        WARNING,
    ),
    Xid(31, "memory page fault", "the program used an address that is not mapped", APP, WARNING),
    Xid(32, "bad push buffer", "the stream of commands was corrupt; driver, memory or PCIe", UPDATE, WARNING),
    Xid(38, "firmware error", "the driver's firmware failed", UPDATE, WARNING),
    Xid(43, "channel stopped", "the program's own error stopped its channel; others go on", APP, WARNING),
    Xid(44, "context switch fault", "an engine failed while it changed programs", UPDATE, WARNING),
    Xid(
        45,
        "channel removed",
        "clean-up after the program ended or failed; look for an XID before it",
        IGNORE,
        INFO,
    ),
    Xid(46, "GPU stopped", "the GPU no longer takes commands", RESET, CRITICAL),
    Xid(48, "double-bit memory error", "an ECC error that could not be corrected", RESET, CRITICAL),
    Xid(54, "no auxiliary power", "the card's power cable is not connected", CABLES, CRITICAL),
    Xid(56, "display engine error", "the display part failed", UPDATE, WARNING),
    Xid(57, "memory interface", "the memory interface could not be programmed", SUPPORT, CRITICAL),
    Xid(58, "unstable memory", "the memory interface is not stable", SUPPORT, CRITICAL),
    Xid(59, "microcontroller error", "an inner controller failed", RESET, CRITICAL),
    Xid(60, "video processor", "the video processor raised an exception", APP, WARNING),
    Xid(61, "microcontroller warning", "an inner controller stopped at a breakpoint", RESET, CRITICAL),
    Xid(62, "microcontroller halt", "an inner controller stopped for good", RESET, CRITICAL),
    Xid(63, "row remapped", "a bad row or page of memory was noted to be replaced", RESET, WARNING),
    Xid(
        64, "row remap failed", "a bad row could not be noted or replaced; isolate the GPU", SUPPORT, CRITICAL
    ),
    Xid(65, "video processor", "the video processor raised an exception", APP, WARNING),
    Xid(66, "illegal driver access", "the driver used what it may not", UPDATE, WARNING),
    Xid(67, "illegal driver access", "the driver used what it may not", UPDATE, WARNING),
    Xid(68, "video decoder", "decoder 0 raised an exception", APP, WARNING),
    Xid(69, "engine class error", "a command does not fit its engine", APP, WARNING),
    Xid(70, "copy engine 3", "a copy engine failed", RESET, WARNING),
    Xid(71, "copy engine 4", "a copy engine failed", RESET, WARNING),
    Xid(72, "copy engine 5", "a copy engine failed", RESET, WARNING),
    Xid(73, "video encoder 2", "an encoder failed", APP, WARNING),
    Xid(74, "NVLink error", "a link to another GPU or switch failed", NVLINK, CRITICAL),
    Xid(75, "copy engine 6", "a copy engine failed", RESET, WARNING),
    Xid(76, "copy engine 7", "a copy engine failed", RESET, WARNING),
    Xid(77, "copy engine 8", "a copy engine failed", RESET, WARNING),
    Xid(78, "vGPU start", "a virtual GPU did not start", UPDATE, WARNING),
    Xid(79, "fallen off the bus", "the GPU no longer answers over PCIe", CABLES, CRITICAL),
    Xid(80, "corrupt data sent", "data arrived corrupt at the GPU", RESET, CRITICAL),
    Xid(81, "VGA subsystem", "the VGA part failed", UPDATE, WARNING),
    Xid(82, "JPEG decoder", "JPEG decoder 0 failed", APP, WARNING),
    Xid(83, "video decoder", "decoder 1 raised an exception", APP, WARNING),
    Xid(84, "video decoder", "decoder 2 raised an exception", APP, WARNING),
    Xid(85, "copy engine 9", "a copy engine failed", RESET, WARNING),
    Xid(86, "optical flow", "the optical-flow engine failed", APP, WARNING),
    Xid(88, "video decoder", "decoder 3 raised an exception", APP, WARNING),
    Xid(89, "video decoder", "decoder 4 raised an exception", APP, WARNING),
    Xid(92, "many corrected errors", "single-bit memory errors come unusually often", SUPPORT, WARNING),
    Xid(93, "InfoROM wear", "the board's small memory is written too often", IGNORE, INFO),
    Xid(
        94,
        "contained memory error",
        "an uncorrected error hit one program only, which was ended",
        RESET,
        WARNING,
    ),
    Xid(95, "uncontained memory error", "an uncorrected error may have hit every program", RESET, CRITICAL),
    Xid(109, "context switch timeout", "an engine did not let go of a program in time", RESET, CRITICAL),
    Xid(110, "security fault", "a security check of the GPU failed", REBOOT, CRITICAL),
    Xid(119, "GSP timeout", "the GPU's system processor does not answer the driver", RESET, CRITICAL),
    Xid(120, "GSP error", "the GPU's system processor failed", RESET, CRITICAL),
    Xid(121, "C2C link", "the link between CPU and GPU corrected an error", IGNORE, WARNING),
    Xid(122, "SPI read", "the board's flash could not be read", SUPPORT, WARNING),
    Xid(123, "SPI write", "the board's flash could not be written", SUPPORT, WARNING),
    Xid(124, "SPI erase", "the board's flash could not be erased", SUPPORT, WARNING),
    Xid(125, "InfoROM file system", "the board's small memory is damaged", SUPPORT, WARNING),
    Xid(136, "link training", "an NVLink could not be trained", NVLINK, CRITICAL),
    Xid(137, "fabric fault", "an access over NVLink was refused; often an error at the peer", APP, WARNING),
    Xid(140, "unrecovered ECC", "a memory error was neither corrected nor contained", RESET, CRITICAL),
    Xid(141, "channel error", "a channel failed and was removed", APP, WARNING),
    Xid(142, "video encoder 3", "an encoder failed", APP, WARNING),
    Xid(143, "GPU start", "the GPU could not be initialised", REBOOT, CRITICAL),
    Xid(144, "NVLink 5: SAW", "an NVLink error in the access layer", NVLINK, CRITICAL),
    Xid(145, "NVLink 5: RLW", "an NVLink error in the reliability layer", NVLINK, CRITICAL),
    Xid(146, "NVLink 5: TLW", "an NVLink error in the transaction layer", NVLINK, CRITICAL),
    Xid(147, "NVLink 5: TREX", "an NVLink error in its traffic unit", NVLINK, CRITICAL),
    Xid(148, "NVLink 5: control", "an NVLink error in its control unit", NVLINK, CRITICAL),
    Xid(149, "NVLink 5: network", "an NVLink error in the physical or link layer", NVLINK, CRITICAL),
    Xid(150, "NVLink 5: MSE", "an NVLink error in its management engine", NVLINK, CRITICAL),
    Xid(151, "key rotation", "keys of confidential computing could not be changed", REBOOT, CRITICAL),
    Xid(154, "recovery wanted", "the driver changed what it advises; the line says what", RESET, WARNING),
    Xid(155, "NVLink by software", "software reported an NVLink error", NVLINK, WARNING),
    Xid(156, "resource retired", "a part was taken out of use", RESET, WARNING),
    Xid(157, "retirement failed", "a bad part could not be taken out of use", SUPPORT, CRITICAL),
    Xid(158, "fatal timeout", "the GPU did not answer in time and cannot go on", RESET, CRITICAL),
    Xid(160, "channel retired", "a channel of memory was taken out of use", RESET, WARNING),
    Xid(161, "retirement failed", "a bad channel of memory could not be taken out of use", SUPPORT, CRITICAL),
    Xid(167, "PCIe timeout", "PCIe did not answer in time and cannot go on", CABLES, CRITICAL),
)

BY_NUMBER = {row.number: row for row in ROWS}


def find_xid(number: int) -> Xid:
    """Return the row of an XID; one that is not in the table is told as such."""
    unknown = Xid(number, "not in our table", "see the vendor's list of XIDs", "ask the vendor", WARNING)
    return BY_NUMBER.get(number, unknown)


def describe_xid(number: int) -> str:
    """Return an XID as a sentence for people: what it is and what to do."""
    row = find_xid(number)
    return f"XID {number}, {row.name}: {row.meaning}. To do: {row.action}."


def get_severity(number: int) -> str:
    """Return how bad an XID is: info, warning or critical."""
    return find_xid(number).severity
