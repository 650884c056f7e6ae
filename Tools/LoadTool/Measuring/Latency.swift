import Histogram

/// Times of one kind, with three digits of precision.
struct Latency {
    var name: String
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

    /// Its percentiles, in milliseconds, as `Chart.Scale.nines` wants them: x is 1/(1 - p), so each nine takes the same
    /// room. Ends where fewer than ten values lie behind it: there is nothing to see but chance.
    var curve: Chart.Series {
        let last = Double(self.histogram.totalCount) / 10
        let points = self.histogram.percentiles(ticksPerHalfDistance: 5).compactMap { step -> Chart.Point? in
            guard step.percentileLevelIteratedTo < 100 else { return nil }
            let x = 1 / (1 - step.percentileLevelIteratedTo / 100)
            return x <= max(2, last) ? Chart.Point(x, Double(step.value) / 1_000) : nil
        }
        return Chart.Series(self.name, points)
    }

    var count: UInt64 { UInt64(self.histogram.totalCount) }

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
