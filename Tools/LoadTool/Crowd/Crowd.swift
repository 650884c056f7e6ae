import Foundation
import LocalStack

/// Many clients, in processes of their own, each from its own addresses of 127.0.0.x.
struct Crowds: Sendable {
    /// Clients of one process: its descriptors, less a few.
    private static let clientsMax = 15_000

    private let crowds: [Crowd]

    init(count: Int, ports: [Int]) throws {
        let processes = (count + Self.clientsMax - 1) / Self.clientsMax
        let addresses = (Self.clientsMax + Fleet.clientsPerAddress - 1) / Fleet.clientsPerAddress
        self.crowds = try (0..<processes).map { number in
            try Crowd(
                count: count * (number + 1) / processes - count * number / processes,
                firstAddress: 1 + addresses * number, ports: ports)
        }
    }

    /// Returns when all have done it.
    /// - Throws: the first failure.
    func order(_ order: CrowdOrder) async throws {
        try await withThrowingTaskGroup(of: CrowdAnswer.self) { group in
            for crowd in self.crowds { group.addTask { try await crowd.order(order) } }
            for try await answer in group {
                if let failure = answer.failure { throw LoadError.refused(failure) }
            }
        }
    }

    /// Problems of all crowds, and how often each occurred.
    func troubles() async throws -> [String: Int] {
        var all: [String: Int] = [:]
        for crowd in self.crowds { all.merge(await crowd.troubles) { $0 + $1 } }
        return all
    }

    func leave() async { for crowd in self.crowds { await crowd.leave() } }
}

/// One process that holds connections.
actor Crowd {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private nonisolated let answers = DispatchQueue(label: "crowd")
    private(set) var troubles: [String: Int] = [:]

    init(count: Int, firstAddress: Int, ports: [Int]) throws {
        self.process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        self.process.arguments =
            ["crowd", "--count", "\(count)", "--first-address", "\(firstAddress)"] + ports.map(String.init)
        self.process.standardInput = self.input
        self.process.standardOutput = self.output
        try self.process.run()
    }

    func order(_ order: CrowdOrder) async throws -> CrowdAnswer {
        try self.input.fileHandleForWriting.write(contentsOf: Data("\(order.rawValue)\n".utf8))
        let line = await self.line()
        guard let answer = try? JSONDecoder().decode(CrowdAnswer.self, from: line) else { throw LoadError.closed }
        self.troubles = answer.troubles
        return answer
    }

    /// Everything up to the end of a line; what there is, if the process ends.
    private func line() async -> Data {
        let handle = self.output.fileHandleForReading
        return await withCheckedContinuation { continuation in
            // Reading blocks, so it has a thread of its own.
            self.answers.async {
                var line = Data()
                while line.last != UInt8(ascii: "\n") {
                    let more = handle.availableData
                    guard !more.isEmpty else { break }
                    line += more
                }
                continuation.resume(returning: line)
            }
        }
    }

    /// The process ends when its orders do.
    func leave() {
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }
}
