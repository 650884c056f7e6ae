package import Contract

/// Reports to the operators of the server.
extension WhisperClient {
    /// - Parameter note: of the person here. The operators read it.
    package func report(
        _ target: WhisperID, _ reason: Report.Reason, note: String?
    ) async throws(InquiryError) -> UUIDText {
        let answer = try await self.inquire {
            ReportFrame(sessionToken: $0, targetId: "\(target)", reason: reason.rawValue, note: note)
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
}
