"""The first block of seeds (`tests.sim.blocks`); a file of its own, for a worker of its own."""

import pytest

from tests.sim.blocks import check_block


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_first_seeds_keep_every_promise(tmp_path_factory: pytest.TempPathFactory) -> None:
    check_block(0, tmp_path_factory)
