/// The result of one workload.
struct Report: Codable, Sendable {
    var workload: String
    var figures: [Figure]
    var tables: [Table]
    var checks: [Check]
    var charts: [Chart]
    var bars: [Bars]
    /// The most expensive functions, if asked for.
    var profile: String?

    init(
        _ workload: Workload, figures: [Figure], tables: [Table], checks: [Check], charts: [Chart] = [],
        bars: [Bars] = [], profile: String? = nil
    ) {
        self.workload = workload.rawValue
        self.figures = figures
        self.tables = tables
        self.checks = checks
        self.charts = charts
        self.bars = bars
        self.profile = profile
    }

    /// Nothing was lost, doubled or refused. Says nothing about speed.
    var isSound: Bool { self.checks.allSatisfy(\.isMet) }

    var text: String {
        var parts = [self.figures.map(\.text).joined(separator: "\n")] + self.tables.map(\.text)
        parts.append(self.checks.map(\.text).joined(separator: "\n"))
        if let profile { parts.append(profile) }
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}

extension Report {
    /// For docs/benchmarks.md: what `text` says, without the columns that only fit a terminal.
    var markdown: String {
        let title = Workload(rawValue: self.workload)?.title ?? ""
        let figures =
            ["| | | |", "| --- | --- | --- |"]
            + self.figures.map { figure in
                let aims = [figure.aim.map { "at most \(shown($0))" }, figure.least.map { "at least \(shown($0))" }]
                let aim = aims.compactMap { $0 }.joined(separator: ", ")
                return "| \(figure.name) | **\(shown(figure.value))** \(figure.unit) | \(aim) |"
            }
        let checks = self.checks.map { "\($0.name): \($0.count)" }.joined(separator: ", ")
        let pictures = (self.charts.map { ($0.title, $0.file) } + self.bars.map { ($0.title, $0.file) }).map {
            "![\($0.0)](benchmarks/\($0.1).svg)"
        }
        let parts =
            ["## \(self.workload): \(title)", figures.joined(separator: "\n")]
            + self.tables.map(\.markdown) + pictures + (checks.isEmpty ? [] : ["\(checks)."])
        return parts.joined(separator: "\n\n")
    }
}

/// One number worth telling.
struct Figure: Codable, Sendable {
    var name: String
    var value: Double
    var unit: String
    /// Bound that the value should not exceed.
    var aim: Double?
    /// Bound that the value should reach.
    var least: Double?

    init(_ name: String, _ value: Double, _ unit: String = "", aim: Double? = nil, least: Double? = nil) {
        self.name = name
        self.value = value
        self.unit = unit
        self.aim = aim
        self.least = least
    }

    var text: String {
        let aim = self.aim.map { "   (at most \(shown($0)): \(self.value <= $0 ? "yes" : "NO"))" } ?? ""
        let least = self.least.map { "   (at least \(shown($0)): \(self.value >= $0 ? "yes" : "NO"))" } ?? ""
        return "\(self.name.padded(to: 44))\(shown(self.value).padded(to: -10)) \(self.unit)\(aim)\(least)"
    }
}

/// Something that must not have happened, and how often it did.
struct Check: Codable, Sendable {
    var name: String
    var count: Int
    var isMet: Bool { self.count == 0 }

    init(_ name: String, _ count: Int) {
        self.name = name
        self.count = count
    }

    var text: String { "\(self.isMet ? "  ok  " : "FAILED") \(self.name.padded(to: 37))\(self.count)" }
}

extension [Check] {
    /// One check for each name: how often it failed in all of these.
    var summed: [Check] {
        var sums: [Check] = []
        for check in self {
            if let place = sums.firstIndex(where: { $0.name == check.name }) {
                sums[place].count += check.count
            } else {
                sums.append(check)
            }
        }
        return sums
    }
}

/// Rows of numbers under a title.
struct Table: Codable, Sendable {
    struct Row: Codable, Sendable {
        var name: String
        var values: [Double]

        init(_ name: String, _ values: [Double]) {
            self.name = name
            self.values = values
        }
    }
    var title: String
    var columns: [String]
    var rows: [Row]

    init(_ title: String, columns: [String], rows: [Row]) {
        self.title = title
        self.columns = columns
        self.rows = rows
    }

    var text: String {
        let head = "".padded(to: Self.nameWidth) + self.columns.map { $0.padded(to: -Self.width) }.joined()
        let lines = self.rows.map { row in
            row.name.padded(to: Self.nameWidth) + row.values.map { shown($0).padded(to: -Self.width) }.joined()
        }
        return ([self.title, head] + lines).joined(separator: "\n")
    }

    var markdown: String {
        let head = ["\(self.title)", "", "| | " + self.columns.joined(separator: " | ") + " |"]
        let rule = "| --- |" + String(repeating: " ---: |", count: self.columns.count)
        return
            (head + [rule]
            + self.rows.map { "| \($0.name) | " + $0.values.map(shown).joined(separator: " | ") + " |" })
            .joined(separator: "\n")
    }

    private static let nameWidth = 28
    private static let width = 13
}

/// Three digits that matter, or all those before the point.
func shown(_ value: Double) -> String {
    let digits = value.magnitude >= 100 || value == value.rounded() ? 0 : value.magnitude >= 10 ? 1 : 2
    let scale = [1.0, 10, 100][digits]
    let whole = (value.magnitude * scale).rounded()
    var text = String(Int(whole))
    if digits > 0 {
        while text.count <= digits { text = "0" + text }
        text.insert(".", at: text.index(text.endIndex, offsetBy: -digits))
    }
    return value < 0 && whole > 0 ? "-" + text : text
}

extension String {
    /// With spaces behind, or before if `width` is negative.
    fileprivate func padded(to width: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, Int(width.magnitude) - self.count))
        return width < 0 ? spaces + self : self + spaces
    }
}
