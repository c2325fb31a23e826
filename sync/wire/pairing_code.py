"""The code that two machines are paired with: twelve random symbols and one that checks them.

60 bits in Crockford's base32, shown as `K7QF-9M2D-XW4T-X`. The last symbol finds any one
mistyped symbol and any two that were swapped, so that a slip does not spend the code.
"""

from typing import Final

from sync.errors import Invalid

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SYMBOLS: Final = 12
BITS: Final = 5
RANDOM_BYTES: Final = 8
"""64 bits, of which 60 are used."""
GROUP: Final = 4
DASHES: Final = "-\u2010\u2011\u2013\u2014"
"""What programs make of a dash."""
_FIELD: Final = 0b100101
"""x^5 + x^2 + 1 makes 32 elements a field in which x is primitive."""
_VALUES: Final = {symbol: value for value, symbol in enumerate(ALPHABET)} | {
    "I": 1,
    "L": 1,
    "O": 0,
}
_LOOKS: Final = "A code looks like K7QF-9M2D-XW4T-X; capitals and dashes do not matter."


class Code:
    """A code. Secret: it appears in no log, which is why it does not show itself."""

    __slots__ = ("_symbols",)

    def __init__(self, symbols: str) -> None:
        self._symbols = symbols

    def __repr__(self) -> str:
        return "Code(…)"

    @property
    def secret(self) -> bytes:
        """What keys are derived from: the twelve symbols, capitals, without the check."""
        return self._symbols.encode("ascii")

    def shown(self) -> str:
        """Return the code as it is shown and typed."""
        whole = self._symbols + check_symbol(self._symbols)
        return "-".join(whole[at : at + GROUP] for at in range(0, len(whole), GROUP))


def new_code(random: bytes) -> Code:
    """Make a code of 8 random bytes; each of the 2^60 codes is equally likely."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a code is made of {RANDOM_BYTES} random bytes")
    bits = int.from_bytes(random, "big")
    return Code(
        "".join(ALPHABET[(bits >> BITS * (SYMBOLS - 1 - at)) & 31] for at in range(SYMBOLS))
    )


def read_code(text: str) -> Code:
    """Return the code that someone typed. Raises `Invalid`, before anything is spent."""
    symbols = [symbol for symbol in text.upper() if not symbol.isspace() and symbol not in DASHES]
    wrong = next((symbol for symbol in symbols if symbol not in _VALUES), None)
    if wrong is not None:
        raise Invalid(f"{wrong!r} is in no code.", hint=_LOOKS)
    if len(symbols) != SYMBOLS + 1:
        raise Invalid(f"A code has {SYMBOLS + 1} symbols; {len(symbols)} were typed.", hint=_LOOKS)
    plain = "".join(ALPHABET[_VALUES[symbol]] for symbol in symbols)
    if check_symbol(plain[:SYMBOLS]) != plain[SYMBOLS]:
        raise Invalid(
            "This code is mistyped somewhere.",
            hint="Compare it with the other screen; it was not used up.",
        )
    return Code(plain[:SYMBOLS])


def check_symbol(symbols: str) -> str:
    """Return the symbol that follows: the sum of x^12 s1 + x^11 s2 + … + x s12 in the field."""
    total = 0
    for symbol in symbols:
        total = _times_x(total ^ _VALUES[symbol])
    return ALPHABET[total]


def _times_x(element: int) -> int:
    doubled = element << 1
    return doubled ^ _FIELD if doubled > 31 else doubled
