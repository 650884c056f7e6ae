package import Contract

/// What a `report` is answered with.
package enum ReportReplies {
    package static func filed(_ id: UUIDText) -> Answer { .reply(ReportAck(reportID: id)) }

    package static let unknownTarget = Answer.refused(Refusal(.notFound, "there is no such identity"))
    package static let forgedEvidence = Answer.refused(
        Refusal(.invalidPayload, "evidence: not a message that the target has signed for you"))
    package static let tooMany = Answer.refused(
        Refusal(
            .rateLimited, "too many of your reports are open: wait until some are reviewed",
            retryAfterMilliseconds: OperatorsLimits.reportRetryAfter.milliseconds))
}
