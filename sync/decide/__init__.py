"""What decides: asks, votes, finals, hand-overs, people and cards, as pure functions."""
