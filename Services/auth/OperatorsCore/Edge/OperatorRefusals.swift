package import HTTPAccess

/// What the operators' HTTP refuses.
extension HTTPRefusal {
    package static let unknownReport = HTTPRefusal(.notFound, "there is no such report")
    package static let unknownMessage = HTTPRefusal(.notFound, "nobody sent such a message lately")

    package static func badParameter(_ name: StaticString) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(name): not a value that it may have")
    }
}
