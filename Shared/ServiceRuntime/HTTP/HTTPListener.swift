package import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Telemetry

/// A listener for HTTP/1.1 with the project's bounds and its one error body. A service adds routes, nothing else:
/// `HTTPListener.part(on: address, logger: logger, routes: auth.addRoutes)`.
package enum HTTPListener {
    /// The public listener of a service. It drains like every part: no new connections, requests under way are
    /// answered.
    package static func part<Context: RequestContext>(
        on address: ListenAddress, logger: Logger, listening: @escaping @Sendable (_ port: Int) -> Void = { _ in },
        routes: (Router<Context>) -> Void
    ) -> Part where Context.Source == ApplicationRequestContextSource {
        Part(
            "http",
            service: self.server(
                on: address, connectionsMax: RuntimeLimits.httpConnectionsMax, errors: ErrorMetrics(), logger: logger,
                listening: listening, routes: routes))
    }

    static func server<Context: RequestContext>(
        on address: ListenAddress, connectionsMax: Int, errors: ErrorMetrics?, logger: Logger,
        executor: LoopTaskExecutor? = nil,
        listening: @escaping @Sendable (_ port: Int) -> Void, routes: (Router<Context>) -> Void
    ) -> some Service where Context.Source == ApplicationRequestContextSource {
        let router = Router(context: Context.self)
        // Before the routes: a middleware knows only what is added behind it.
        if errors != nil { router.add(middleware: MeasuringMiddleware()) }
        router.add(middleware: ErrorMiddleware(logger: logger, errors: errors))
        routes(router)
        return HTTPServer(
            responder: router.buildResponder(),
            builder: .http1(
                configuration: .init(
                    idleTimeout: .seconds(RuntimeLimits.httpIdleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: RuntimeLimits.httpHeaderBytesMax,
                        maxHeaderListSize: RuntimeLimits.httpHeaderBytesMax))),
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(connectionsMax)),
            logger: logger, executor: executor,
            listening: { bound in
                let port = bound ?? address.port
                logger.notice("listening", [.port: .number(port)])
                listening(port)
            })
    }
}
