import Testing

/// A frame of the server has its name in one place.
@MainActor @Suite struct FrameNameTests {
    private static let names: Set<String> = {
        let files = SourceTree.files.filter { $0.path.hasPrefix("Shared/Contract/ServerFrames/") }
        let definitions = files.flatMap {
            $0.lines.joined(separator: "\n").matches(of: #/ServerFrameDefinition\(\s*"([a-z_]+)"/#)
        }
        return Set(definitions.map { String($0.1) })
    }()

    private static let pattern = #/(?<label>type"?:\s*)?"(?<name>[a-z_]+)\\?"/#

    /// Strings that are a name, also within JSON. Names of one word are words of much else: they count as a `type` only.
    private static func names(in line: String) -> [String] {
        line.matches(of: Self.pattern)
            .filter { $0.label != nil || $0.name.contains("_") }
            .map { String($0.name) }.filter { Self.names.contains($0) }
    }

    @Test func servicesNameServerFramesByTheirTypes() {
        for file in SourceTree.files where file.path.hasPrefix("Services/") {
            for (index, line) in file.lines.enumerated() where !line.isComment && (line.has("_") || line.has("type")) {
                #expect(
                    Self.names(in: line).isEmpty,
                    "\(file.path):\(index + 1): use the type in Shared/Contract/ServerFrames")
            }
        }
    }

    @Test func namesAreFoundInStringsAndInJSON() {
        #expect(Self.names.count == SourceTree.files.count { $0.path.hasPrefix("Shared/Contract/ServerFrames/") } - 5)
        #expect(Self.names(in: #"reply(type: "pong", payload)"#) == ["pong"])
        #expect(Self.names(in: ##"Array(#"{"type":"message_received","payload":"#.utf8)"##) == ["message_received"])
        #expect(Self.names(in: #"case "call_end": break"#) == ["call_end"])
        #expect(Self.names(in: ##"#"{"error":"NOT_FOUND"}"#"##).isEmpty)
    }
}
