"""``python -m cdevice devices``: the devices here, and why others are missing."""

from __future__ import annotations

import json

from .show import OK, as_dict, columns, detail, paint, plain, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Device


def missing_backends(devices: Any) -> Any:
    """Backends without a single device: [(name, why, what to install)]."""
    import cdevice

    have = {int(d.type_id) for d in devices}
    out = []
    for info in cdevice.list_backends().values():
        if info.type_id in have:
            continue
        why = info.error or reason(info.type_id)
        hint = info.hint or ""
        out.append((info.name, " ".join(why.replace(hint, "").split()).rstrip("; "), hint))
    return out


def reason(type_id: int) -> Any:
    """Why a backend has no device here, in its own words."""
    import cdevice

    from .._core import check, ffi, lib
    from .._devices.device import type_name

    try:
        check(lib.cdv_device_count(type_id, ffi.new("int64_t *")))
    except cdevice.Error as e:
        return str(e).removeprefix(f"{type_name(type_id)}: cannot be used here: ")
    return "no device found"


def device_row(device: Device) -> Any:
    """(device, its own name, driver and memory), for `columns`; a device that fails shows its error."""
    import cdevice

    try:
        info = as_dict(device.info)
        name = device.name or ""
    except cdevice.Error as exc:
        return str(device), f"{type(exc).__name__}: {exc}"
    parts = [str(info[key]) for key in ("platform", "vendor", "driver") if info.get(key)]
    total, free = info.get("total_bytes") or -1, info.get("free_bytes") or -1
    if total > 0:
        parts.append(f"{size(free)} of {size(total)} free" if 0 < free < total else size(total))
    if info.get("alignment"):
        parts.append(f"alignment {info['alignment']}")
    return str(device), name, ", ".join(dict.fromkeys(parts))


def details(device: Device) -> dict[str, Any]:
    """The properties of a device, or its error."""
    import cdevice

    try:
        info = device.info
    except cdevice.Error as e:
        return {"name": None, "info": {}, "error": f"{type(e).__name__}: {e}"}
    out = {"name": info.name, "info": plain(as_dict(info))}
    notes = device._notes()
    return {**out, "notes": notes} if notes else out


def run(args: Any) -> Any:
    import cdevice

    devices = cdevice.devices()
    missing = missing_backends(devices)
    if args.json:
        data = {
            "version": getattr(cdevice, "__version__", None),
            "devices": [
                {
                    "device": str(d),
                    "type": getattr(d.type, "name", str(d.type)),
                    "type_id": int(d.type_id),
                    "id": int(d.id),
                    **details(d),
                }
                for d in devices
            ],
            "unavailable": [{"backend": n, "error": w, "hint": h or None} for n, w, h in missing],
        }
        print(json.dumps(data, indent=2))
        return OK

    print("\n".join(columns([(paint(d, "green"), *more) for d, *more in map(device_row, devices)], indent="")))
    if args.verbose:
        for d in devices:
            found = details(d)
            info = {**found["info"], **({"error": found["error"]} if "error" in found else {})}
            print(f"\n{paint(d, 'bold')}  (device type {int(d.type_id)}, id {int(d.id)})")
            rows = [(k, detail(k, v)) for k, v in info.items() if v not in (None, "", -1)]
            print("\n".join(columns(rows + [("runtime", note) for note in found.get("notes", ())])))
    if missing:
        print(paint("\nnot available", "bold"))
        print(
            "\n".join(
                hints(missing) if args.verbose else columns([(paint(n, "yellow"), short(w)) for n, w, _ in missing])
            )
        )
        if not args.verbose and any(h for _, _, h in missing):
            print("\n(-v shows what was tried and what to install)")
    return OK


def short(why: str) -> str:
    """A reason without what was tried and what to do; -v has these."""
    for end in ("; tried", "; install", " ($CDEVICE_"):
        why = why.partition(end)[0]
    return why


def hints(missing: Any) -> Any:
    out = []
    for name, why, hint in missing:
        out.append(f"  {name}: {why}")
        out += [f"      {line}" for line in str(hint).splitlines() if line.strip()]
    return out
