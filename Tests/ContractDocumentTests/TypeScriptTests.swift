import ContractDocuments
import ContractSchema
import Foundation
import LocalStack
import Testing

/// The TypeScript compiler reads `docs/typescript/whisper.d.ts`: it accepts each sample of the contract, and refuses each with
/// one field of another type.
@Suite struct TypeScriptTests {
    private static let compiler = "/usr/bin/tsc"
    private static let isThere =
        ProcessInfo.processInfo.environment["CI"] != nil || FileManager.default.isExecutableFile(atPath: compiler)

    @Test(.enabled(if: isThere, "needs Debian's package node-typescript"))
    func samplesCompileAndWrongOnesDoNot() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "typescript-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: Folder.documents.appending(path: "typescript/whisper.d.ts"), to: folder.appending(path: "whisper.d.ts"))

        var lines = ["import type { ClientFrame, ServerFrame } from './whisper'"]
        var wrong = 0
        for frame in DocumentedFrame.all {
            let type = "\(frame.side.rawValue.capitalized)Frame"
            for sample in frame.samples {
                lines.append("\(Self.declaration(lines.count, type)) \(frame.frame(sample).line)")
            }
            guard case .object(let members)? = frame.samples.first else { continue }
            for index in members.indices {
                var members = members
                members[index].value = Self.other(than: members[index].value)
                lines.append("// @ts-expect-error \(members[index].name)")
                lines.append("\(Self.declaration(lines.count, type)) \(frame.frame(.object(members)).line)")
                wrong += 1
            }
        }
        try #require(wrong > 300)
        try lines.joined(separator: "\n").write(
            to: folder.appending(path: "samples.ts"), atomically: true, encoding: .utf8)

        let compiled = try Run(Self.compiler, ["--strict", "--noEmit", "samples.ts"], in: folder.path)
        #expect(compiled.status == 0, "\(compiled.output.prefix(4_000))")
    }

    private static func declaration(_ number: Int, _ type: String) -> String { "export const s\(number): \(type) =" }

    private static func other(than value: Document) -> Document {
        if case .object = value { return "other" }
        return .object([])
    }
}
