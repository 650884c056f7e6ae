import ArgumentParser
import Foundation
import LocalStack
import Synchronization
import WhisperCore

/// One core in a process of its own, so that memory and processor time are the core's. Started by the workload `core`.
struct CoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "core-process", shouldDisplay: false)

    @Option(help: "Of a profile that is sealed with the key of measurements.") var folder: String
    @Option(help: "Folder of the pages of mail.") var mail: String
    @Option(help: "Pages of each of two drains.") var pages: Int
    @Option(help: "A chat to read.") var chat: String
    @Option(help: "Messages to send.") var sends: Int
    @Option(help: "How long nothing happens.") var seconds: Int

    /// Threads that read while mail comes, and the pause of each between two questions.
    private static let readers = 8
    private static let pause = 0.005

    func run() async throws {
        let server = CoreServer(pages: (0..<2 * self.pages).map { "\(self.mail)/\($0)" })
        let core = try Core.open(
            CoreConfiguration(folder: self.folder, server: CoreProfile.address), key: CoreProfile.measuredKey,
            link: { _ in server })
        var figures: [CoreFigure: Double] = [:]
        try await core.catchUp()

        let quiet = ProcessReading()
        try await Task.sleep(for: .seconds(self.seconds))
        let idle = ProcessReading()
        figures[.idleBytes] = idle.residentBytes
        figures[.idlePercent] = (idle.cpu - quiet.cpu) / Double(self.seconds) / 10_000
        figures[.idleWakeUps] = (idle.switches - quiet.switches) * 60 / Double(self.seconds)

        let alone = try await self.drain(core, server)
        figures[.receiveMicroseconds] = alone.cpu
        figures[.receivePerSecond] = alone.perSecond
        figures[.drainBytes] = alone.peakBytes
        figures[.drainedBytes] = ProcessReading().residentBytes

        let questions = Questions(core, "chat_get {\"chat\":\"\(self.chat)\",\"limit\":20}")
        questions.start(Self.readers, pause: Self.pause)
        _ = try await self.drain(core, server)
        let times = try await questions.stop()
        figures[.questionMilliseconds] = times.milliseconds(99)
        figures[.questions] = Double(times.count)

        let sending = try await self.send(core, server)
        figures[.sendMicroseconds] = sending.cpu
        figures[.sendPerSecond] = sending.perSecond
        await core.close()
        let named = Dictionary(uniqueKeysWithValues: figures.map { ($0.key.rawValue, $0.value) })
        say(String(decoding: try JSONEncoder().encode(named), as: UTF8.self))
    }

    private struct Work {
        /// In microseconds, for each message.
        var cpu: Double
        var perSecond: Double
        var peakBytes: Double
    }

    private func drain(_ core: Core, _ server: CoreServer) async throws -> Work {
        try await core.command("disconnect")
        server.allow(pages: self.pages)
        return try await self.measured(self.pages * CoreShape.page) { try await core.catchUp() }
    }

    private func send(_ core: Core, _ server: CoreServer) async throws -> Work {
        let end = server.accepted + self.sends
        return try await self.measured(self.sends) {
            for number in 0..<self.sends {
                try await core.command(#"message_send {"to":"\#(self.chat)","text":"message \#(number)"}"#)
            }
            try await waitUntil("all are accepted", within: .seconds(120)) { server.accepted == end }
        }
    }

    private func measured(_ count: Int, _ work: () async throws -> Void) async rethrows -> Work {
        ProcessReading.forgetPeak()
        let (before, start) = (ProcessReading(), ContinuousClock.now)
        try await work()
        let (after, seconds) = (ProcessReading(), (ContinuousClock.now - start) / .seconds(1))
        return Work(
            cpu: (after.cpu - before.cpu) / Double(count), perSecond: Double(count) / seconds,
            peakBytes: after.peakBytes)
    }
}

/// Figures that the process of `CoreCommand` measures.
enum CoreFigure: String {
    case idleBytes, idlePercent, idleWakeUps
    case receiveMicroseconds, receivePerSecond, drainBytes, drainedBytes
    case questionMilliseconds, questions
    case sendMicroseconds, sendPerSecond
}

extension Core {
    /// - Returns: the answer.
    @discardableResult
    func command(_ text: String) async throws -> String {
        let answer = await self.perform(text)
        guard answer.contains(#""result":"#) else { throw CoreTrouble.refused(answer) }
        return answer
    }

    /// Connects and waits until the mail that waits is here.
    func catchUp() async throws {
        try await self.command("connect")
        try await self.event(#""type":"caughtUp""#)
    }

    /// Reads events up to one that has the text.
    func event(_ text: String) async throws {
        while let event = await self.nextEvent(within: .seconds(120)) {
            if event.isEmpty { break }
            if event.contains(text) { return }
        }
        throw CoreTrouble.noEvent(text)
    }
}

/// Threads that ask a core the same question again and again.
private final class Questions: Sendable {
    private let core: Core
    private let command: [UInt8]
    private let isOver = Atomic(false)
    private let times = Mutex<[UInt64]>([])
    private let running = Atomic(0)

    init(_ core: Core, _ command: String) {
        self.core = core
        self.command = Array(command.utf8)
    }

    func start(_ count: Int, pause: Double) {
        for _ in 0..<count {
            self.running.add(1, ordering: .relaxed)
            Thread.detachNewThread {
                while !self.isOver.load(ordering: .relaxed) {
                    let start = ContinuousClock.now
                    _ = self.core.performBlocking(self.command)
                    let time = (ContinuousClock.now - start) / .nanoseconds(1)
                    self.times.withLock { $0.append(UInt64(time)) }
                    Thread.sleep(forTimeInterval: pause)
                }
                self.running.subtract(1, ordering: .releasing)
            }
        }
    }

    func stop() async throws -> Latency {
        self.isOver.store(true, ordering: .relaxed)
        try await waitUntil("all have their answers", within: .seconds(30)) {
            self.running.load(ordering: .acquiring) == 0
        }
        var latency = Latency("question")
        for time in self.times.withLock({ $0 }) { latency.record(nanoseconds: time) }
        return latency
    }
}
