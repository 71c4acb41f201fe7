"""Scripts of three machines: eight H100, eight A100 with one split by MIG, and a GeForce."""

from __future__ import annotations

GIB = 1 << 30


def h100() -> list[str]:
    """Return the script of eight busy H100 with NVSwitch, with constant values."""
    return [
        *_system(8, "550.54.15", "12.550.54.15", "12040"),
        *_identities(8, "GPU-c0ffee{:02x}-1111-2222-3333-444455556666", "1C"),
        *_every(
            *_common("NVIDIA H100 80GB HBM3", 80 * GIB, 1 * GIB, 40 * GIB),
            *("power.usage 650500", "power.limit 700000", "power.enforced 700000"),
            *("clock.sm 1980", "clock.mem 2619", "clock.max.sm 1980", "clock.max.mem 2619"),
            *("pcie.gen 5", "pcie.width 16", "pcie.gen.max 5", "pcie.width.max 16", "pcie.replay 0"),
            *("temperature.gpu 61", "field.82 70", "threshold.slowdown 95"),
            *("field.83 1000000+650500/s", *_datacentre_fields(), *_links(18)),
            *("mig.mode 0", "fabric.state 3", "fabric.status 0", "fabric.health 0"),
            *("field.197 4096", "field.198 8192", "licensed 0", "gpm.supported 1"),
            *(f"gpm.{number} {value}" for number, value in GPM.items()),
        ),
    ]


def a100() -> list[str]:
    """Return the script of eight A100. GPU 0 is split into two MIG instances."""
    lines = [
        *_system(8, "535.129.03", "12.535.129.03", "12020"),
        *_identities(8, "GPU-a1000{:03x}-1111-2222-3333-444455556666", "07"),
        *_every(
            *_common("NVIDIA A100-SXM4-40GB", 40 * GIB, GIB // 2, 10 * GIB),
            *("power.usage 250250", "power.limit 400000", "power.enforced 400000"),
            *("clock.sm 1410", "clock.mem 1215", "clock.max.sm 1410", "clock.max.mem 1215"),
            *("pcie.gen 4", "pcie.width 16", "pcie.gen.max 4", "pcie.width.max 16", "pcie.replay 2"),
            *("temperature.gpu 45", "field.82 50", "threshold.slowdown 90"),
            *("field.83 500000+250250/s", *_datacentre_fields(), *_links(12), "mig.mode 0", "licensed 0"),
        ),
        *("0 mig.mode 1", "0 utilization.gpu none", "0 utilization.memory none"),
    ]
    for slot, instance, profile, size in ((0, 1, "3g.20gb", 20), (1, 5, "1g.5gb", 5)):
        lines += [
            f"0/{slot} uuid MIG-0000000{slot}-1111-2222-3333-444455556666",
            f"0/{slot} name NVIDIA A100-SXM4-40GB MIG {profile}",
            *(f"0/{slot} instance {instance}", f"0/{slot} compute 0"),
            *(f"0/{slot} memory.total {size * GIB}", f"0/{slot} memory.reserved 0"),
            f"0/{slot} memory.used {(slot + 1) * GIB}",
        ]
    return lines


def geforce() -> list[str]:
    """Return the script of a GeForce: no ECC, NVLink, MIG or profiling counters, but a fan."""
    return [
        *_system(1, "545.23.08", "12.545.23.08", "12030"),
        *_identities(1, "GPU-9e0c{:04x}-1111-2222-3333-444455556666", "01"),
        *_every(
            *_common("NVIDIA GeForce RTX 3090", 24 * GIB, GIB // 4, 2 * GIB),
            *("power.usage 30125", "power.limit 350000", "power.enforced 350000"),
            *("clock.sm 210", "clock.mem 405", "clock.max.sm 2100", "clock.max.mem 9751"),
            *("pcie.gen 1", "pcie.width 16", "pcie.gen.max 4", "pcie.width.max 16", "pcie.replay 0"),
            *("temperature.gpu 35", "threshold.slowdown 95", "fan.0 30", "field.83 9000+30125/s"),
        ),
    ]


# Metrics by number: percent of time, from 20 on MiB per second.
GPM = dict(zip(range(1, 8), (99.5, 90.25, 45.5, 10, 60.75, 1, 58), strict=True))
GPM |= {9: 2, 10: 70.5, 11: 0, 12: 12.5, 13: 3, 20: 1000, 21: 2000, 60: 30000, 61: 31000}


def _system(count: int, driver: str, nvml: str, cuda: str) -> list[str]:
    return [f"system count {count}", f"system driver {driver}", f"system nvml {nvml}", f"system cuda {cuda}"]


def _identities(count: int, uuid: str, bus: str) -> list[str]:
    lines = []
    for gpu in range(count):
        place = f"00000000:{int(bus, 16) + gpu * 16:02X}:00.0"
        lines += [f"{gpu} uuid {uuid.format(gpu)}", f"{gpu} pci {place}", f"{gpu} minor {gpu}"]
        lines.append(f"{gpu} serial 16500210{gpu:05}")
    return lines


def _every(*fields: str) -> list[str]:
    return [f"* {field}" for field in fields]


def _common(name: str, total: int, reserved: int, used: int) -> list[str]:
    return [
        *(
            f"name {name}",
            "vbios 96.00.74.00.01",
            f"memory.total {total}",
            f"memory.reserved {reserved}",
            f"memory.used {used}",
        ),
        *("utilization.gpu 97", "utilization.memory 41", "encoder 0", "decoder 0", "pstate 0", "reasons 0"),
    ]


def _datacentre_fields() -> list[str]:
    errors = [f"field.{number} {number - 3}" for number in (3, 4, 5, 6)]
    policies = [f"field.{number} {number}000" for number in range(74, 80)]
    rows = ["field.30 0", "field.31 0", *(f"field.{number} 0" for number in range(142, 146))]
    return [*errors, *policies, *rows, "retired.sbe 0", "retired.dbe 0", "retired.pending 0"]


def _links(count: int) -> list[str]:
    totals = ["field.38 0", "field.45 0", "field.52 1", "field.59 0", "link.error 0"]
    both = ["field.138 1000000+50000/s", "field.139 2000000+40000/s"]
    each = [f"field.{field}.{link} {link}+1000/s" for field in (138, 139) for link in range(count)]
    return [f"links {count}", *totals, *both, *each]
