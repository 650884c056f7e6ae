import Contract
import Hummingbird

/// An error of the public HTTP face, in the body that all of them have (contract §1).
struct HTTPRefusal: HTTPResponseError {
    let code: ErrorCode
    let message: String
    /// Whole seconds, with 429 only.
    var retryAfter: Int64?

    static let notRegistered = HTTPRefusal(code: .notRegistered, message: "a session token is needed")
    static let banned = HTTPRefusal(code: .userBanned, message: "this identity is banned")
    static let internalError = HTTPRefusal(
        code: .internalError, message: "something went wrong on our side; safe to retry")

    static func tooMany(retryAfterMilliseconds wait: Int64) -> HTTPRefusal {
        HTTPRefusal(code: .rateLimited, message: "too many requests", retryAfter: (wait + 999) / 1_000)
    }

    var status: HTTPResponse.Status { HTTPResponse.Status(code: self.code.httpStatus) }

    func response(from request: Request, context: some RequestContext) -> Response {
        var json = JSONWriter()
        json.add("error", self.code.rawValue)
        json.add("message", self.message)
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.retryAfter] = self.retryAfter.map { String($0) }
        return Response(
            status: self.status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.finished())))
    }
}
