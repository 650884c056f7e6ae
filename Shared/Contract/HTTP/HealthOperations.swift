/// Whether a process lives, may get traffic, and what it measures (contract §1).
package enum HealthOperations {
    private static let status = Field("status", .text(1...32), about: "A word for people; the HTTP status decides.")
    private static let failing = Field(
        "failing", .array(of: .text(1...64), count: 0...32), .optional, about: "Names of the checks that fail.")

    private static let version = Field(
        "version", .text(1...32), .optional, about: "The release of the process. Operators' listeners alone say it.")
    private static let revision = Field(
        "revision", .text(1...64), .optional, about: "The commit that the process was built from, if it is known.")

    package static let all = [
        HTTPOperation(
            "getHealth", .get, "/health", about: "The process lives.", origin: .both, access: .anybody,
            success: .json(ObjectSchema([Self.status, Self.version, Self.revision]), sample: #"{"status":"ok"}"#)),
        HTTPOperation(
            "getReady", .get, "/ready",
            about: "The process can do its work. 503 with the same body while it cannot, or is draining.",
            origin: .both,
            access: .anybody,
            success: .json(ObjectSchema([Self.status, Self.failing]), sample: #"{"status":"ready"}"#)),
        HTTPOperation(
            "getMetrics", .get, "/metrics", about: "What the process measures, for Prometheus.", origin: .operators,
            access: .anybody, success: .text(mediaType: "text/plain")),
    ]

    /// The answer of `/health` and `/ready`.
    /// - Parameters:
    ///   - version: for operators. Strangers need not know which faults fit.
    ///   - revision: the same.
    package static func body(
        _ status: String, version: String? = nil, revision: String? = nil, failing: [String] = []
    ) -> [UInt8] {
        var json = JSONWriter()
        json.add("status", status)
        json.add("version", version)
        json.add("revision", revision)
        if !failing.isEmpty { json.add("failing", strings: failing) }
        return json.finished()
    }
}
