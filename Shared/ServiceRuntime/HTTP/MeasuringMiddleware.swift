import Hummingbird
import Telemetry

/// Counts the requests of clients, and how long their answers take. Stands outside of `ErrorMiddleware`, so that every
/// answer passes it.
struct MeasuringMiddleware<Context: RequestContext>: RouterMiddleware {
    private let metrics = HTTPMetrics()

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let clock = ContinuousClock.now
        let response = try await next(request, context)
        self.metrics.answered(response.status.code, after: ContinuousClock.now - clock)
        return response
    }
}
