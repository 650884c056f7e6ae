package import Contract
package import Hummingbird

/// An error of the public HTTP face, in the body that all of them have (contract §1).
package struct HTTPRefusal: HTTPResponseError {
    package let status: HTTPResponse.Status
    package let code: ErrorCode
    /// For people; never repeats a value that the client sent.
    package let message: String
    /// Whole seconds, with 429 only.
    package let retryAfter: Int64?

    private init(
        _ code: ErrorCode, status: HTTPResponse.Status? = nil, _ message: String, retryAfter: Int64? = nil
    ) {
        self.code = code
        self.status = status ?? HTTPResponse.Status(code: code.httpStatus)
        self.message = message
        self.retryAfter = retryAfter
    }

    package static let notRegistered = HTTPRefusal(.notRegistered, "a session token is needed")
    package static let banned = HTTPRefusal(.userBanned, "this identity is banned")
    package static let notAnID = HTTPRefusal(.invalidPayload, "not a Whisper ID (WSP-XXXX-XXXX-XXXX)")
    package static let unknownIdentity = HTTPRefusal(.notFound, "there is no such identity")
    package static let noBackup = HTTPRefusal(.notFound, "there is no backup")
    package static let lostRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the backup is not the one named by If-Match")
    package static let backupTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the backup is too large")
    package static let internalError = HTTPRefusal(
        .internalError, "something went wrong on our side; safe to retry")

    // The ops listener's.
    package static let noAdminToken = HTTPRefusal(.notRegistered, "an admin token is needed")
    package static let roleTooLow = HTTPRefusal(.forbidden, "viewers may only look")
    package static let unknownReport = HTTPRefusal(.notFound, "there is no such report")
    package static let unknownMessage = HTTPRefusal(.notFound, "nobody sent such a message lately")

    package static func badParameter(_ name: StaticString) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(name): not a value that it may have")
    }

    package static func tooMany(retryAfterMilliseconds wait: Int64) -> HTTPRefusal {
        HTTPRefusal(.rateLimited, "too many requests", retryAfter: (wait + 999) / 1_000)
    }

    package static func invalid(_ violation: PayloadViolation) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(violation)")
    }

    package init?(_ standing: CallerStanding) {
        switch standing {
        case .live: return nil
        case .banned: self = .banned
        case .stale: self = .notRegistered
        }
    }

    package func response(from request: Request, context: some RequestContext) -> Response {
        var json = JSONWriter()
        json.add("error", self.code.rawValue)
        json.add("message", self.message)
        var headers = HTTPFields()
        headers[.retryAfter] = self.retryAfter.map { String($0) }
        return .json(json.finished(), status: self.status, headers: headers)
    }
}

extension Response {
    static func json(
        _ body: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
