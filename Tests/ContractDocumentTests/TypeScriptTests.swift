import Contract
import ContractDocuments
import ContractSchema
import Foundation
import LocalStack
import Testing

/// The TypeScript compiler reads `docs/typescript/whisper.d.ts`: it accepts each sample of the contract, of frames and
/// of bodies over HTTP, and refuses each with one wrong field.
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

        var lines = ["import type { ClientFrame, ServerFrame, Routes } from './whisper'"]
        var wrong = 0
        func add(_ sample: Document, _ schema: ObjectSchema, as type: String, in whole: (Document) -> Document) {
            lines.append("\(Self.declaration(lines.count, type)) \(whole(sample).line)")
            for (fault, sample) in Self.faults(of: sample, schema) {
                lines.append("// @ts-expect-error \(fault)")
                lines.append("\(Self.declaration(lines.count, type)) \(whole(sample).line)")
                wrong += 1
            }
        }
        for frame in DocumentedFrame.all {
            for sample in frame.samples {
                add(sample, frame.schema, as: "\(frame.side.rawValue.capitalized)Frame", in: frame.frame)
            }
        }
        let frames = wrong
        for operation in HTTPCatalogue.all {
            let route = "Routes['\(operation.method.rawValue.uppercased()) \(operation.path)']"
            if let (schema, sample) = operation.request {
                add(Document(sample: sample), schema, as: "\(route)['body']") { $0 }
            }
            if case .json(let schema, let sample) = operation.success {
                add(Document(sample: sample), schema, as: "\(route)['answer']") { $0 }
            }
        }
        try #require(frames > 1_000 && wrong - frames > 500)
        try lines.joined(separator: "\n").write(
            to: folder.appending(path: "samples.ts"), atomically: true, encoding: .utf8)

        let compiled = try Run(Self.compiler, ["--strict", "--noEmit", "samples.ts"], in: folder.path)
        #expect(compiled.status == 0, "\(compiled.output.prefix(4_000))")
    }

    private static func declaration(_ number: Int, _ type: String) -> String { "export const s\(number): \(type) =" }

    /// The sample with one fault each, at any depth: a field of another type, a required one that is left out, an
    /// unknown one.
    private static func faults(of sample: Document, _ schema: ObjectSchema) -> [(String, Document)] {
        guard case .object(let members) = sample else { return [] }
        var faults = [("an unknown field", sample.adding([("unknownField", .string("other"))]))]
        for (index, member) in members.enumerated() {
            guard let field = schema.fields.first(where: { $0.name == member.name }) else { continue }
            func with(_ value: Document) -> Document {
                var members = members
                members[index].value = value
                return .object(members)
            }
            faults.append(("\(field.name) of another type", with(Self.other(than: member.value))))
            if field.presence == .required {
                var members = members
                members.remove(at: index)
                faults.append(("no \(field.name)", .object(members)))
            }
            switch (field.type, member.value) {
            case (.object(let inner), let value):
                faults += Self.faults(of: value, inner).map { ("\(field.name): \($0)", with($1)) }
            case (.array(.object(let inner), _), .array(let elements)) where !elements.isEmpty:
                faults += Self.faults(of: elements[0], inner).map { fault, first in
                    ("\(field.name): \(fault)", with(.array([first] + elements.dropFirst())))
                }
            default: break
            }
        }
        return faults
    }

    private static func other(than value: Document) -> Document {
        if case .object = value { return .string("other") }
        return .object([])
    }
}
