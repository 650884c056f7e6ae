package import Contract
import ContractSchema

/// The verdict of the contract's own reader on a frame of either side.
package enum FrameVerdict {
    /// - Returns: `nil` if the frame is valid.
    package static func violation(of message: [UInt8], from side: DocumentedFrame.Side) -> PayloadViolation? {
        guard String(validating: message, as: UTF8.self) != nil else { return PayloadViolation("", "must be UTF-8") }
        do throws(FrameDecoder.Failure) {
            let envelope = try FrameDecoder.envelope(of: message)
            return self.violation(of: envelope, in: message, from: side)
        } catch {
            return error.violation
        }
    }

    private static func violation(
        of envelope: FrameDecoder.Envelope, in message: [UInt8], from side: DocumentedFrame.Side
    ) -> PayloadViolation? {
        do throws(PayloadViolation) {
            switch side {
            case .client:
                guard let frame = self.clients[envelope.type] else { throw self.unknown }
                return frame.rule(try FrameDecoder.payload(envelope, of: message, schema: frame.schema))
            case .server:
                guard let frame = self.servers[envelope.type] else { throw self.unknown }
                _ = try FrameDecoder.payload(envelope, of: message, schema: frame.schema)
                return nil
            }
        } catch {
            return error
        }
    }

    private static let unknown = PayloadViolation("type", "is not a frame of this protocol")
    private static let clients = Dictionary(uniqueKeysWithValues: FrameCatalogue.all.map { ($0.type, $0) })
    private static let servers = Dictionary(uniqueKeysWithValues: ServerFrameCatalogue.all.map { ($0.type, $0) })
}

/// A made-up frame and what the contract says of it.
package struct JudgedFrame: Sendable {
    /// The frame that it was meant to be.
    package let frame: DocumentedFrame
    package let message: String
    /// `nil` if it is valid.
    package let violation: PayloadViolation?

    /// One line of JSON, for validators that are not ours.
    package var line: String {
        Document.members([
            ("side", .string(self.frame.side.rawValue)), ("frame", .string(self.message)),
            ("isValid", .bool(self.violation == nil)), ("violation", self.violation.map { .string("\($0)") }),
        ]).line
    }
}
