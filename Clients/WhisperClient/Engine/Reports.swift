package import Contract

/// Reports to the operators of the server.
extension WhisperClient {
    /// - Parameters:
    ///   - note: of the person here. The operators read it.
    ///   - evidence: a message of `target`.
    package func report(
        _ target: WhisperID, _ reason: Report.Reason, note: String?, evidence: Evidence? = nil
    ) async throws(InquiryError) -> UUIDText {
        let answer = try await self.inquire {
            ReportFrame(
                sessionToken: $0, targetId: "\(target)", reason: reason.rawValue, note: note,
                evidence: evidence.map(ReportFrame.Message.init))
        }
        guard let ack = answer as? ReportAck else { throw .noAnswer }
        return ack.reportID
    }
}

struct ReportFrame: ClientPayload {
    static let type = "report"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var targetId: String
    var reason: String
    var note: String?
    var evidence: Message?

    /// A `message_received`, as far as it is signed.
    struct Message: Encodable {
        var messageId: String
        var from: String
        var to: String
        var groupId: String?
        var msgType: String
        var timestamp: Int64
        var nonce: String
        var ciphertext: String
        var sig: String

        init(_ evidence: Evidence) {
            let sealed = evidence.sealed
            self.messageId = sealed.messageID
            self.from = sealed.from
            self.to = sealed.to
            self.groupId = sealed.groupID
            self.msgType = evidence.messageType
            self.timestamp = sealed.timestamp
            self.nonce = sealed.nonce
            self.ciphertext = sealed.ciphertext
            self.sig = sealed.signature
        }
    }
}
