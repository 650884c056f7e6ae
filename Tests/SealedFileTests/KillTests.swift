import Dispatch
import Foundation
import SQLite
import Testing

/// A process that writes is killed again and again: what it has said to be committed is there. `make prove` kills it 200 times,
/// `KILLS=10000` more often.
@Suite(.timeLimit(.minutes(60))) struct KillTests {
    private static let kills: Int = {
        let environment = ProcessInfo.processInfo.environment
        return environment["KILLS"].flatMap(Int.init) ?? (environment["WHISPER_PROVE"] == "1" ? 200 : 60)
    }()

    /// `SealedFileWriter` stands beside the tests.
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "SealedFileWriter")

    /// Lets the writer write.
    /// - Returns: the last row that it has said to be committed before it was killed; `nil` if it said none.
    private func killed(in folder: SealedFolder, after lines: Int) async throws -> Int? {
        let file = folder.file
        let (status, output) = try await withCheckedThrowingContinuation { continuation in
            // A wait for a process holds a thread, and the tests have few.
            DispatchQueue(label: "writer").async {
                continuation.resume(with: Result { try Self.killed(file, after: lines) })
            }
        }
        #expect(status == nil, "the writer ended by itself: \(status ?? 0)")
        let whole = output.prefix(through: output.lastIndex(of: 0x0A) ?? output.startIndex - 1)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) }
    }

    /// - Returns: the writer's status if it ended by itself, and what it said.
    private static func killed(_ file: String, after lines: Int) throws -> (status: Int32?, output: Data) {
        // No other test's child may inherit it: the end of what the writer says would not be seen.
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
        let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let writer = try self.start(file, output: writing)
        try writing.close()
        var output = Data()
        // It is killed in the midst of what follows the line that was waited for.
        while output.count(where: { $0 == 0x0A }) < lines {
            let more = reading.availableData
            if more.isEmpty { break }
            output += more
        }
        kill(writer, SIGKILL)
        output += try reading.readToEnd() ?? Data()
        var status: Int32 = 0
        while waitpid(writer, &status, 0) < 0 && errno == EINTR {}
        return (status & 0x7F == SIGKILL ? nil : status, output)
    }

    /// Foundation's `Process` copies the list of all open files, and crashed here beside tests that had a thousand.
    private static func start(_ file: String, output: FileHandle) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output.fileDescriptor, 1)
        let program = Self.program.path(percentEncoded: false)
        let words: [String] = [program, file, "\(SealedFolder.keyByte)"]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var writer = pid_t()
        let refusal = posix_spawn(&writer, program, &actions, nil, &arguments, environ)
        guard refusal == 0 else { throw POSIXError(POSIXErrorCode(rawValue: refusal) ?? .EINVAL) }
        return writer
    }

    @Test func whatWasCommittedIsThereAfterAKill() async throws {
        try #require(FileManager.default.isExecutableFile(atPath: Self.program.path), "\(Self.program.path)")
        var numbers = SeededNumbers(UInt64(Self.kills))
        var folder = try SealedFolder()
        var (newest, rows) = (0, 0)
        for round in 0..<Self.kills {
            // A database does not grow for ever.
            if rows > 2_000 { (folder, newest) = (try SealedFolder(), 0) }
            if let committed = try await self.killed(in: folder, after: numbers.below(30)) {
                newest = max(newest, committed)
            }
            guard FileManager.default.fileExists(atPath: folder.file) else { continue }
            let queue = try folder.open()
            guard queue.answer("SELECT count(*) FROM sqlite_master WHERE name = 'sums'") == "1" else {
                #expect(newest == 0)
                continue
            }
            let answer = queue.answer(
                "SELECT count(*), ifnull(max(number), 0), ifnull(sum(length(filling)), 0) FROM rows")
            let parts = answer.split(separator: "|").compactMap { Int($0) }
            try #require(parts.count == 3, "round \(round): \(answer)")
            rows = parts[0]
            #expect(parts[0] == parts[1] && parts[1] >= newest, "round \(round): \(answer), \(newest) were committed")
            // Each row as it was written, and all of a transaction or nothing.
            #expect(
                queue.answer(
                    "SELECT number FROM rows WHERE filling != substr(replace(hex(zeroblob(number * 7919 % 12000)), '00', 'n' || number || '.'), 1, number * 7919 % 12000)"
                ) == "")
            if parts[0] > 0 {
                #expect(queue.answer("SELECT count, bytes FROM sums") == "\(parts[0])|\(parts[2])", "round \(round)")
            }
            #expect(queue.answer("PRAGMA integrity_check") == "\"ok\"", "round \(round)")
            newest = parts[1]
        }
    }
}
