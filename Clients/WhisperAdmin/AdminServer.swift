import ArgumentParser
import Foundation
import FoundationNetworking
import TerminalText

/// The server did not answer, or not in a way that can be used. A later try may succeed.
struct NoAnswer: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { self.description = text }
}

/// The ops origin of one cluster.
struct AdminServer: Sendable {
    private let url: URL
    private let token: String
    /// Longest wait for an answer, in seconds.
    private static let timeout: TimeInterval = 15
    /// The same for work that takes its time.
    private static let longTimeout: TimeInterval = 120

    init(url: URL, token: String) {
        self.url = url
        self.token = token
    }

    /// The body of every failure (contract §1).
    private struct Failure: Decodable {
        var error: String
        var message: String
    }

    func get(_ path: String, _ query: [String: String] = [:]) async throws -> Data {
        guard var parts = URLComponents(url: self.url.appendingPathComponent(path), resolvingAgainstBaseURL: false)
        else {
            throw ValidationError("\(self.url) is not an address.")
        }
        if !query.isEmpty {
            parts.queryItems = query.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
        }
        guard let url = parts.url else { throw ValidationError("\(self.url) is not an address.") }
        return try await self.answer(to: URLRequest(url: url))
    }

    func delete(_ path: String) async throws -> Data {
        var request = URLRequest(url: self.url.appendingPathComponent(path))
        request.httpMethod = "DELETE"
        return try await self.answer(to: request)
    }

    func post(
        _ path: String, _ body: some Encodable, method: String = "POST", isLong: Bool = false
    ) async throws -> Data {
        var request = URLRequest(url: self.url.appendingPathComponent(path))
        request.httpMethod = method
        request.httpBody = try JSONEncoder().encode(body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return try await self.answer(to: request, within: isLong ? Self.longTimeout : Self.timeout)
    }

    private func answer(to request: URLRequest, within timeout: TimeInterval = Self.timeout) async throws -> Data {
        var request = request
        request.timeoutInterval = timeout
        request.setValue("Bearer \(self.token)", forHTTPHeaderField: "Authorization")
        let (body, response): (Data, URLResponse)
        do {
            (body, response) = try await URLSession.shared.data(for: request)
        } catch {
            throw NoAnswer("\(self.url) cannot be reached: \(error.localizedDescription)")
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else {
            let failure = try? JSONDecoder().decode(Failure.self, from: body)
            let text =
                "\(status) \(failure.map { harmlessLine("\($0.error): \($0.message)") } ?? "without an explanation")"
            // The contract's errors have a body; anything else is not this server, or its balancer without a service.
            guard failure != nil, (400..<500).contains(status) else { throw NoAnswer(text) }
            throw Problem(text)
        }
        return body
    }
}
