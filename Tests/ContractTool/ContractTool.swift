import ContractDocuments
import Foundation

/// Writes what is generated from the contract.
///
///     whisper-contract documents FOLDER       writes or refreshes the files below FOLDER (docs)
///     whisper-contract frames SEED COUNT      prints frames, one JSON object on a line, with the contract's verdict
@main
struct ContractTool {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "documents" where arguments.count == 2: try self.writeDocuments(below: arguments[1])
        case "frames" where arguments.count == 3:
            guard let seed = UInt64(arguments[1]), let count = Int(arguments[2]), count > 0 else { fallthrough }
            var fuzzer = FrameFuzzer(seed: seed)
            for _ in 0..<count { print(fuzzer.judged().line) }
        default:
            FileHandle.standardError.write(Data("usage: whisper-contract documents FOLDER | frames SEED COUNT\n".utf8))
            exit(2)
        }
    }

    private static func writeDocuments(below folder: String) throws {
        let root = URL(filePath: folder, directoryHint: .isDirectory)
        for folder in ContractDocuments.folders {
            try? FileManager.default.removeItem(at: root.appending(path: folder))
        }
        for file in ContractDocuments.files {
            let url = root.appending(path: file.path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(file.text.utf8).write(to: url)
        }
        print("· \(ContractDocuments.files.count) files below \(folder)")
    }
}
