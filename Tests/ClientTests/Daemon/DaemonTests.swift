import Contract
import Dispatch
import Foundation
import Glibc
import TerminalText
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// Lines and sockets between a program and a core.
@Suite(.timeLimit(.minutes(20))) struct DaemonTests {
    let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    // MARK: Lines

    /// Everything that comes of pieces that are written one after the other.
    private func lines(_ pieces: [[UInt8]], bytesMax: Int) -> [RequestLines.Line] {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        DispatchQueue(label: "writer").async {
            for piece in pieces { DaemonSession.write(piece, to: output) }
            close(output)
        }
        defer { close(input) }
        var lines = RequestLines(input, bytesMax: bytesMax)
        var all: [RequestLines.Line] = []
        while let line = lines.next() { all.append(line) }
        return all
    }

    private func lines(_ text: String, bytesMax: Int = 8) -> [String] {
        self.lines([Array(text.utf8)], bytesMax: bytesMax).map { line in
            if case .text(let bytes) = line { String(decoding: bytes, as: UTF8.self) } else { "too long" }
        }
    }

    @Test func linesEndWithALineFeedOrTheInput() {
        #expect(self.lines("one\ntwo\r\n\n\r\n three\nlast") == ["one", "two", " three", "last"])
        #expect(self.lines("").isEmpty)
        #expect(self.lines("\n\n").isEmpty)
    }

    @Test func aLineComesInPieces() {
        let pieces = Array("first\nsecond\n".utf8).map { [$0] }
        #expect(self.lines(pieces, bytesMax: 8) == [.text(Array("first".utf8)), .text(Array("second".utf8))])
        // The bytes of a line are not checked here.
        #expect(self.lines([[0xFF, 0x00], [0x0A]], bytesMax: 8) == [.text([0xFF, 0x00])])
    }

    @Test func aLineThatIsTooLongIsSkipped() {
        #expect(self.lines("12345678\n123456789\nok\n") == ["12345678", "too long", "ok"])
        // Longer than what is read at once.
        let long = String(repeating: "x", count: 100_000)
        #expect(self.lines("a\n\(long)\nb\n\(long)") == ["a", "too long", "b", "too long"])
    }

    // MARK: Socket

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0, "there is no \(path)")
        return status.st_mode & 0o777
    }

    private func problem(_ path: String) throws -> String {
        let problem = #expect(throws: Problem.self) { try DaemonSocket(at: path).close() }
        return problem.map { "\($0)" } ?? ""
    }

    @Test func onlyThisUserMayOpenTheSocket() throws {
        let path = self.folder.path + "/daemon/socket"
        let socket = try DaemonSocket(at: path)
        #expect(try self.mode(path) == 0o600)
        #expect(try self.mode(self.folder.path + "/daemon") == 0o700)
        socket.close()
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(chmod(self.folder.path + "/daemon", 0o777) == 0)
        #expect(try self.problem(path).contains("must belong to you"))
        #expect(try self.problem(self.folder.path + "/none/daemon/socket").contains("Cannot use the folder"))
        #expect(try self.problem(String(repeating: "x", count: 200)).contains("1 to 107 bytes"))
    }

    @Test func oneDaemonListensAtAPath() throws {
        let path = self.folder.path + "/socket"
        let first = try DaemonSocket(at: path)
        #expect(try self.problem(path).contains("Another daemon listens"))
        // Not even with a long queue is it taken for dead.
        var queue: [Int32] = []
        defer { for descriptor in queue { close(descriptor) } }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        var isFull = false
        while !isFull {
            let program = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            queue.append(program)
            isFull =
                withUnsafePointer(to: address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(program, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                } != 0
            try #require(queue.count < 1_000)
        }
        #expect(try self.problem(path).contains("Another daemon listens"))
        // The one that comes after a crash takes the file over, and the one before leaves it alone.
        #expect(unlink(path) == 0)
        let second = try DaemonSocket(at: path)
        first.close()
        #expect(try self.mode(path) == 0o600)
        second.close()
    }

    @Test func theSocketOfADaemonThatWasKilledIsTakenOver() throws {
        let path = self.folder.path + "/socket"
        let killed = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(killed, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(isBound == 0)
        close(killed)
        try DaemonSocket(at: path).close()
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(try self.problem(path).contains("is no socket"))
        #expect(FileManager.default.fileExists(atPath: path))
    }

    // MARK: Keys

    @Test func onlyItsOwnerMayReadAKey() throws {
        let path = self.folder.path + "/key"
        let key = (0..<UInt8(StoreKey.rawBytes)).map { $0 }
        #expect(throws: Problem.self) { try KeyFile.read(path) }
        #expect(FileManager.default.createFile(atPath: path, contents: Data(key)))
        for mode: mode_t in [0o640, 0o604, 0o666] {
            #expect(chmod(path, mode) == 0)
            #expect(throws: Problem.self) { try KeyFile.read(path) }
        }
        #expect(chmod(path, 0o600) == 0)
        #expect(try KeyFile.read(path) == key)
        for wrong in [Array(key.dropLast()), key + [0], []] {
            try Data(wrong).write(to: URL(filePath: path))
            #expect(throws: Problem.self) { try KeyFile.read(path) }
        }
        // It does not wait for a writer.
        #expect(mkfifo(path + ".pipe", 0o600) == 0)
        #expect(throws: Problem.self) { try KeyFile.read(path + ".pipe") }
    }

    // MARK: Sessions

    private func lines(_ text: [UInt8]) throws -> [JSON] {
        try text.split(separator: 0x0A).map { try JSON(parsing: Array($0)) }
    }

    /// Requests, and then the end of the input.
    private func serve(_ core: Core, _ requests: String) async throws -> [JSON] {
        BrokenPipes.areErrors()
        var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
        try #require(pipe(&input) == 0 && pipe(&output) == 0)
        let (requestsIn, requestsOut, answersIn, answersOut) = (input[0], input[1], output[0], output[1])
        let seat = try #require(core.seat())
        // A pipe does not take all of it at once.
        DispatchQueue(label: "program").async {
            DaemonSession.write(Array(requests.utf8), to: requestsOut)
            close(requestsOut)
        }
        DispatchQueue(label: "session").async {
            DaemonSession(core, at: seat, input: requestsIn, output: answersOut) {}.serve()
            close(requestsIn)
            close(answersOut)
        }
        let text = await Blocking.run { () -> [UInt8] in
            var text: [UInt8] = []
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while case let count = read(answersIn, &bytes, bytes.count), count > 0 { text += bytes[..<count] }
            return text
        }
        close(answersIn)
        return try self.lines(text)
    }

    @Test func aSessionAnswersAndEndsWithItsInput() async throws {
        let server = FakeServer()
        let core = try Core.open(
            CoreConfiguration(folder: self.folder.path + "/ann", server: "ws://127.0.0.1:1"), link: { _ in server })
        let create = #"{"jsonrpc":"2.0","id":1,"method":"identity_create"}"#
        let long = String(repeating: "x", count: JSONRPC.lineBytesMax + 1)
        let first = try await self.serve(core, "\(create)\n\(long)\nnonsense\n")
        #expect(first.map { $0["error"]?["code"]?.integer ?? 0 } == [0, -32_600, -32_700])
        #expect(first[0]["result"]?["words"]?.string?.split(separator: " ").count == 12)
        // The core goes on for the next program.
        let second = try await self.serve(core, #"{"jsonrpc":"2.0","id":2,"method":"identity_show"}"#)
        #expect(second.count == 1 && second[0]["result"]?["hasIdentity"] == .bool(true))
        await core.close()
    }
}
