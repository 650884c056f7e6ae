import ContractSchema
import WhisperCore

/// Everything that is generated from the contract: the files, and what stands in them. Nothing here depends on the time,
/// the machine or the order of a hash table.
package enum ContractDocuments {
    package struct File: Sendable {
        /// From `docs/` on.
        package let path: String
        package let text: String
    }

    /// Generated once in a process.
    package static let files: [File] = {
        var files = [
            File(path: "protocol.md", text: ProtocolPage.text), File(path: "asyncapi.json", AsyncAPI.document),
            File(path: "openapi.json", OpenAPI.document), File(path: "vectors/frames.json", FrameVectors.document),
            File(path: "vectors/live.json", LiveVectors.document), File(path: "core.md", text: CorePage.text),
            File(path: "core.json", OpenRPC.document), File(path: "typescript/whisper.d.ts", text: TypeScript.text),
            File(path: "../Clients/Python/whispercore/verbs.pyi", text: PythonTypes.text),
            File(path: "retention.md", text: RetentionPage.text),
            File(path: "../llms.txt", text: LLMSText.text),
        ]
        for frame in DocumentedFrame.all {
            files.append(File(path: "schemas/\(frame.side.rawValue)/\(frame.type).json", frame.schemaFile))
        }
        return files
    }()

    /// Folders in which every file is generated: others do not belong there.
    package static let folders = DocumentedFrame.Side.allCases.map { "schemas/\($0.rawValue)" } + ["typescript"]
}

extension ContractDocuments.File {
    init(path: String, _ document: Document) {
        self.init(path: path, text: document.text() + "\n")
    }
}
