"""Over months texts stay as many as they are, and only what was decided grows."""

from pathlib import Path

from node.store.rebuild import compare
from tests.bench.year import Year, lived


def test_texts_level_off_and_decisions_grow_by_so_much_each(tmp_path: Path) -> None:
    year = Year(tmp_path / "home", machines=2, asks=3, keep_days=30)
    try:
        months = lived(year, 120, 30)
    finally:
        year.close()
    full, last = months[1], months[-1]
    for month in months[1:]:
        assert abs(month.texts - full.texts) < full.texts * 0.02
        assert month.blobs == full.blobs > 0
    added = last.entries - full.entries
    assert added == 60 * 2 * 3 * 8
    assert 300 < (last.kept - full.kept) / added < 700
    # What is freed is used again: the file grows by decisions, their rows and indexes alone.
    assert (last.file - full.file) / added < 1_250
    assert compare(tmp_path / "home") == []


def test_kept_for_ever_they_do_not(tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    year = Year(tmp_path / "home", machines=2, asks=1, keep_days=0)
    try:
        first, second = lived(year, 60, 30)
    finally:
        year.close()
    assert second.texts > first.texts * 1.9
