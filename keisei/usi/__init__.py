"""A USI engine: the network as a player for any shogi program. The protocol is described in docs/usi.md."""
