import Foundation
import LocalStack
import TerminalText
import Testing

@testable import WhisperTerminal

/// A picture in a terminal, read back by zbar as a phone would read it.
@Suite struct QRCodeTests {
    private static let link =
        "https://chat.example/listen/0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e/talk#AAECAwQFBgcICQoLDA0ODwAECAwQFBgcICQoLDA0ODw"

    @Test func whatIsDrawnIsRead() throws {
        let lines = try #require(QRCode(Self.link)).lines(Style(isOn: false))
        // A terminal of 80 columns shows it whole.
        #expect(lines.allSatisfy { TextWidth.columns($0) == lines[0].count } && lines[0].count < 80)
        let folder = try TemporaryFolder()
        let file = folder.path + "/code.pgm"
        try Self.picture(of: lines).write(toFile: file, atomically: true, encoding: .ascii)
        let read = try Run("/usr/bin/zbarimg", ["--quiet", "--raw", file], withErrors: false).output
        #expect(read == Self.link + "\n")
    }

    @Test func aTextThatIsTooLongIsNotDrawn() {
        #expect(QRCode(String(repeating: "x", count: 4_000)) == nil)
    }

    /// The cells as a terminal paints them, four dots to a module, white on black.
    private static func picture(of lines: [String]) -> String {
        let dots = 4
        let rows = lines.flatMap { line in
            ["█▀", "█▄"].map { light in
                line.flatMap { Array(repeating: light.contains($0) ? "1" : "0", count: dots) }.joined(separator: " ")
            }
        }
        let all = rows.flatMap { Array(repeating: $0, count: dots) }
        return "P2\n\(lines[0].count * dots) \(all.count)\n1\n" + all.joined(separator: "\n") + "\n"
    }
}
