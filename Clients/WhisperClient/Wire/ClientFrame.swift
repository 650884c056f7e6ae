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

extension ClientPayload {
    /// The frame as text.
    package func encoded(requestID: String?) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Our own plain values: encoding them cannot fail.
        return try! Array(encoder.encode(PayloadEnvelope(type: Self.type, requestId: requestID, payload: self)))
    }
}

private struct PayloadEnvelope<P: Encodable>: Encodable {
    var type: String
    var requestId: String?
    var payload: P
}
