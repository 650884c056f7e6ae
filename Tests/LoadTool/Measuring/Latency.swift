import Histogram

/// Times of one kind, with three digits of precision.
struct Latency {
    let name: String
    /// In microseconds.
    private var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)

    init(_ name: String) { self.name = name }

    mutating func record(nanoseconds: UInt64) {
        self.histogram.record(nanoseconds / 1_000)
    }

    mutating func reset() { self.histogram.reset() }

    func milliseconds(_ percentile: Double) -> Double {
        Double(self.histogram.valueAtPercentile(percentile)) / 1_000
    }

    var row: Table.Row {
        Table.Row(self.name, [50, 90, 99, 99.9].map(self.milliseconds) + [Double(self.histogram.max) / 1_000])
    }
}

extension Table {
    static func latencies(_ latencies: [Latency]) -> Table {
        Table(
            "latency, ms", columns: ["p50", "p90", "p99", "p99.9", "max"], rows: latencies.map(\.row))
    }
}
