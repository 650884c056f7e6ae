import Contract
import FoundationEssentials

/// A frame that the client writes: its type name and its payload.
package protocol ClientPayload: Encodable, Sendable {
    static var type: String { get }
}

/// Payload fields of every privileged frame, and of bodies over HTTP (spec §3.1, §3.3).
enum Version {
    static let protocolVersion = 1
    static let cryptoVersion = 1
}

package enum ClientFrame {
    /// The frame as text.
    package static func encode<P: ClientPayload>(_ payload: P, requestID: String?) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Our own plain values: encoding them cannot fail.
        return try! Array(encoder.encode(Envelope(type: P.type, requestId: requestID, payload: payload)))
    }

    private struct Envelope<P: Encodable>: Encodable {
        var type: String
        var requestId: String?
        var payload: P
    }
}

package struct RegisterBegin: ClientPayload {
    package static let type = "register_begin"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var whisperId: String?
    package var deviceId: String
    package var platform: String

    package init(whisperId: String?, deviceId: String, platform: String) {
        self.whisperId = whisperId
        self.deviceId = deviceId
        self.platform = platform
    }
}

package struct RegisterProof: ClientPayload {
    package static let type = "register_proof"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var challengeId: String
    package var deviceId: String
    package var platform: String
    package var whisperId: String?
    package var encPublicKey: String
    package var signPublicKey: String
    package var signature: String

    package init(
        challengeId: String, deviceId: String, platform: String, whisperId: String?, encPublicKey: String,
        signPublicKey: String, signature: String
    ) {
        self.challengeId = challengeId
        self.deviceId = deviceId
        self.platform = platform
        self.whisperId = whisperId
        self.encPublicKey = encPublicKey
        self.signPublicKey = signPublicKey
        self.signature = signature
    }
}

package struct SessionRefresh: ClientPayload {
    package static let type = "session_refresh"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var sessionToken: String
    package init(sessionToken: String) { self.sessionToken = sessionToken }
}

package struct Logout: ClientPayload {
    package static let type = "logout"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var sessionToken: String
    package init(sessionToken: String) { self.sessionToken = sessionToken }
}

package struct Ping: ClientPayload {
    package static let type = "ping"
    package var timestamp: Int64
    package init(timestamp: Int64) { self.timestamp = timestamp }
}

package struct FetchPending: ClientPayload {
    package static let type = "fetch_pending"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var sessionToken: String
    package var cursor: String?
    package var limit: Int

    package init(sessionToken: String, cursor: String?, limit: Int) {
        self.sessionToken = sessionToken
        self.cursor = cursor
        self.limit = limit
    }
}

package struct SendMessage: ClientPayload {
    package static let type = "send_message"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var sessionToken: String
    package var messageId: String
    package var from: String
    package var to: String
    package var msgType: String
    package var timestamp: Int64
    package var nonce: String
    package var ciphertext: String
    package var sig: String
    var attachment: FilePointer?

    package init(_ message: SealedMessage, messageType: String, sessionToken: String) {
        self.sessionToken = sessionToken
        self.msgType = messageType
        self.messageId = message.messageID
        self.from = message.from
        self.to = message.to
        self.timestamp = message.timestamp
        self.nonce = message.nonce
        self.ciphertext = message.ciphertext
        self.sig = message.signature
    }
}

package struct DeliveryReceipt: ClientPayload {
    package static let type = "delivery_receipt"
    package var protocolVersion = Version.protocolVersion
    package var cryptoVersion = Version.cryptoVersion
    package var sessionToken: String
    package var messageId: String
    package var from: String
    package var to: String
    package var status: String
    package var timestamp: Int64

    package init(sessionToken: String, messageId: String, from: String, to: String, status: String, timestamp: Int64) {
        self.sessionToken = sessionToken
        self.messageId = messageId
        self.from = from
        self.to = to
        self.status = status
        self.timestamp = timestamp
    }
}
