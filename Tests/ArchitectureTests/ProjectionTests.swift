import Foundation
import LocalStack
import Testing

/// `make project`: what a size needs, by the figures that were measured.
@MainActor @Suite struct ProjectionTests {
    private struct Facts: Decodable {
        struct Figure: Decodable { var value: Double, unit, section, text: String }
        struct Bound: Decodable { var value: Double, text: String, file: String? }
        var figures: [String: Figure]
        var bounds: [String: Bound]
    }

    private static func text(_ file: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: file), encoding: .utf8)
    }

    private static func facts() throws -> Facts {
        try JSONDecoder().decode(Facts.self, from: Data(try Self.text("docs/benchmarks/figures.json").utf8))
    }

    private static func project(_ arguments: String...) throws -> String {
        let run = try Run(
            SourceTree.root.appending(path: "Tools/Projection/project").path, arguments, withErrors: false)
        #expect(run.status == 0)
        return run.output
    }

    /// A figure that was measured anew is changed here, too.
    @Test func everyFigureStandsInItsSection() throws {
        let sections = try Self.text("docs/benchmarks.md").split(separator: "\n## ").map(String.init)
        for (name, figure) in try Self.facts().figures {
            let section = sections.first { $0.hasPrefix(figure.section) }
            #expect(section?.contains(figure.text) == true, "\(name): \(figure.section)")
            // The text names the value, unless it is a sum that the unit explains.
            let value = figure.value.formatted(.number.grouping(.automatic).locale(Locale(identifier: "en")))
            #expect(figure.text.contains(value) || figure.unit.contains(":"), "\(name): \(value)")
        }
    }

    @Test func everyBoundStandsInItsFile() throws {
        for (name, bound) in try Self.facts().bounds {
            guard let file = bound.file else { continue }
            #expect(try Self.text(file).contains(bound.text), "\(name): \(file)")
            #expect(bound.text.contains("\(Int(bound.value))"), "\(name)")
        }
    }

    @Test func theTableIsWhatTheFiguresComeTo() throws {
        #expect(try Self.text("docs/benchmarks.md").contains("\n\(try Self.project("--table"))\n"))
    }

    /// One size, reckoned here by hand.
    @Test func aSizeIsReckonedRight() throws {
        let text = try Self.project("--connections", "1000000", "--messages", "100000")
        // 100,000 × 25 µs and 1,000,000 × 1.1 µs at 60 %; 50,000 connections each.
        #expect(text.contains("gateways       20      6.0     2.8 GB"), "\(text)")
        // 100,000 × 43 µs at 60 %: what one connection to Postgres commits.
        #expect(text.contains("routers         8      5.6     0.6 GB"), "\(text)")
        #expect(text.contains("WAL        180 MB a second"), "\(text)")
        #expect(text.contains("0.03 times this load: clients of one HAProxy"), "\(text)")
    }
}
