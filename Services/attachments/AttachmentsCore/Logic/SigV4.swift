package import Contract
import ServerCrypto
package import Telemetry

/// Signs requests for S3 with AWS Signature Version 4 (Amazon S3 API Reference, "Authenticating Requests: Using the Authorization
/// Header" and "Using Query Parameters"). Makes the same bytes as botocore's signers, which the tests compare it with.
package struct SigV4: Sendable {
    private let accessKey: String
    private let secretKey: Secret
    private let region: String

    private static let algorithm = "AWS4-HMAC-SHA256"
    private static let unsignedPayload = "UNSIGNED-PAYLOAD"

    package init(accessKey: String, secretKey: Secret, region: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
    }

    /// A request to sign. Path and query are not encoded yet.
    package struct Request: Sendable {
        package var method: String
        /// With the scheme: `https://`.
        package var scheme: String
        /// As the `Host` header has it.
        package var host: String
        package var path: String
        package var query: [(name: String, value: String)]
        /// Beside `Host`; those that the peer has to send exactly so.
        package var headers: [(name: String, value: String)]

        package init(
            method: String, scheme: String, host: String, path: String, query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)] = []
        ) {
            self.method = method
            self.scheme = scheme
            self.host = host
            self.path = path
            self.query = query
            self.headers = headers
        }

        package var target: String {
            let query = self.query.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
            return PercentCoding.encode(self.path, keepingSlashes: true)
                + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        }
    }

    /// A URL that carries its signature, and may be used for a while by whoever sends the request's method and headers.
    /// - Parameter life: in whole seconds; S3 takes up to seven days.
    package func presignedURL(_ request: Request, at now: Timestamp, life: Duration) -> String {
        let time = CivilTime(now)
        var request = request
        let headers = Self.canonical(request)
        request.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(self.accessKey)/\(self.scope(time))"),
            ("X-Amz-Date", time.basic), ("X-Amz-Expires", String(life.components.seconds)),
            ("X-Amz-SignedHeaders", headers.names),
        ]
        let signature = self.signature(of: request, headers, payload: Self.unsignedPayload, at: time)
        return "\(request.scheme)\(request.host)\(request.target)&X-Amz-Signature=\(signature)"
    }

    /// The headers that the request has to be sent with, `Host` aside.
    package func signedHeaders(_ request: Request, body: [UInt8], at now: Timestamp) -> [(name: String, value: String)]
    {
        let time = CivilTime(now)
        let payload = Hexadecimal.text(SHA256.hash(body).bytes)
        var request = request
        request.headers += [("X-Amz-Date", time.basic), ("X-Amz-Content-SHA256", payload)]
        let headers = Self.canonical(request)
        let signature = self.signature(of: request, headers, payload: payload, at: time)
        let authorization =
            "\(Self.algorithm) Credential=\(self.accessKey)/\(self.scope(time)), SignedHeaders=\(headers.names), Signature=\(signature)"
        return request.headers + [("Authorization", authorization)]
    }

    private func scope(_ time: CivilTime) -> String { "\(time.basicDate)/\(self.region)/s3/aws4_request" }

    private func signature(
        of request: Request, _ headers: (names: String, lines: String), payload: String, at time: CivilTime
    ) -> String {
        let query = request.query.map { (PercentCoding.encode($0.name), PercentCoding.encode($0.value)) }
            .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
        let canonical = [
            request.method, PercentCoding.encode(request.path, keepingSlashes: true), query, headers.lines,
            headers.names, payload,
        ].joined(separator: "\n")
        let toSign = [
            Self.algorithm, time.basic, self.scope(time), Hexadecimal.text(SHA256.hash(Array(canonical.utf8)).bytes),
        ].joined(separator: "\n")
        var key = Array("AWS4\(self.secretKey.revealed)".utf8)
        for word in [time.basicDate, self.region, "s3", "aws4_request"] {
            key = hmacSHA256(key: key, Array(word.utf8)).bytes
        }
        return Hexadecimal.text(hmacSHA256(key: key, Array(toSign.utf8)).bytes)
    }

    /// Names in lower case, in order; values with single spaces.
    private static func canonical(_ request: Request) -> (names: String, lines: String) {
        let headers = (request.headers + [("host", request.host)])
            .map { ($0.name.lowercased(), $0.value.split(separator: " ").joined(separator: " ")) }
            .sorted { $0.0 < $1.0 }
        return (headers.map(\.0).joined(separator: ";"), headers.map { "\($0.0):\($0.1)\n" }.joined())
    }
}
