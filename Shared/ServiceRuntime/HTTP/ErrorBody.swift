import Contract
import Hummingbird
import NIOCore

/// The answer to a request that went wrong.
struct ErrorBody {
    let code: ErrorCode
    let message: String

    func response(status: HTTPResponse.Status, headers: HTTPFields = [:]) -> Response {
        .json(HTTPErrorBody.json(self.code, self.message), status: status, headers: headers)
    }

    /// The code that goes with a status chosen by the HTTP library: no route, a body too large, a header missing.
    static func code(for status: HTTPResponse.Status) -> ErrorCode {
        switch status.code {
        case 401: .notRegistered
        case 403: .forbidden
        case 404, 405: .notFound
        case 429: .rateLimited
        case 500...: .internalError
        default: .invalidPayload
        }
    }
}

extension Response {
    static func json(
        _ json: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}
