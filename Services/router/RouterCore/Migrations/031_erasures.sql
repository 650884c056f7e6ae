-- An erasure finds those who have written to the erased identity.
CREATE INDEX peers_peer ON router.peers (peer);
