package import Contract
package import HTTPAccess

/// What the operators' HTTP refuses.
extension HTTPRefusal {
    package static let unknownReport = HTTPRefusal(.notFound, "there is no such report")
    package static let unknownMessage = HTTPRefusal(.notFound, "nobody sent such a message lately")

    package static let unknownInvitation = HTTPRefusal(.notFound, "there is no such invitation")
    package static let tooManyInvitations = HTTPRefusal(
        .forbidden, "as many invitations are open as may be: revoke some")

    package static let unknownRateClass = HTTPRefusal(
        .invalidPayload, "rateClass: the setting RATE_CLASSES has no such class")
    package static let tooManyRateClasses = HTTPRefusal(
        .forbidden, "as many identities and open invitations have a class of rates as may: take some away")

    package static let unknownErasure = HTTPRefusal(.notFound, "there is no such erasure")
    package static let confirmationMismatch = HTTPRefusal(
        .invalidPayload, "confirm: names somebody else", reason: .confirmationMismatch)
    package static let tooManyErasures = HTTPRefusal(
        .rateLimited, "operators have ordered as many erasures as may be for now",
        retryAfter: OperatorsLimits.erasureRetryAfter.components.seconds)

    package static let notOneOfTwoIDs = HTTPRefusal.invalid(
        PayloadViolation("whisperId", "must be there, or guestId in its place"))

    package static func unknown(_ principal: PrincipalID) -> HTTPRefusal {
        switch principal {
        case .identity: .unknownIdentity
        case .guest: HTTPRefusal(.notFound, "there is no such guest")
        }
    }

    package static func badParameter(_ name: StaticString) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(name): not a value that it may have")
    }
}
