package import Contract
import FoundationEssentials

/// A frame that the server writes.
package enum ServerFrame: Sendable, Equatable {
    case challenge(RegisterChallenge)
    case registered(RegisterAck)
    case refreshed(SessionGrant)
    case loggedOut
    case pong(Pong)
    case accepted(MessageAccepted)
    case received(ReceivedMessage)
    case page(PendingPage)
    case delivered(MessageDelivered)
    case expired(MessageExpired)
    case refused(ServerRefusal)
    /// A type that this release does not know. Ignored: servers may grow.
    case unknown(String)

    /// - Returns: the frame, and the id of the request that it answers.
    package static func decode(_ text: [UInt8]) throws(FrameError) -> (frame: ServerFrame, requestID: String?) {
        let data = Data(text)
        let decoder = JSONDecoder()
        do {
            let head = try decoder.decode(Head.self, from: data)
            func payload<P: Decodable>(_: P.Type = P.self) throws -> P {
                try decoder.decode(Body<P>.self, from: data).payload
            }
            let frame: ServerFrame =
                switch head.type {
                case "register_challenge": .challenge(try payload())
                case "register_ack": .registered(try payload())
                case "session_refresh_ack": .refreshed(try payload())
                case "logout_ack": .loggedOut
                case "pong": .pong(try payload())
                case "message_accepted": .accepted(try payload())
                case "message_received": .received(try payload())
                case "pending_messages": .page(try payload())
                case "message_delivered": .delivered(try payload())
                case "message_expired": .expired(try payload())
                case "error": .refused(try payload())
                default: .unknown(head.type)
                }
            return (frame, head.requestId)
        } catch {
            throw .malformed
        }
    }

    private struct Head: Decodable {
        var type: String
        var requestId: String?
    }

    private struct Body<P: Decodable>: Decodable {
        var payload: P
    }
}

package enum FrameError: Error, Equatable {
    /// Not a frame of this protocol. The server's fault.
    case malformed
}

package struct RegisterChallenge: Decodable, Sendable, Equatable {
    package var challengeId: String
    package var challenge: String
    package var expiresAt: Int64
}

package struct RegisterAck: Decodable, Sendable, Equatable {
    package var whisperId: String
    package var sessionToken: String
    package var sessionExpiresAt: Int64
    package var serverTime: Int64
}

package struct SessionGrant: Decodable, Sendable, Equatable {
    package var sessionToken: String
    package var sessionExpiresAt: Int64
    package var serverTime: Int64
}

package struct Pong: Decodable, Sendable, Equatable {
    package var timestamp: Int64?
    package var serverTime: Int64
}

package struct MessageAccepted: Decodable, Sendable, Equatable {
    package var messageId: String
    package var status: String
}

package struct ReceivedMessage: Codable, Sendable, Equatable {
    package var messageId: String
    package var from: String
    package var to: String
    package var msgType: String
    package var timestamp: Int64
    package var nonce: String
    package var ciphertext: String
    package var sig: String
    package var groupId: String?
    package var replyTo: String?

    var sealed: SealedMessage {
        SealedMessage(
            messageID: self.messageId, from: self.from, to: self.to, groupID: self.groupId,
            timestamp: self.timestamp, nonce: self.nonce, ciphertext: self.ciphertext, signature: self.sig)
    }
}

package struct PendingPage: Decodable, Sendable, Equatable {
    package var messages: [ReceivedMessage]
    package var nextCursor: String?
}

package struct MessageDelivered: Decodable, Sendable, Equatable {
    package var messageId: String
    package var status: String
    package var timestamp: Int64
    package var from: String?
    package var groupId: String?
}

package struct MessageExpired: Decodable, Sendable, Equatable {
    package var messageId: String
    package var to: String
}

/// An `error` frame.
package struct ServerRefusal: Decodable, Sendable, Equatable {
    /// As the server wrote it; a code this release does not know counts as final.
    package var code: String
    package var message: String
    package var requestId: String?
    package var retryAfterMs: Int64?

    package var errorCode: ErrorCode? { ErrorCode(rawValue: self.code) }
}
