import Contract
import ContractDocuments
import Foundation

/// Writes what is generated from the contract.
///
///     whisper-contract documents FOLDER       writes or refreshes the files below FOLDER (docs)
///     whisper-contract settings PROGRAMS FOLDER   asks the services in PROGRAMS, writes FOLDER/settings.md
///     whisper-contract frames SEED COUNT      prints frames, one JSON object on a line, with the contract's verdict
@main
struct ContractTool {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "--version": print(Release.line("whisper-contract"))
        case "documents" where arguments.count == 2: try self.writeDocuments(below: arguments[1])
        case "settings" where arguments.count == 3:
            try self.writeSettings(of: URL(filePath: arguments[1]), below: URL(filePath: arguments[2]))
        case "frames" where arguments.count == 3:
            guard let seed = UInt64(arguments[1]), let count = Int(arguments[2]), count > 0 else { fallthrough }
            var fuzzer = FrameFuzzer(seed: seed)
            for _ in 0..<count { print(fuzzer.judged().line) }
        default:
            FileHandle.standardError.write(
                Data("usage: whisper-contract documents FOLDER | settings PROGRAMS FOLDER | frames SEED COUNT\n".utf8))
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

    private static func writeSettings(of programs: URL, below folder: URL) throws {
        let page = SettingsPage(
            try SettingsPage.services.map { service in
                let process = Process()
                process.executableURL = programs.appending(path: "whisper-\(service)")
                process.arguments = ["settings"]
                let output = Pipe()
                process.standardOutput = output
                try process.run()
                let lines = try output.fileHandleForReading.readToEnd() ?? Data()
                process.waitUntilExit()
                return (service, String(decoding: lines, as: UTF8.self))
            })
        try Data(page.text.utf8).write(to: folder.appending(path: "settings.md"))
        print("· settings.md below \(folder.relativePath)")
    }
}
