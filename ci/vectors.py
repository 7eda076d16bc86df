"""Which CPU kernels have vector instructions on one processor and not on the other; used by `ci/arch arm64 vectors`.

    vectors.py BASE_OBJDUMP BASE_OBJECT V3_OBJDUMP V3_OBJECT

A kernel has them where its loops compute with whole registers: loads, stores and moves do not count."""

import re
import subprocess
import sys

NEON = re.compile(r"\t(?!ld|st|mov|dup|umov|ins|fmov|movi)\w+\s+v\d+\.(16b|8h|4s|2d)")
AVX2 = re.compile(r"\t(vp(?!broad|ins|ext|xor|shuf|unpck|blend|or\b|alignr)\w+|v\w+(ps|pd))\s.*[xy]mm")


def kernels(program, path, vector):
    """{name: (vector instructions, instructions)}"""
    listing = subprocess.run([program, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    found, name = {}, None
    for line in listing.stdout.splitlines():
        if begin := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            name = begin[1]
            found[name] = (0, 0)
        elif name and re.match(r"\s+[0-9a-f]+:", line):
            vectors, every = found[name]
            found[name] = (vectors + bool(vector.search(line)), every + 1)
    return found


def main(base_objdump, base_object, v3_objdump, v3_object):
    base, v3 = kernels(base_objdump, base_object, NEON), kernels(v3_objdump, v3_object, AVX2)
    both = sorted(set(base) & set(v3))
    alone = [name for name in both if v3[name][0] > 3 and not base[name][0]]
    print(f"{len(both)} kernels: {sum(base[n][0] > 0 for n in both)} have vector instructions of NEON,")
    print(f"{sum(v3[n][0] > 3 for n in both)} more than three of AVX2; of AVX2 alone {len(alone)}:")
    for name in alone:
        print(f"  {name}: {v3[name][0]} of {v3[name][1]} instructions, none of {base[name][1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
