import Contract
import Foundation
import Testing

/// The rows of `KeptRecord` against what the settings and the code are.
@Suite struct RetentionPageTests {
    @Test func namesAndPlacesAreOfOneKind() {
        #expect(Set(KeptRecord.all.map(\.name)).count == KeptRecord.all.count)
        for place in KeptRecord.all.flatMap(\.places) {
            #expect(
                place.wholeMatch(of: /(auth|router|push|attachments|calls)\.[a-z_]+|redis:[a-z-]+/) != nil, "\(place)")
        }
    }

    @Test func theSettingsOfTheRowsExistAsTheySay() throws {
        let page = try String(contentsOf: Folder.documents.appending(path: "settings.md"), encoding: .utf8)
        for record in KeptRecord.all {
            guard let setting = record.setting else { continue }
            let isInDays = setting.name.contains("DAYS")
            func number(_ time: Duration) -> Int64 { time.components.seconds / (isInDays ? 86_400 : 1) }
            let row = page.split(separator: "\n").first { $0.hasPrefix("| `\(setting.name)` |") }
            let allowed = "an integer in \(number(setting.least))...\(number(setting.most))"
            // Without a time nothing goes: 0.
            let usual = record.usual.map(number) ?? 0
            #expect(row?.contains(allowed) == true && row?.contains("| \(usual) |") == true, "\(setting.name)")
        }
    }

    /// Each row names the file of the code that enforces it.
    @Test func theCodeThatEnforcesARowExists() throws {
        for record in KeptRecord.all {
            let words = record.enforcedBy.split(separator: ": ").map(String.init)
            let (folder, name) =
                ["backup", "debian"].contains(words[0])
                ? ("deploy/\(words[0])", words[1]) : ("Services/\(words[0])", words[1] + ".swift")
            let files = FileManager.default.enumerator(atPath: Folder.root.appending(path: folder).path)
            let found = files?.contains { ($0 as? String)?.split(separator: "/").last.map(String.init) == name }
            #expect(found == true, "\(record.name): \(record.enforcedBy)")
        }
    }

    /// Every unit writes to the journal that is kept as long as the row says.
    @Test func theLogsOfAllUnitsGoAsTheirRowSays() throws {
        let row = try #require(KeptRecord.all.first { $0.name == "logs" })
        let days = try #require(row.about.firstMatch(of: #/The packages keep (\d+) days/#)).1
        let journal = try Self.text("deploy/debian/journald@whisper.conf")
        #expect(journal.contains("\nMaxRetentionSec=\(days)day\nMaxFileSec=1day\n"))
        let units = try ["deploy/systemd", "deploy/debian/units"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: Folder.root.appending(path: folder).path)
                .filter { $0.hasSuffix(".service") }.map { "\(folder)/\($0)" }
        }
        try #require(units.count >= 13)
        for unit in units where !unit.contains("whisper-daemon@") {
            #expect(try Self.text(unit).contains("\n[Service]\nLogNamespace=whisper\n"), "\(unit)")
        }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Folder.root.appending(path: path), encoding: .utf8)
    }
}
