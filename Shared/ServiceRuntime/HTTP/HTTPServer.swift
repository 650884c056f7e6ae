import Hummingbird
import HummingbirdCore
import Logging
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Serves the routes of one listener. Hummingbird's `Application` does the same, but wakes threads once a second for the header
/// `Date`.
struct HTTPServer<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let responder: Responder
    let builder: HTTPServerBuilder
    let configuration: ServerConfiguration
    let logger: Logger
    /// Where answers are preferably made; by default on the threads that all parts share.
    let executor: LoopTaskExecutor?
    /// Called with the port, once it is bound.
    let listening: @Sendable (_ port: Int?) -> Void

    /// The client went away, or sent nonsense, while its answer was written.
    private struct AnswerInterrupted: Error {}

    func run() async throws {
        let dates = ResponseDates()
        let server = try self.builder.buildServer(
            configuration: self.configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: self.logger
        ) { [responder, logger] request, writer, channel in
            let context = Responder.Context(source: .init(channel: channel, logger: logger))
            var response = try await responder.respond(to: request, context: context)
            response.headers[.date] = dates.now
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch is HTTPParserError {
                // As it stands, the error would be answered, although an answer is under way.
                throw AnswerInterrupted()
            }
        } onServerRunning: { [listening] channel in
            listening(channel.localAddress?.port)
        }
        try await withTaskExecutorPreference(self.executor) { try await server.run() }
    }
}
