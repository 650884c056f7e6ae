import Contract
import Hummingbird
import Logging
import NIOHTTP1
import Telemetry

/// Answers what a route throws.
///
/// An error that answers for itself (`HTTPResponseError` with a body) is sent as it is: that is how a service says
/// USER_BANNED or gives a `Retry-After`. Hummingbird's `HTTPError` gets the code of its status. Everything else is
/// our fault: logged, and 500.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
    let logger: Logger
    /// Nil where those who ask are not clients.
    let errors: ErrorMetrics?

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError {
            return self.answer(error.status, error.body, error.headers)
        } catch let error as any HTTPResponseError {
            let response = try error.response(from: request, context: context)
            return response.body.contentLength == 0 ? self.answer(error.status, nil, response.headers) : response
        } catch let error as HTTPParserError {
            throw error  // The request was not HTTP; the server closes the connection.
        } catch {
            self.logger.warning("request failed", [.error: "\(error)"])
            return self.answer(.internalServerError, nil, [:])
        }
    }

    private func answer(_ status: HTTPResponse.Status, _ message: String?, _ headers: HTTPFields) -> Response {
        let code = ErrorBody.code(for: status)
        self.errors?.answered(code)
        var headers = headers
        headers[.contentLength] = nil
        return ErrorBody(code: code, message: message ?? status.reasonPhrase)
            .response(status: status, headers: headers)
    }
}
