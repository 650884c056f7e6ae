import ArgumentParser
import Foundation

/// `whisper-load plot`: from figures that were written with `--json` to pictures and tables.
struct PlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot", abstract: "Draws what earlier runs have written (SVG), and prints it as Markdown.")

    @Argument(help: "Files that --json has written.")
    var files: [String]
    @Option(help: "Folder for the pictures.")
    var into = "docs/benchmarks"

    func run() async throws {
        try FileManager.default.createDirectory(atPath: self.into, withIntermediateDirectories: true)
        for file in self.files {
            let reports = try JSONDecoder().decode([Report].self, from: Data(contentsOf: URL(fileURLWithPath: file)))
            for report in reports {
                for chart in report.charts { try self.write(SVG(chart), chart.file) }
                for bars in report.bars { try self.write(SVG(bars), bars.file) }
                say(report.markdown + "\n")
            }
        }
    }

    private func write(_ picture: SVG, _ name: String) throws {
        try picture.text.write(toFile: "\(self.into)/\(name).svg", atomically: true, encoding: .utf8)
    }
}
