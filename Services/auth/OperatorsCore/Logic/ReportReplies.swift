package import Contract

/// What a `report` is answered with.
package enum ReportReplies {
    package static func filed(_ id: UUIDText) -> Answer { .reply(ReportAck(reportID: id)) }

    package static let unknownTarget = Answer.refused(Refusal(.notFound, "there is no such identity"))
    package static let forgedEvidence = Answer.refused(
        Refusal(.invalidPayload, "evidence: not a message that the target has signed for you"))
    package static let tooMany = Answer.refused(
        Refusal(
            .rateLimited, "too many of your reports are open, or too much evidence: wait until some are reviewed",
            retryAfterMilliseconds: OperatorsLimits.reportRetryAfter.milliseconds))
    package static let evidenceTooLarge = Answer.refused(
        Refusal(.invalidPayload, "evidence: too large for a message that the server does not know (any more)"))
    package static let noRoom = Answer.refused(
        Refusal(
            .rateLimited, "nothing more is kept now for identities that nobody has exchanged messages with",
            retryAfterMilliseconds: OperatorsLimits.reportRetryAfter.milliseconds))
}
