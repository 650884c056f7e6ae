import Telemetry

/// Prometheus's text format, version 0.0.4.
struct Exposition {
    private(set) var text = ""
    private var lastName = ""

    /// Series of one name must follow each other.
    mutating func add(_ series: PrometheusRegistry.Series) {
        switch series.cell {
        case .counter(let cell):
            self.head(series.name, "counter")
            self.line(series.name, series.labels, "\(cell.current)")
        case .gauge(let cell):
            self.head(series.name, "gauge")
            self.line(series.name, series.labels, Self.number(cell.current))
        case .observed(let read):
            self.head(series.name, "gauge")
            self.line(series.name, series.labels, Self.number(read()))
        case .histogram(let cell):
            self.head(series.name, "histogram")
            self.add(cell, name: series.name, labels: series.labels)
        }
    }

    mutating func add(_ statistic: ProcessStatistics, labels: String) {
        self.head(statistic.name, statistic.kind, statistic.help)
        self.line(statistic.name, labels, Self.number(statistic.value))
    }

    private mutating func add(_ cell: HistogramCell, name: String, labels: String) {
        let reading = cell.current
        for (bound, count) in zip(cell.bounds, reading.cumulative) {
            self.line("\(name)_bucket", "\(labels),le=\"\(Self.number(bound, cell.unit))\"", "\(count)")
        }
        let total = reading.cumulative.last ?? 0
        self.line("\(name)_bucket", "\(labels),le=\"+Inf\"", "\(total)")
        self.line("\(name)_sum", labels, Self.number(reading.sum, cell.unit))
        self.line("\(name)_count", labels, "\(total)")
    }

    private mutating func head(_ name: String, _ kind: String, _ help: String? = nil) {
        guard name != self.lastName else { return }
        self.lastName = name
        if let help = help ?? MetricName(rawValue: name)?.help { self.text += "# HELP \(name) \(help)\n" }
        self.text += "# TYPE \(name) \(kind)\n"
    }

    private mutating func line(_ name: String, _ labels: String, _ value: String) {
        self.text += "\(name){\(labels)} \(value)\n"
    }

    /// A metric or label name with everything that may not stand in one replaced by `_`.
    static func name(_ name: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isLetter = "a"..."z" ~= scalar || "A"..."Z" ~= scalar || scalar == "_" || scalar == ":"
            let isDigit = "0"..."9" ~= scalar && !result.isEmpty
            result.append(isLetter || isDigit ? scalar : "_")
        }
        return String(result)
    }

    static func labels(_ labels: [(String, String)]) -> String {
        labels.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result.append(contentsOf: #"\\"#.unicodeScalars)
            case "\"": result.append(contentsOf: #"\""#.unicodeScalars)
            case "\n": result.append(contentsOf: #"\n"#.unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }

    private static func number(_ value: Int64, _ unit: HistogramCell.Unit) -> String {
        switch unit {
        case .count:
            return "\(value)"
        case .time:
            // Exact, where a Double would write 5e-05.
            let (seconds, nanoseconds) = value.quotientAndRemainder(dividingBy: 1_000_000_000)
            guard nanoseconds != 0 else { return "\(seconds)" }
            var digits = String(1_000_000_000 + nanoseconds).dropFirst()
            while digits.last == "0" { digits.removeLast() }
            return "\(seconds).\(digits)"
        }
    }
}
