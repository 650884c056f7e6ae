import Foundation
import Testing

/// The documents' promises to their readers.
@MainActor @Suite struct DocumentTests {
    /// Every page that people read. `docs/protocol.md` and `docs/settings.md` are generated.
    nonisolated static let pages =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "llms.txt"]
        + ((try? FileManager.default.contentsOfDirectory(atPath: SourceTree.root.appending(path: "docs").path)) ?? [])
        .filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }

    private static let sentenceWordsMax = 25

    @Test func allPagesAreFound() {
        #expect(Self.pages.count >= 13 && Self.pages.contains("docs/architecture.md"))
    }

    @Test(arguments: pages) func sentencesAreShort(page: String) throws {
        let long = Self.sentences(of: try Self.text(page)).filter { Self.words($0) > Self.sentenceWordsMax }
        #expect(long.isEmpty, "\(page): more than \(Self.sentenceWordsMax) words")
    }

    /// The check can fail.
    @Test func aLongSentenceIsSeen() {
        let long = Array(repeating: "word", count: 26).joined(separator: " ") + "."
        let text = "Short. \(long) Short.\n\n| cell | \(long) |\n\n```\n\(long)\n```\n"
        #expect(Self.sentences(of: text).filter { Self.words($0) > Self.sentenceWordsMax }.count == 2)
        let short = Self.sentences(of: "A `name of code, whatever it says` and a [link](https://example.org/a) − one.")
        #expect(short.map(Self.words) == [6])
    }

    @Test func theArchitectureFitsIntoOneReading() throws {
        #expect(
            try Self.text("docs/architecture.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 251)
    }

    /// A reader keeps so many terms of a domain in mind.
    @Test func theGlossaryHasFewTermsInEachDomain() throws {
        let domains = try Self.text("docs/glossary.md").components(separatedBy: "\n## ").dropFirst()
        #expect(domains.count == 6)
        for domain in domains {
            let rows = domain.split(separator: "\n").filter { $0.hasPrefix("| ") }
            let terms = rows.filter { !$0.hasPrefix("| ---") && !$0.hasPrefix("| term") }
            #expect((3...25).contains(terms.count), "\(domain.prefix { $0 != "\n" }): \(terms.count) terms")
        }
    }

    /// Types, members, verbs and files. Other code, such as a command, is not looked for.
    @Test(arguments: ["docs/glossary.md", "docs/client.md"]) func namesOfCodeExist(page: String) throws {
        let spans = try Self.text(page).replacing(#/(?s)```.*?```/#, with: "").matches(of: #/`([^`]+)`/#)
        let names = Set(
            spans.filter { $0.1.wholeMatch(of: #/[A-Za-z][\w.\/]*(?:\([\w:]*\))?/#) != nil }
                .flatMap { $0.1.split { ".:()/".contains($0) } }.map(String.init))
        try #require(names.count > 50)
        let found = Set(
            try SourceTree.shell(
                """
                git ls-files | tr './' '\\n'
                git ls-files -z '*.swift' '*.sql' '*.h' | xargs -0 cat | tr -cs 'A-Za-z0-9_' '\\n' | sort -u
                """
            ).split(separator: "\n").map(String.init))
        #expect(names.subtracting(found).sorted() == [], "\(page) names code that is not there")
    }

    /// Nobody has to look for a rule outside of the repository.
    @Test func everyCitedSectionIsThere() throws {
        let page = try Self.text("docs/contract.md")
        let sections =
            page.matches(of: #/(?m)^#+ (\d+[a-z]?(?:\.\d+)?)\.? /#).map { "contract \($0.1)" }
            + page.matches(of: #/\*\*(\d+[a-z]?\.\d+[a-z]?)\*\*/#).map { "contract \($0.1)" }
            + page.matches(of: #/\*\*spec ([\d.]+)\*\*/#).map { "spec \($0.1)" }
        let cited = try SourceTree.shell(
            "git grep -hoiE '(contract|spec) §[0-9][0-9a-z.]*((,| and| or| to|–)? ?§[0-9][0-9a-z.]*)*'")
        var citations: Set<String> = []
        for line in cited.split(separator: "\n") {
            let parts = line.lowercased().split(separator: "§")
            let document = parts[0].split(separator: " ").last.map(String.init) ?? ""
            for number in parts.dropFirst() {
                let digits = number.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }
                citations.insert("\(document) \(digits.hasSuffix(".") ? digits.dropLast() : digits)")
            }
        }
        try #require(citations.count > 60)
        #expect(citations.subtracting(sections).sorted() == [], "docs/contract.md has no such section")
    }

    /// Figures are measured in one place. README repeats the most important.
    @Test func figuresOfTheReadmeStandInTheBenchmarks() throws {
        let measured = Set(
            try Self.text("docs/benchmarks.md").matches(of: #/\d(?:[\d,.]*\d)?/#).map { String($0.output) })
        let table = try Self.text("README.md").components(separatedBy: "\n## ").first { $0.hasPrefix("Measured") }
        let figures = try #require(table).matches(of: #/\d[\d,.]*(?=(?: to [\d,.]+)? (?:µs|ms|s|KiB|MiB|a second))/#)
            .map { String($0.output) }
        #expect(figures.count >= 8, "\(figures)")
        for figure in figures {
            #expect(measured.contains(figure), "README says \(figure), docs/benchmarks.md does not")
        }
    }

    @Test func everyLinkLeadsSomewhere() throws {
        var anchors: [String: Set<String>] = [:]
        for page in Self.pages {
            anchors[page] = Set(try Self.text(page).matches(of: #/(?m)^#+ (.+)$/#).map { Self.anchor(String($0.1)) })
        }
        for page in Self.pages {
            for (path, anchor) in try Self.links(of: page) {
                #expect(
                    FileManager.default.fileExists(atPath: SourceTree.root.appending(path: path).path),
                    "\(page) links to \(path)")
                guard let anchor else { continue }
                #expect(anchors[path]?.contains(anchor) == true, "\(page) links to \(path)#\(anchor)")
            }
        }
    }

    /// The documents of a release are read without a checkout, and link only to each other.
    @Test func everyLinkLeadsSomewhereInARelease() throws {
        let script = try Self.text("deploy/make-release")
        let packed = try #require(script.firstMatch(of: #/\ndocuments="(.+)"\n/#)).1.split(separator: " ")
        for page in Self.pages {
            for path in try [page] + Self.links(of: page).map(\.path) {
                #expect(packed.contains { path == $0 || path.hasPrefix("\($0)/") }, "\(page): \(path) is not packed")
            }
        }
    }

    /// Paths in the repository, each with its anchor.
    private static func links(of page: String) throws -> [(path: String, anchor: String?)] {
        let folder = page.hasPrefix("docs/") ? "docs/" : ""
        return try Self.text(page).matches(of: #/\]\(([\w.\/-]*)(?:#([\w-]+))?\)/#).map { link in
            let path = link.1.isEmpty ? page : (folder + link.1).replacing("docs/../", with: "")
            return (path, link.2.map(String.init))
        }
    }

    /// As GitHub makes it of a heading.
    private static func anchor(_ heading: String) -> String {
        heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
            .replacing(" ", with: "-")
    }

    /// A metric that an operator is sent to look at must exist.
    @Test func everyMetricOfThePagesIsExported() throws {
        let metrics = try Self.text("Shared/Telemetry/MetricName.swift")
        let backup = try Self.text("deploy/backup/whisper-backup")
        for page in ["docs/operations.md", "docs/services.md", "docs/faults.md"] {
            for metric in try Self.text(page).matches(of: #/`(whisper_[a-z]+_\w+)[`{]/#).map(\.1) {
                let isExported =
                    metrics.contains("\"\(metric)\"")
                    || backup.contains("gauge \(metric.replacing("whisper_backup_", with: "")) ")
                #expect(isExported, "\(page) names \(metric)")
            }
        }
    }

    private static func text(_ page: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: page), encoding: .utf8)
    }

    /// Sentences of prose, lists and cells of tables; headings and code are left out. A colon or semicolon ends one,
    /// too.
    static func sentences(of text: String) -> [String] {
        let (code, link, space) = (#/`[^`]*`/#, #/\]\([^)]*\)/#, #/\s+/#)
        let end = #/[.!?:;]["”)*]*\s/#
        let prose = text.replacing(#/(?s)```.*?```/#, with: "").replacing(#/(?m)^#.*$/#, with: "")
        let blocks = prose.replacing(#/\n(?=\s*(?:[-*|]|\d+\.)\s)/#, with: "\n\n").components(separatedBy: "\n\n")
        return blocks.flatMap { block in
            (block.hasPrefix("|") ? block.components(separatedBy: "|") : [block]).flatMap { part in
                part.replacing(code, with: "code").replacing(link, with: "]").replacing(space, with: " ")
                    .replacing(end, with: "\n").components(separatedBy: "\n")
            }
        }
    }

    static func words(_ sentence: String) -> Int {
        sentence.split(separator: " ").count { $0.contains(where: { $0.isLetter || $0.isNumber }) }
    }
}
