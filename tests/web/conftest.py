"""Fixtures of the page's routes."""

from collections.abc import AsyncIterator

import pytest

from tests.web.wire import Served, serving


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """The page's application over a double of the desk."""
    async with serving() as found:
        yield found
