"""What should happen: pure functions, state in, decision out. No async, clock, logging, network."""
