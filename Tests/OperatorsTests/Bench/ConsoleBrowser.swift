import AuthTestKit
import Contract
import Foundation
import Hummingbird
import OperatorsCore

/// As much of a browser as the console needs: it keeps one cookie, finds the token of a page's forms, and posts them.
struct ConsoleBrowser {
    let http: HTTPBench
    var cookie: String?

    init(_ http: HTTPBench) { self.http = http }

    /// Signed in with an admin token.
    init(_ http: HTTPBench, token: String) async throws {
        self.http = http
        let answer = try await self.post("/console/login", ["token": token])
        self.cookie = answer.headers[.setCookie]?.split(separator: ";").first?.split(separator: "=", maxSplits: 1).last
            .map { String($0) }
    }

    func get(_ path: String) async throws -> HTTPBench.Answer {
        try await self.http.send(.get, path, authorization: nil, headers: self.headers)
    }

    /// A form as it was given.
    func post(
        _ path: String, _ fields: [String: String], site: String? = "same-origin"
    ) async throws -> HTTPBench.Answer {
        var headers = self.headers
        headers[.init("Sec-Fetch-Site")!] = site
        return try await self.http.send(.post, path, authorization: nil, headers: headers, body: Self.encoded(fields))
    }

    /// A form of one of the session's own pages.
    func submit(_ path: String, _ fields: [String: String]) async throws -> HTTPBench.Answer {
        try await self.post(path, fields.merging(["form": try await self.formToken()]) { $1 })
    }

    func formToken() async throws -> String {
        let page = try await self.get("/console/bans").text
        return page.firstMatch(of: #/name="form" value="([^"]*)"/#).map { String($0.1) } ?? ""
    }

    private var headers: HTTPFields {
        var headers = HTTPFields()
        headers[.cookie] = self.cookie.map { "other=1; \(ConsoleCookie.name)=\($0)" }
        return headers
    }

    private static func encoded(_ fields: [String: String]) -> String {
        fields.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!)" }.joined(
            separator: "&")
    }
}
