import Testing

/// Figures of the sources that may fall and never rise. A change that lowers one lowers its bound here.
@MainActor @Suite struct RatchetTests {
    /// Functions of more than 70 lines, with their length.
    private static let longFunctions = [
        "Clients/WhisperCore/Events/LiveEvents.swift event": 79,
        "Services/calls/ConversationsCore/Tables/TranscriptTable.swift store": 92,
        "Services/router/RouterCore/Tables/AcceptStatement.swift statement": 76,
        "Shared/RedisBus/RedisCommand.swift write": 163,
        "TestSupport/Chaos/Clients/Stranger.swift act": 96,
        "Tests/ClientTests/FakeServer.swift take": 86,
        "Tests/ClientTests/GroupTests.swift aGroupIsWrittenToReadAnsweredAndChanged": 78,
        "Tests/ClusterTests/ConsoleTests.swift work": 186,
        "Tests/ContractTests/PayloadRuleTests.swift judgement": 123,
        "Tests/OperatorsTests/ConsoleTests.swift formsDoWhatTheAPIDoes": 83,
        "Tools/LoadTool/Workloads/GroupFanOut.swift measureGroups": 76,
        "Tools/LoadTool/Workloads/IdleConnections.swift measure": 82,
        "Tools/LoadTool/Workloads/ReconnectStorm.swift measureStorm": 79,
        "Tools/LoadTool/Workloads/RoomSignalling.swift measureRooms": 71,
    ]
    private static let functionMax = 70

    /// Types of the product whose files hold more than 1,200 lines together. The catalogue of verbs is a list.
    private static let largeTypes = ["WhisperCore.Verb": 3_690]
    private static let typeMax = 1_200

    /// Sentences of comments that begin with a word in place of a subject.
    private static let sentencesWithoutSubjectMax = 26

    /// Names of commands, which the compiler starts; of the C library; of protocols of other packages; words of the wire and of C.
    private static let usedFromOutside: Set = [
        "AdminTool", "ChaosCommand", "LoadCommand", "WhisperCommand", "cancelQueries", "channelReadComplete",
        "destroyCounter", "destroyMeter", "destroyRecorder", "destroyTimer", "handlerAdded", "initiateAAAAQuery",
        "initiateAQuery", "PGRES_COPY_IN", "PGRES_FATAL_ERROR", "PGRES_PIPELINE_ABORTED", "PGRES_PIPELINE_SYNC",
        "SQLITE_BLOB", "SQLITE_FLOAT", "SQLITE_INTEGER", "SQLITE_TEXT", "accountDeleteBegin",
        "guestForget", "registerBegin", "registerProof", "wsp_abi_version", "wsp_close", "wsp_export", "wsp_file_open",
        "wsp_file_seal",
        "wsp_free", "wsp_import", "wsp_interrupt", "wsp_media_open", "wsp_media_seal", "wsp_open", "wsp_parse_text",
        "wsp_rekey", "wsp_resume", "wsp_schema", "wsp_send", "wsp_suspend", "wsp_version", "wsp_wipe",
    ]

    @Test func functionsFitOnAScreen() {
        var long: [String: Int] = [:]
        for file in SourceTree.files {
            for function in file.functions where function.lines > Self.functionMax {
                long["\(file.path) \(function.name)"] = function.lines
            }
        }
        Self.compare(long, with: Self.longFunctions)
    }

    @Test func typesFitIntoOneHead() {
        var lines: [String: Int] = [:]
        for file in SourceTree.files where !file.path.hasPrefix("Test") {
            for (name, count) in file.types { lines["\(file.target).\(name)", default: 0] += count }
        }
        Self.compare(lines.filter { $0.value > Self.typeMax }, with: Self.largeTypes)
    }

    @Test func sentencesHaveSubjects() {
        let sentences = SourceTree.files.flatMap { file in
            file.commentSentences.filter { $0.isWithoutSubject }.map { "\(file.path): \($0)" }
        }
        let most = Self.sentencesWithoutSubjectMax
        #expect(sentences.count <= most, "\(sentences.suffix(20).joined(separator: "\n"))")
        #expect(sentences.count > most - 20, "lower the bound to \(sentences.count)")
    }

    /// A declaration whose name stands nowhere else in code is used by nothing.
    @Test func declarationsAreUsed() throws {
        let names = try SourceTree.shell(
            #"""
            export LC_ALL=C
            declared() {
                grep -rhoE --include='*.swift' --exclude=Wordlist.swift \
                    '^ *(@?[a-z()]+ )*(func|var|let|case|struct|class|enum|actor|protocol|typealias) [A-Za-z_0-9]+' \
                    Shared Services Clients Tools | sed 's/.* //' | sort -u
            }
            once() {
                find Shared Services Clients Tools TestSupport Tests -name '*.swift' ! -name RatchetTests.swift \
                    -exec grep -hv '^ *//' {} + | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort | uniq -u
            }
            { declared; once; } | sort | uniq -d
            """#)
        let unused = Set(names.split(separator: "\n").map(String.init))
        #expect(unused.symmetricDifference(Self.usedFromOutside).sorted() == [])
    }

    @Test func functionsTypesAndSentencesAreSeen() {
        let lines = [
            "/// Whose it is. The caller", "/// waits.", "actor A {", "    func a(", "        b: Int", "    ) {",
            "        // Of b.",
            "        b()", "    }", "    func c() { d() }", "}", "extension A.B {", "    init() {", "    }", "}",
        ]
        let file = SourceTree.File(path: "Shared/Bus/x.swift", lines: lines)
        #expect(file.functions.map(\.name) == ["a", "init"])
        #expect(file.functions.map(\.lines) == [6, 2])
        #expect(file.types.map(\.name) == ["A", "A"])
        #expect(file.types.map(\.lines) == [9, 4])
        #expect(file.commentSentences.filter { $0.isWithoutSubject } == ["Whose it is.", "Of b."])
    }

    private static func compare(_ found: [String: Int], with bounds: [String: Int]) {
        for (name, lines) in found.sorted(by: { $0.key < $1.key }) {
            guard let bound = bounds[name] else {
                Issue.record("\(name) has \(lines) lines")
                continue
            }
            #expect(lines <= bound, "\(name)")
        }
        for (name, bound) in bounds {
            #expect(found[name, default: 0] > bound * 9 / 10, "\(name): lower the bound, or remove it")
        }
    }
}

extension SourceTree.File {
    /// Functions and initialisers with a body of several lines. The formatter sets a declaration and its last brace at the same
    /// indentation.
    fileprivate var functions: [(name: String, lines: Int)] {
        self.blocks(named: "func ", "init") { line in
            line.firstMatch(of: Self.functionPattern).map { String($0.1 ?? $0.2 ?? "") }
        }
    }

    /// Types at the top level and their extensions, by the outermost name.
    fileprivate var types: [(name: String, lines: Int)] {
        self.blocks(named: "class ", "struct ", "enum ", "actor ", "extension ") { line in
            line.firstMatch(of: Self.typePattern).map { String($0.1) }
        }
    }

    nonisolated(unsafe) private static let functionPattern =
        #/^ *(?:@?[\w().]+ )*(?:func ([^ (<]+|[^ ]+ )|(init)[?!]?[(<])/#
    nonisolated(unsafe) private static let typePattern =
        #/^(?:@?[\w()]+ )*(?:class|struct|enum|actor|extension) (\w+)/#

    private func blocks(named words: String..., name: (String) -> String?) -> [(name: String, lines: Int)] {
        self.lines.indices.compactMap { start in
            let line = self.lines[start]
            guard words.contains(where: { line.has($0) }), !line.isComment, let name = name(line) else { return nil }
            let indentation = line.prefix { $0 == " " }
            // A declaration of one line, or one without a body, has no line of its own that ends with the opening brace.
            var opening = start
            while !self.lines[opening].hasSuffix("{") {
                opening += 1
                guard opening < self.lines.count,
                    self.lines[opening].hasPrefix(indentation + " ")
                        || self.lines[opening].hasPrefix(indentation + ")")
                        || self.lines[opening] == indentation + "{"
                else { return nil }
            }
            guard let end = self.lines[opening...].firstIndex(of: indentation + "}") else { return nil }
            return (name, end - start + 1)
        }
    }

    /// The sentences of each block of comment lines.
    fileprivate var commentSentences: [String] {
        var sentences: [String] = []
        var block = ""
        for line in self.lines + [""] {
            if line.isComment {
                block += (block.isEmpty ? "" : " ") + line.drop { $0 == " " || $0 == "/" }
            } else if !block.isEmpty {
                var sentence = ""
                for word in block.split(separator: " ") {
                    sentence += (sentence.isEmpty ? "" : " ") + word
                    if [".", "!", "?"].contains(word.last) {
                        sentences.append(sentence)
                        sentence = ""
                    }
                }
                if !sentence.isEmpty { sentences.append(sentence) }
                block = ""
            }
        }
        return sentences
    }
}

extension String {
    fileprivate var isWithoutSubject: Bool {
        let words: Set<Substring> = ["Of", "What", "Who", "Whoever", "Whose", "Whom", "Those", "Whatever"]
        return words.contains(self.prefix { $0.isLetter })
    }
}
