import ContractDocuments
import ContractSchema
import Foundation
import LocalStack
import Testing
import WhisperCore

/// The checker of types reads `verbs.pyi`: it accepts the sample of each verb and event, and refuses commands that no core
/// would take.
@Suite struct PythonTypesTests {
    private static let checker = "/usr/bin/mypy"
    private static let isThere =
        ProcessInfo.processInfo.environment["CI"] != nil || FileManager.default.isExecutableFile(atPath: checker)

    @Test(.enabled(if: isThere, "needs Debian's package mypy"))
    func samplesPassAndWrongOnesDoNot() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "python-types-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        var lines = ["from whispercore import Core", "from whispercore.verbs import Event"]
        // `--strict` complains about a fault that is none.
        let isWrong = "  # type: ignore[call-overload]"
        for verb in VerbCatalogue.all {
            let parameters = Document(sample: verb.samples.parameters)
            let call = { (parameters: Document) in "core.send(\"\(verb.name)\", \(Self.arguments(parameters)))" }
            lines.append("def \(verb.name)(core: Core) -> None:")
            if verb.asksServer {
                lines.append("    result = core.ask(\"\(verb.name)\", 30, \(Self.arguments(parameters)))")
                lines.append("    \(call(parameters))[\"request\"].bit_length()")
            } else {
                lines.append("    result = \(call(parameters))")
            }
            lines.append("    result = \(Self.literal(Document(sample: verb.samples.result)))")
            lines.append("    \(call(parameters.adding([("unknownField", .integer(1))])))\(isWrong)")
            // A dictionary may stand for any field that is missing.
            guard case .object(let members) = parameters, !members.contains(where: { Self.reserved.contains($0.name) })
            else { continue }
            for field in verb.parameters.fields where field.presence == .required {
                lines.append("    \(call(.object(members.filter { $0.name != field.name })))\(isWrong)")
            }
        }
        lines.append("def unknown(core: Core) -> None:\n    core.send(\"message_sent\")\(isWrong)")
        for event in EventDefinition.all {
            lines.append("\(event.type)_event: Event = \(Self.literal(Document(sample: event.sample)))")
        }
        try #require(lines.count > 800)
        let file = folder.appending(path: "samples.py")
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)

        let sources = Folder.documents.deletingLastPathComponent().appending(path: "Clients/Python")
        let checked = try Run(
            Self.checker,
            ["--strict", "--hide-error-context", "--cache-dir", folder.path, "whispercore", file.path], in: sources.path
        )
        #expect(checked.status == 0, "\(checked.output.prefix(4_000))")
        let examples = try Run(
            Self.checker, ["--check-untyped-defs", "--scripts-are-modules", "--cache-dir", folder.path, "examples"],
            in: sources.path)
        #expect(examples.status == 0, "\(examples.output.prefix(4_000))")
    }

    private static let reserved: Set<String> = ["as", "from"]

    /// As keywords; a name that is a word of Python stands in a dictionary.
    private static func arguments(_ parameters: Document) -> String {
        guard case .object(let members) = parameters else { return "" }
        return members.map { member in
            let value = Self.literal(member.value)
            return Self.reserved.contains(member.name) ? "**{\"\(member.name)\": \(value)}" : "\(member.name)=\(value)"
        }.joined(separator: ", ")
    }

    private static func literal(_ value: Document) -> String {
        switch value {
        case .null: "None"
        case .bool(let bool): bool ? "True" : "False"
        case .integer, .string: value.line
        case .array(let elements): "[\(elements.map(Self.literal).joined(separator: ", "))]"
        case .object(let members):
            "{\(members.map { "\(Document.string($0.name).line): \(Self.literal($0.value))" }.joined(separator: ", "))}"
        }
    }
}
