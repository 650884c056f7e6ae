import Bus
import Contract
import NIOCore
import ServerCrypto
import Telemetry

/// Replies and refusals to clients.
extension Gateway {
    /// Frames that the gateway itself handles.
    func answer(_ frame: ReceivedFrame, on connection: Connection) {
        switch frame.definition.type {
        case Ping.definition.type: self.pong(frame, on: connection)
        case SendLivePacket.definition.type: self.live.packet(frame, on: connection, self)
        case LiveResync.definition.type: self.live.resync(frame, on: connection, self)
        case SendLiveAttention.definition.type: self.live.attention(frame, on: connection, self)
        default: self.refuseUnhandled(frame, on: connection)
        }
    }

    /// Our own bug: no frame of the catalogue comes here.
    func refuseUnhandled(_ frame: ReceivedFrame, on connection: Connection) {
        assertionFailure("\(frame.definition.type) has no handler")
        self.logger.error(
            "frame without a handler",
            [.frame: "\(frame.definition.type)", .connId: .number(connection.id.value)])
        self.refuse(connection, .unavailable, requestID: frame.requestID)
    }

    private func pong(_ frame: ReceivedFrame, on connection: Connection) {
        let timestamp = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try payload[Ping.timestamp]
        }
        guard let timestamp else { return }
        self.reply(connection, Pong(timestamp: timestamp, serverTime: .now), requestID: frame.requestID)
    }

    func reply(_ connection: Connection, type: String, payload: [UInt8], requestID: String?) {
        let head = ServerFrameDefinition.head(type: type, requestID: requestID)
        self.metrics.framesOut.increment()
        self.write(to: connection) { WebSocketWriter.text(head, payload, ServerFrameDefinition.tail, to: &$0) }
    }

    func refuse(_ connection: Connection, _ refusal: Refusal, requestID: String?) {
        self.metrics.errors.answered(refusal.code)
        self.reply(connection, ErrorFrame(refusal, requestID: requestID), requestID: requestID)
    }
}

extension Refusal {
    static let notRegistered = Refusal(.notRegistered, "no valid session; register first")
    /// - Parameter wait: milliseconds.
    static func overUnknownTokens(_ wait: Int64) -> Refusal {
        Refusal(
            .rateLimited, "too many unknown session tokens and failed logins from this address",
            retryAfterMilliseconds: wait)
    }

    static let banned = Refusal(.userBanned, "the identity is banned")
    static let bannedGuest = Refusal(.userBanned, "the guest is banned")
    static let anotherPrincipal = Refusal(.authFailed, "the connection belongs to another identity or guest")
    static let tooManyWait = Refusal(.internalError, "too many frames wait; safe to retry with the same id")
    static let unavailable = Refusal(.internalError, "not accepted; safe to retry with the same id")
}
