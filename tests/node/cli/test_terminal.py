"""What is for a person goes over `/dev/tty`, and not at all without one."""

import os
import subprocess
import sys
from pathlib import Path

from tests.node.cli.screen import Screen

ROOT = Path(__file__).parents[3]
BEGIN = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom node.cli.terminal import Terminal\n"


def script(text: str) -> list[str]:
    return [sys.executable, "-I", "-c", f"{BEGIN}{text}"]


def on_screen(text: str) -> Screen:
    return Screen(script(text), environment=os.environ)


def test_there_is_no_way_without_a_terminal() -> None:
    done = subprocess.run(
        script("from node.cli.stop import Stop\ntry: Terminal()\nexcept Stop as e: print(e.code)"),
        input=b"y\n",
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    assert done.stdout == b"no_terminal\n"


def test_a_secret_is_not_shown_and_not_taken_from_standard_input() -> None:
    with on_screen("with Terminal() as t: print(repr(t.secret('Passphrase:')))") as screen:
        screen.expect("Passphrase:")
        screen.type("hush häß")
        code, output = screen.end()
        assert (code, output) == (0, "'hush häß'\n")
        assert "hush" not in screen.shown


def test_echo_is_back_after_an_interrupted_secret() -> None:
    text = (
        "t = Terminal()\n"
        "try: t.secret('Passphrase:')\n"
        "except KeyboardInterrupt: pass\n"
        "t.ask('Again:')"
    )
    with on_screen(text) as screen:
        screen.expect("Passphrase:")
        screen.interrupt()
        screen.expect("Again:")
        screen.type("seen")
        assert screen.end()[0] == 0
        assert "seen" in screen.shown


def test_only_yes_is_yes() -> None:
    text = (
        "from node.cli.stop import Stop\n"
        "with Terminal() as t:\n"
        "  for n in range(4):\n"
        "    try: t.confirm(f'{n}?'); print('yes')\n"
        "    except Stop as e: print(e.code)"
    )
    with on_screen(text) as screen:
        for number, typed in enumerate(("", "n", "yes please", "y")):
            screen.expect(f"{number}? [y/N]")
            screen.type(typed)
        assert screen.end() == (0, "not_confirmed\n" * 3 + "yes\n")


def test_what_was_typed_before_the_prompt_does_not_count() -> None:
    text = (
        "import select\n"
        "with Terminal() as t:\n"
        "  t.show(['ready'])\n"
        "  select.select([0], [], [])\n"
        "  print(t.ask('Sure?'))"
    )
    with on_screen(text) as screen:
        screen.expect("ready")
        screen.type("y")
        screen.expect("Sure?")
        screen.type("later")
        assert screen.end() == (0, "later\n")


def test_a_long_text_is_read_to_its_end_or_not_at_all() -> None:
    text = (
        "from node.cli.stop import Stop\n"
        "with Terminal() as t:\n"
        "  try: t.show([f'line {n}.' for n in range(300)])\n"
        "  except Stop as e: print(e.code)\n"
        "  t.show([f'again {n}.' for n in range(300)])\n"
    )
    with on_screen(text) as screen:
        screen.expect("line 22 of 300: Enter for more, q to stop --")
        screen.type("q")
        assert "line 299." not in screen.expect("again 0.")
        for line in range(22, 300, 22):
            screen.expect(f"line {line} of 300: Enter for more, q to stop --")
            screen.type("")
        screen.expect("again 299.")
        assert screen.end() == (0, "not_confirmed\n")
