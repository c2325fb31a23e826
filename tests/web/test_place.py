"""What a signed-in place is called in the list of places."""

import pytest

from web.limits import WHERE_CHARACTERS
from web.place import place, printable

CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
SAFARI = "Mozilla/5.0 ({}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15"


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
         "Firefox on Linux"),
        (CHROME.format("Windows NT 10.0; Win64; x64"), "Chrome on Windows"),
        (CHROME.format("Linux; Android 14; Pixel 8"), "Chrome on Android"),
        (CHROME.format("Windows NT 10.0; Win64; x64") + " Edg/126.0.0.0", "Edge on Windows"),
        (SAFARI.format("Macintosh; Intel Mac OS X 10_15_7"), "Safari on macOS"),
        (SAFARI.format("iPhone; CPU iPhone OS 17_4 like Mac OS X"), "Safari on iPhone"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "an unnamed program"),
        ("\x1b[31m\u202e", "?[31m?"),
    ],
)  # fmt: skip
def test_a_browser_by_its_own_words(user_agent: str, expected: str) -> None:
    assert place(user_agent) == expected


def test_words_are_one_short_line() -> None:
    assert printable(" a\tb  c ") == "a?b c"
    assert len(printable("x" * 1000)) == WHERE_CHARACTERS
