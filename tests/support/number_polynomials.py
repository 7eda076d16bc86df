"""Where the constants of kernels/math/reals.h come from: ``python number_polynomials.py`` prints them (needs mpmath).

Each polynomial goes through its function at the Chebyshev points of its interval, which is within a fraction of a bit of
the best one; it is computed with 60 digits, and its coefficients are rounded once.
"""

import mpmath as mp

mp.mp.dps = 60


def interpolated(f, low, high, n):
    """The n coefficients of the polynomial through f at the Chebyshev points."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    points = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    rows = mp.matrix([[x**k for k in range(n)] for x in points])
    return [float(c) for c in mp.lu_solve(rows, mp.matrix([f(x) for x in points]))]


def behind(f, first, power):
    """f of x without the terms of a power series up to ``power``, divided by the next one's."""

    def g(x):
        x = x if abs(x) > 1e-15 else mp.mpf(10) ** -15
        return (f(x) - first(x)) / x**power

    return g


def of_square(g):
    """A function of x as one of x squared."""
    return lambda z: g(mp.sqrt(z)) if z else g(mp.mpf(10) ** -12)


LN2 = mp.log(2)
ROOT = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)  # s of the greatest mantissa
TAN8 = mp.tan(mp.pi / 8)
POLYNOMIALS = {
    # e^r = 1 + r + r^2 EXP(r)
    "EXP": (behind(mp.exp, lambda r: 1 + r, 2), -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 11),
    # ln((1 + s) / (1 - s)) = 2 s + s z LOG(z), z = s^2
    "LOG": (of_square(behind(lambda s: mp.log((1 + s) / (1 - s)), lambda s: 2 * s, 3)), 0, ROOT**2 * 1.001, 8),
    # the same = 2 s (1 + z / 3 + z^2 LOG_REST(z))
    "LOG_REST": (
        of_square(behind(lambda s: mp.log((1 + s) / (1 - s)) / 2, lambda s: s + s**3 / 3, 5)),
        0,
        ROOT**2 * 1.001,
        9,
    ),
    # sin r = r + r z SIN(z), cos r = 1 - z / 2 + z^2 COS(z), z = r^2
    "SIN": (of_square(behind(mp.sin, lambda r: r, 3)), 0, (mp.pi / 4) ** 2 * 1.001, 7),
    "COS": (of_square(behind(mp.cos, lambda r: 1 - r**2 / 2, 4)), 0, (mp.pi / 4) ** 2 * 1.001, 7),
    # atan t = t + t z ATAN(z), z = t^2
    "ATAN": (of_square(behind(mp.atan, lambda t: t, 3)), 0, TAN8**2 * 1.001, 12),
}


def parts(x, bits):
    """x as a sum of floats, each of so many bits but the last one."""
    out = []
    for n in bits:
        with mp.workprec(n):
            part = +x
        out.append(float(part))
        x -= part
    return [*out, float(x)]


def nested(name, coefficients, x):
    text = repr(coefficients[-1])
    for c in coefficients[-2::-1]:
        text = f"({c!r} + {x} * {text})"
    return f"#define {name}_OF({x}) {text}"


def main():
    for name, (f, low, high, n) in POLYNOMIALS.items():
        coefficients = interpolated(f, low, high, n)
        print(nested(name, coefficients, "r" if name == "EXP" else "z"))
    for name, x, bits in (
        ("LN2", LN2, [32]),
        ("LOG2_E", 1 / LN2, [53]),
        ("LOG10_E", 1 / mp.log(10), [53]),
        ("LOG10_2", mp.log(2, 10), [40]),
        ("THIRD", mp.mpf(1) / 3, [53]),
        ("PI_HALF", mp.pi / 2, [53]),
        ("PI_FOURTH", mp.pi / 4, [53]),
        ("PI", mp.pi, [53]),
        ("PI_HALF_PART", mp.pi / 2, [33, 33, 33]),
        ("LN2_NEAR", LN2, [53]),
    ):
        for k, part in enumerate(parts(+x, bits)):
            print(f"#define {name}_{k} {part!r}")
    print(f"#define TWO_BY_PI {float(2 / mp.pi)!r}")
    with mp.workprec(1600):
        bits = int(mp.floor(2 / mp.pi * 2**1408))
    words = [bits >> 64 * (21 - k) & (1 << 64) - 1 for k in range(22)]
    print("TABLE(u64) two_by_pi_words[] = {0, " + ", ".join(f"{w:#018x}" for w in words) + "};")


if __name__ == "__main__":
    main()
