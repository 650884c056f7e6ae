package import Hummingbird

extension HTTPFields {
    /// The headers of everything that a browser shows or runs: it is what its type says, no other site may frame or embed it,
    /// and nobody is told which page somebody came from.
    /// - Parameter policy: what it may load and do (Content Security Policy).
    package static func binding(type: String, cacheControl: String, policy: String) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: type, .cacheControl: cacheControl, .xContentTypeOptions: "nosniff",
            .crossOriginResourcePolicy: "same-origin", .contentSecurityPolicy: policy,
        ]
        headers[.init("Cross-Origin-Opener-Policy")!] = "same-origin"
        headers[.init("Referrer-Policy")!] = "no-referrer"
        headers[.init("X-Frame-Options")!] = "DENY"
        return headers
    }
}
