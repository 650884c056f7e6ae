import Foundation
import FoundationNetworking
import Testing

/// Asks a listener on loopback as an operator would.
struct LoopbackClient {
    let port: Int

    func get(_ path: String) async throws -> (status: Int, body: String, contentType: String?, date: String?) {
        let url = try #require(URL(string: "http://127.0.0.1:\(self.port)\(path)"))
        let (data, response) = try await URLSession.shared.data(from: url)
        let answer = try #require(response as? HTTPURLResponse)
        return (
            answer.statusCode, String(decoding: data, as: UTF8.self), answer.value(forHTTPHeaderField: "Content-Type"),
            answer.value(forHTTPHeaderField: "Date")
        )
    }
}

/// Something that happens once and that others wait for.
struct Signal: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() {
        (self.stream, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    func give() { self.continuation.finish() }
    func wait() async { for await _ in self.stream {} }
}
