import Hummingbird
import Logging
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite(.timeLimit(.minutes(20))) struct HTTPListenerTests {
    private struct Surprise: Error {}

    /// An error that answers for itself, as a service declares it.
    private struct Banned: HTTPResponseError {
        var status: HTTPResponse.Status { .forbidden }
        func response(from request: Request, context: some RequestContext) -> Response {
            Response(
                status: self.status, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"error":"USER_BANNED","message":"banned"}"#)))
        }
    }

    private func addRoutes(to router: Router<BasicRequestContext>) {
        router.get("fine") { _, _ in "fine" }
        router.get("surprise") { _, _ -> String in throw Surprise() }
        router.get("banned") { _, _ -> String in throw Banned() }
        router.get("teapot") { _, _ -> String in throw HTTPError(.init(code: 418), message: "short and \"stout\"") }
        router.get("slow") { _, _ -> String in throw HTTPError(.tooManyRequests, headers: [.retryAfter: "7"]) }
    }

    /// The example of RFC 9110 §5.6.7, and a leap day.
    @Test func datesAreOfTheOneFormThatMayBeSent() {
        #expect(ResponseDates.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(ResponseDates.text(of: 1_709_208_000) == "Thu, 29 Feb 2024 12:00:00 GMT")
        #expect(ResponseDates().now.utf8.count == 29)
    }

    @Test(arguments: [
        ("/fine", 200, "fine"),
        ("/nowhere", 404, #"{"error":"NOT_FOUND","message":"Not Found"}"#),
        ("/surprise", 500, #"{"error":"INTERNAL_ERROR","message":"Internal Server Error"}"#),
        ("/banned", 403, #"{"error":"USER_BANNED","message":"banned"}"#),
        ("/teapot", 418, #"{"error":"INVALID_PAYLOAD","message":"short and \"stout\""}"#),
        ("/slow", 429, #"{"error":"RATE_LIMITED","message":"Too Many Requests"}"#),
    ])
    func everyErrorHasTheBodyOfTheContract(path: String, status: Int, body: String) async throws {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, bound) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingOldest(1))
        let listener = HTTPListener.part(
            on: ListenAddress(host: "127.0.0.1", port: 0), logger: quiet, listening: { bound.yield($0) },
            routes: self.addRoutes)
        let process = ServiceProcess(
            Composition(parts: [listener]), registry: PrometheusRegistry(service: "test"),
            ops: ListenAddress(host: "127.0.0.1", port: 0), logger: quiet)
        async let running: Void = process.run()
        for await port in ports {
            let answer = try await LoopbackClient(port: port).get(path)
            #expect(answer.status == status)
            #expect(answer.body == body)
            #expect(answer.date?.hasSuffix(" GMT") == true)
            break
        }
        await process.shutDown()
        try await running
    }
}
