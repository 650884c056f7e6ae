package import Contract

/// Reports to the operators of the server.
extension WhisperClient {
    /// - Parameters:
    ///   - note: of the person here. The operators read it.
    ///   - evidence: a message of `target`.
    package func report(
        _ target: WhisperID, _ reason: Report.Reason, note: String?, evidence: Evidence? = nil
    ) async throws(InquiryError) -> UUIDText {
        let envelope: SignedEnvelope?
        do throws(PayloadViolation) {
            envelope = if let evidence { try evidence.sealed.envelope(evidence.messageType) } else { nil }
        } catch {
            throw .refused(.invalidPayload, retryAfter: nil)
        }
        let report = Report(target, reason, note: note, evidence: envelope)
        guard let ack = try await self.inquire(report) as? ReportAck else { throw .noAnswer }
        return ack.reportID
    }
}
