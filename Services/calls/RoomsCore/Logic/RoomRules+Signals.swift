import ClusterContract
import Contract
import Participants
import ServerCrypto

/// Signalling between two participants (contract §15.2).
extension RoomRules {
    mutating func signal(_ frame: SendRoomSignal, _ context: RoomFrame) throws(Refusal) -> Answer {
        let caller = context.principal.id
        let room = try self.seat(of: caller, in: frame.room)
        guard let sender = room.participants[caller], let peer = room.participants[frame.to], frame.to != caller else {
            throw Refusal(.notFound, "no such participant")
        }
        let digest = SHA256.hash(RoomSignature.message(frame.signal, to: frame.to, in: frame.room).bytes)
        // The key of a participant that has signalled before is prepared: the check costs half as much.
        let signed = SignedDigest(signature: frame.signal.signature, digest: digest, key: sender.signPublicKey)
        guard Signatures.areValid([signed]) == [true] else { throw .badSignature }
        guard sender.place == context.connection else {
            throw Refusal(.forbidden, "the caller has not joined on this connection")
        }
        if self.signals.isRepeated(frame.signal.nonce, from: caller, in: room.id) { return .done }
        guard frame.signal.timestamp.isWithinSkew(of: context.receivedAt) else { throw .untimely }
        self.signalled.append(frame.kind)
        let signal = RoomSignal(room: room.id, kind: frame.kind, to: frame.to, signal: frame.signal)
        if let place = peer.reachable {
            self.effects.append(.frame(place, signal))
        } else {
            self.signals.keep(frame.kind, signal.json, from: caller, to: frame.to, in: room.id, at: self.time)
        }
        return .done
    }

    /// Sends a participant that is back the signals that were kept for it.
    mutating func follow(_ participant: PrincipalID, in room: UUIDText, on connection: LiveConnection) {
        for payload in self.signals.take(for: participant, in: room, at: self.time) {
            self.effects.append(.frame(connection, RenderedFrame(signal: payload)))
        }
    }
}
