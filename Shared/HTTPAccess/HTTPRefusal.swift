package import Contract
package import Hummingbird
package import Telemetry

/// An error of a service's HTTP, in the body that all of them have (contract §1).
package struct HTTPRefusal: HTTPResponseError {
    package let status: HTTPResponse.Status
    package let code: ErrorCode
    /// For people; never repeats a value that the client sent.
    package let message: String
    /// Whole seconds, with 429 and 503 only.
    package let retryAfter: Int64?
    package let reason: RefusalReason?

    /// - Parameter status: nil for the code's own.
    package init(
        _ code: ErrorCode, status: HTTPResponse.Status? = nil, _ message: String, retryAfter: Int64? = nil,
        reason: RefusalReason? = nil
    ) {
        self.reason = reason
        self.code = code
        self.status = status ?? HTTPResponse.Status(code: code.httpStatus)
        self.message = message
        self.retryAfter = retryAfter
    }

    package static let notRegistered = HTTPRefusal(.notRegistered, "a session token is needed")
    package static let noPrincipal = HTTPRefusal(.notRegistered, "a session token or a guest token is needed")
    package static let unknownIdentity = HTTPRefusal(.notFound, "there is no such identity")
    package static let banned = HTTPRefusal(.userBanned, "this identity is banned")
    package static let bannedGuest = HTTPRefusal(.userBanned, "this guest is banned")
    package static let noAdminToken = HTTPRefusal(.notRegistered, "an admin token is needed")
    package static let roleTooLow = HTTPRefusal(.forbidden, "viewers may only read")
    package static let internalError = HTTPRefusal(.internalError, "something went wrong on our side; safe to retry")

    package static func tooMany(retryAfterMilliseconds wait: Int64) -> HTTPRefusal {
        HTTPRefusal(.rateLimited, "too many requests", retryAfter: (wait + 999) / 1_000)
    }

    package static func invalid(_ violation: PayloadViolation) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(violation)")
    }

    package func response(from request: Request, context: some RequestContext) -> Response { self.answer }

    package var answer: Response {
        var headers = HTTPFields()
        headers[.retryAfter] = self.retryAfter.map { String($0) }
        return .answer(
            HTTPErrorBody.json(self.code, self.message, reason: self.reason), status: self.status, headers: headers)
    }
}

extension Response {
    /// A JSON body that stands written already.
    package static func answer(
        _ json: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}

extension Response {
    /// JSON that a browser saves as a file, and that no cache keeps.
    package static func download(_ json: [UInt8], as name: String) -> Response {
        .answer(
            json,
            headers: [
                .contentDisposition: "attachment; filename=\"\(name)\"", .cacheControl: "no-store",
                .contentSecurityPolicy: "default-src 'none'; sandbox", .xContentTypeOptions: "nosniff",
            ])
    }
}

extension ErrorMetrics {
    /// The answer to a request. A refusal is counted by its code, and passed on.
    package func counting(
        _ answer: () async throws(HTTPRefusal) -> Response
    ) async throws(HTTPRefusal) -> Response {
        do throws(HTTPRefusal) {
            return try await answer()
        } catch {
            self.answered(error.code)
            throw error
        }
    }
}
