"""How many examples property tests try: few in every run, many with `--hypothesis-profile long`.

`tests.conftest` makes the profiles before any test module is read.
"""

from hypothesis import settings

SHORT = 100
"""Examples of a property in the profile that runs always; Hypothesis's own number."""
LONG = 5_000


def counted(examples: int) -> int:
    """Return how many examples to try where `examples` are enough for every run."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return examples * profile.max_examples // SHORT
