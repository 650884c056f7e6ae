import ContractDocuments
import Foundation
import Testing

@Suite struct CurrentDocumentTests {
    @Test(arguments: ContractDocuments.files.map(\.path))
    func aDocumentIsWhatTheContractSays(path: String) throws {
        let file = try #require(ContractDocuments.files.first { $0.path == path })
        let committed = try? Data(contentsOf: Folder.documents.appending(path: path))
        #expect(committed == Data(file.text.utf8), "docs/\(path) is not current: `make documents`, commit all of it")
    }

    /// Programs that no test executes become wrong.
    @Test func eachProgramOfLLMSTextIsThatOfAPage() throws {
        let pages = try ["operate-one-machine", "first-app", "first-bot"].map { name in
            try String(contentsOf: Folder.documents.appending(path: name + ".md"), encoding: .utf8)
        }
        let text = try #require(ContractDocuments.files.first { $0.path == "../llms.txt" }).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var (isCode, count) = (false, 0)
        for line in lines {
            if line.hasPrefix("```") { isCode.toggle() }
            guard isCode, !line.hasPrefix("```") else { continue }
            count += 1
            #expect(pages.contains { $0.contains("\n\(line)\n") }, "\(line)")
        }
        #expect(count > 20 && lines.count <= 200)
    }

    @Test(arguments: ContractDocuments.folders)
    func nothingElseLiesAmongGeneratedFiles(folder: String) throws {
        let present = try FileManager.default.contentsOfDirectory(
            atPath: Folder.documents.appending(path: folder).path())
        let generated = Set(ContractDocuments.files.map(\.path))
        let strays = present.filter { !generated.contains("\(folder)/\($0)") }
        #expect(strays.isEmpty, "in docs/\(folder): run `make documents` and commit docs/")
    }

    @Test(.enabled(if: Python.has("nacl"), "needs python3-nacl"))
    func cryptographicVectorsAreThoseOfAnotherImplementation() async throws {
        _ = try await Python.run("vectors.py", ["--check", Folder.documents.appending(path: "vectors").path()])
    }

    @Test(.enabled(if: Python.has("cryptography"), "needs python3-cryptography"))
    func liveVectorsAreThoseOfAnotherImplementation() async throws {
        _ = try await Python.run(
            "live_vectors.py", [Folder.documents.appending(path: "vectors/live.json").path()])
    }
}
