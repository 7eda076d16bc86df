"""Regular expressions drawn by chance, of all that RE2's syntax has but classes of Unicode."""

LETTERS = "abckKsSſé日ß1_ .\n-A{}]"
ATOMS = [*"abcksKſéß日.^$-{}]1_ \n", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\b", "\\B", "\\A", "\\z", "a{", "\\."]
ATOMS += ["[a-c]", "[^a]", "[^a-z]", "[é-日]", "[[:alpha:]]", "[[:^digit:]_]", "[\\w-]", "[]a]", "[a-]", "[\\d.]"]
ATOMS += ["(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "\\x41", "\\x{e9}", "\\n", "\\Qa.b\\E", "\\101", "\\_"]
GROUPS = ["(", "(?:", "(?i:", "(?P<x>", "(?s:", "(?m-i:", "(?U:"]
REPEATS = "* + ? *? +? ?? {2} {1,3} {0,2}? {2,} {0} {,2} {0,1}".split()


def drawn(rng, depth):
    """A pattern; not each one is a regular expression."""
    chance = rng.random()
    if depth <= 0 or chance < 0.35:
        return rng.choice(ATOMS)
    if chance < 0.6:
        return drawn(rng, depth - 1) + drawn(rng, depth - 1)
    if chance < 0.76:
        either = drawn(rng, depth - 1) + "|" + drawn(rng, depth - 1)
        return f"({either})" if chance < 0.72 else either
    inner = drawn(rng, depth - 1)
    if chance < 0.82:
        return rng.choice(GROUPS) + inner + ")"
    return (f"(?:{inner})" if rng.random() < 0.8 else inner) + rng.choice(REPEATS)


def as_bytes(pattern):
    """As one for bytes: Latin-1, without the characters that this has not."""
    return pattern.translate({0x17F: "S", 0x65E5: "\xff"}).encode("latin-1")
