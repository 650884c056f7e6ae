import ContractDocuments
import Foundation
import LocalStack
import Testing

/// The Swift reader and the generated JSON Schemas accept the same frames; the schemas are asked by a validator that is
/// not ours.
@Suite(.enabled(if: Python.has("jsonschema"), "needs python3-jsonschema")) struct SchemaAgreementTests {
    private static let framesPerSeed = 2_500
    private static let seedsMax: UInt64 = ProcessInfo.processInfo.environment["WHISPER_PROVE"] == "1" ? 4 : 1

    @Test(arguments: UInt64(1)...Self.seedsMax)
    func readerAndSchemasAgree(seed: UInt64) async throws {
        var fuzzer = FrameFuzzer(seed: seed)
        try await self.expectAgreement((0..<Self.framesPerSeed).map { _ in fuzzer.judged() })
    }

    /// The same again on every run, with frames that nobody has seen before.
    @Test func readerAndSchemasAgreeOnNewFrames() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var fuzzer = FrameFuzzer(seed: seed)
        do {
            try await self.expectAgreement((0..<Self.framesPerSeed).map { _ in fuzzer.judged() })
        } catch {
            Issue.record("seed \(seed)")
            throw error
        }
    }

    /// A fuzzer that only ever hits one verdict would prove nothing.
    @Test func everyFrameIsMadeBothWays() {
        var fuzzer = FrameFuzzer(seed: 7)
        var valid: Set<String> = []
        var invalid: Set<String> = []
        for frame in DocumentedFrame.all {
            for _ in 0..<50 {
                if fuzzer.judged(frame).violation == nil { valid.insert(frame.key) } else { invalid.insert(frame.key) }
            }
        }
        let all = Set(DocumentedFrame.all.map(\.key))
        #expect(valid == all)
        #expect(invalid == all)
    }

    /// The judge finds a schema that says too much or too little.
    @Test(arguments: [
        ("client/send_message.json", "[AQgw]==", "[A-Za-z0-9+/]=="),
        ("client/typing.json", "[A-Z2-7]{4}$", "[A-Z2-7]{4}"),
        ("client/ping.json", #""minimum": 1"#, #""minimum": 0"#), ("client/send_message.json", "x-differ", "x-other"),
    ])
    func aWrongSchemaIsNoticed(file: String, right: String, wrong: String) async throws {
        let folder = try TemporaryFolder(named: "schemas")
        defer { folder.remove() }
        let copy = URL(filePath: folder.path).appending(path: "copy")
        try FileManager.default.copyItem(at: Folder.documents.appending(path: "schemas"), to: copy)
        let path = copy.appending(path: file)
        let text = try String(contentsOf: path, encoding: .utf8)
        try #require(text.contains(right))
        try text.replacing(right, with: wrong).write(to: path, atomically: true, encoding: .utf8)
        var fuzzer = FrameFuzzer(seed: 1)
        let key = file.replacing("/", with: ".").replacing(".json", with: "")
        let frame = try #require(DocumentedFrame.all.first { $0.key == key })
        let frames = (0..<Self.framesPerSeed).map { _ in fuzzer.judged(frame) }
        await #expect(throws: LaunchError.self) { try await self.expectAgreement(frames, schemas: copy) }
    }

    private func expectAgreement(
        _ frames: [JudgedFrame], schemas: URL = Folder.documents.appending(path: "schemas")
    ) async throws {
        let folder = try TemporaryFolder(named: "frames")
        defer { folder.remove() }
        let file = folder.path + "/frames"
        try Data(frames.map { $0.line + "\n" }.joined().utf8).write(to: URL(filePath: file))
        let report = try await Python.run("judge.py", [schemas.path(percentEncoded: false), file])
        #expect(report.contains(" 0 disagreements"))
    }
}
