package import ClusterContract
package import Contract

/// Answers to `report`.
package enum ReportReplies {
    package static func filed(_ id: UUIDText) -> Answer { .reply(ReportAck(reportID: id)) }

    package static let unknownTarget = Answer.refused(Refusal(.notFound, "there is no such identity"))
    package static let forgedEvidence = Answer.refused(
        Refusal(.invalidPayload, "evidence: not a message that the target signed for the reporter"))
    package static let tooMany = Answer.refused(
        Refusal(
            .rateLimited, "too many open reports, or too much evidence; wait until some are reviewed",
            retryAfterMilliseconds: OperatorsLimits.reportRetryAfter.milliseconds))
    package static let evidenceTooLarge = Answer.refused(
        Refusal(.invalidPayload, "evidence: too large for a message that the server cannot verify"))
    package static let noRoom = Answer.refused(
        Refusal(
            .rateLimited, "too much is stored for identities without peers; try again later",
            retryAfterMilliseconds: OperatorsLimits.reportRetryAfter.milliseconds))
}
