import Contract

/// How a file of a known size is cut into parts.
package struct UploadPlan: Sendable {
    package struct Part: Equatable, Sendable {
        /// From 1.
        package var number: Int
        package var sizeBytes: Int64
    }

    package let parts: [Part]

    package init(sizeBytes: Int64, partBytes: Int64 = Limits.uploadPartBytes) {
        let count = max(1, (sizeBytes + partBytes - 1) / partBytes)
        self.parts = (1...count).map {
            Part(number: Int($0), sizeBytes: min(partBytes, sizeBytes - ($0 - 1) * partBytes))
        }
    }

    /// The parts of the plan that the store has whole. Other parts, and parts of another size, do not count.
    package func arrived(of stored: [StoredPart]) -> [StoredPart] {
        self.parts.compactMap { part in
            stored.last { $0.number == part.number && $0.sizeBytes == part.sizeBytes }
        }
    }

    package func missing(of stored: [StoredPart]) -> [Part] {
        let arrived = Set(self.arrived(of: stored).map(\.number))
        return self.parts.filter { !arrived.contains($0.number) }
    }
}
