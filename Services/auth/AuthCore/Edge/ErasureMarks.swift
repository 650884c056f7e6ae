import Contract
package import Store

/// Writes the marks of all erased identities as a file that is kept beside a backup (contract §20.4).
package struct ErasureMarks: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Reads in portions. A mark that is added meanwhile may be left to the next file.
    /// - Parameter output: takes one portion.
    package func write(to output: (String) throws -> Void) async throws {
        var text = MarksText.Writer()
        try output(text.begin(try await self.pool.query(Tombstones.cluster)))
        var last: Bytes32?
        while true {
            let page = try await self.pool.query(Tombstones.page(after: last, limit: AuthLimits.marksPortion))
            guard let end = page.last else { break }
            try output(text.lines(page))
            last = end.mark
        }
        try output(text.end())
    }
}
