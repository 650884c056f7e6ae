import Contract
import LocalStack
import Logging
import TestKit
import WhisperClient

/// A live conversation in the crowd: one whisperer, and listeners of whom one stays, one comes and goes, one is sent away and
/// one comes late. All are the client core with its engine, as applications have it.
actor Lesson {
    /// A client and its events.
    private final class Member: Sendable {
        let client: WhisperClient
        let name: String

        init(_ name: String, in folder: String, at server: ServerAddress) throws {
            self.name = name
            let profile = try Profile.create(at: "\(folder)/\(name)", mnemonic: .random(), server: server)
            self.client = try WhisperClient(
                profile: profile, server: NetworkLink(server),
                logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() })
        }
    }

    let ledger: LineLedger
    private let name: String
    private let whisperer: Member
    private let listeners: [Member]
    private let conversation: OwnConversation
    private let link: ListenLink
    private let folder: TemporaryFolder
    private var random: SeededGenerator
    private var isTyping = true
    private var lines = 0
    /// The present visit of each listener that listens.
    private var visits: [Int: LineLedger.Visit] = [:]
    private var visitCounts: [Int: Int] = [:]
    private var joined: Set<Int> = []
    private var removed: (listener: Int, visit: LineLedger.Visit)?
    /// The removal is answered; the next keys are not in use yet.
    private var awaitsKeys = false
    private var running: [Task<Void, Never>] = []

    /// Listeners by what they do.
    private static let stays = 0, comesAndGoes = 1, isSentAway = 2, comesLate = 3
    private static let listenersCount = 4
    /// Between two lines, and two keystrokes, in milliseconds.
    private static let linePauses = 400...1_500
    private static let visitLength = Duration.seconds(9)
    private static let absence = Duration.seconds(3)
    private static let late = Duration.seconds(8)
    private static let removal = Duration.seconds(12)
    private static let beginningMax = Duration.seconds(30)

    private init(_ number: Int, seed: UInt64, at server: ServerAddress, _ ledger: LineLedger) async throws {
        self.name = "lesson \(number)"
        self.ledger = ledger
        self.folder = try TemporaryFolder(named: "lesson")
        let path = self.folder.path
        self.random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
        self.whisperer = try Member("whisperer", in: path, at: server)
        self.listeners = try (0..<Self.listenersCount).map { try Member("listener \($0)", in: path, at: server) }
        let title = self.name
        self.conversation = try await self.whisperer.client.with {
            try $0.conversations.make(
                name: "c", title: title, whisperer: "W", admission: .link, passcode: nil,
                transcriptDays: number % 2 == 0 ? 30 : 0, $0)
        }
        self.link = ListenLink(
            origin: "http://\(server.host):\(server.port)", conversation: self.conversation.id,
            secret: self.conversation.linkSecret)
    }

    /// Everybody is connected, and the stream has begun.
    static func begin(
        _ number: Int, seed: UInt64, at server: ServerAddress, _ ledger: LineLedger
    ) async throws -> Lesson {
        let lesson = try await Lesson(number, seed: seed, at: server, ledger)
        try await lesson.begin()
        return lesson
    }

    private func begin() async throws {
        await self.connect(self.whisperer) { [weak self] in await self?.whispererHeard($0) }
        for (number, listener) in self.listeners.enumerated() {
            await self.connect(listener) { [weak self] in await self?.listener(number, heard: $0) }
        }
        try await waitUntil("\(self.name) is connected", within: Self.beginningMax, every: .milliseconds(50)) {
            for member in [self.whisperer] + self.listeners where await !member.client.isOnline { return false }
            return true
        }
        try await self.whisperer.client.with { try $0.streams.whisper(in: self.conversation, $0) }
        try await waitUntil("\(self.name) can be looked at", within: Self.beginningMax, every: .milliseconds(100)) {
            (try? await self.listeners[0].client.conversations.look(at: self.link)) != nil
        }
        for number in [Self.stays, Self.comesAndGoes, Self.isSentAway] { await self.listen(number) }
    }

    private func connect(_ member: Member, _ heard: @escaping @Sendable (LiveNews) async -> Void) async {
        let (events, client) = (await member.client.events(), member.client)
        self.running.append(Task { _ = await client.run() })
        self.running.append(
            Task { for await event in events { if case .live(_, let news) = event { await heard(news) } } })
    }

    // MARK: What they do

    /// Until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.type() }
            group.addTask { await self.comeAndGo() }
            group.addTask { await self.comeLate() }
            group.addTask { await self.sendAway() }
        }
    }

    /// The pause is the typist's own pace; nothing waits for a condition here.
    private func type() async {
        while !Task.isCancelled {
            if self.isTyping {
                self.lines += 1
                let line = "\(self.name), line \(self.lines)"
                // A beginning that is corrected, and then the line at once. Too much may wait already: nothing was taken then.
                try? await self.type(String(line.dropLast(4)))
                // Known before it can be seen.
                self.ledger.typed(line, in: self.name)
                while (try? await self.type(line + "\n")) == nil {
                    if Task.isCancelled { return }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            try? await Task.sleep(for: .milliseconds(Int.random(in: Self.linePauses, using: &self.random)))
        }
    }

    private func comeAndGo() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.visitLength)
            guard !Task.isCancelled, self.isTyping else { return }
            await self.leave(Self.comesAndGoes)
            try? await Task.sleep(for: Self.absence)
            await self.listen(Self.comesAndGoes)
        }
    }

    private func comeLate() async {
        try? await Task.sleep(for: Self.late)
        await self.listen(Self.comesLate)
    }

    private func sendAway() async {
        try? await Task.sleep(for: Self.removal)
        guard !Task.isCancelled, let visit = self.visits[Self.isSentAway], self.joined.contains(Self.isSentAway),
            let id = await self.listeners[Self.isSentAway].client.id
        else { return }
        self.ledger.ends(visit)
        self.visits[Self.isSentAway] = nil
        self.removed = (Self.isSentAway, visit)
        try? await self.whisperer.client.with {
            try $0.streams.remove(.identity(id), isBlocked: true, in: self.conversation.id, $0)
        }
    }

    private func type(_ text: String) async throws {
        let id = self.conversation.id
        try await self.whisperer.client.with { try $0.streams.type(text, in: id, $0) }
    }

    private var hasSentAll: Bool {
        get async {
            let id = self.conversation.id
            return await self.whisperer.client.with { $0.streams.hasSentAll(of: id) }
        }
    }

    private func listen(_ number: Int) async {
        let client = self.listeners[number].client
        // The server may be away for a moment.
        while !Task.isCancelled {
            if let look = try? await client.conversations.look(at: self.link) {
                self.visitCounts[number, default: 0] += 1
                let visit = LineLedger.Visit(
                    self.listeners[number].name, to: self.name, number: self.visitCounts[number]!)
                self.visits[number] = visit
                self.joined.remove(number)
                self.ledger.asks(visit)
                let link = self.link
                let listens: ()? = try? await client.with {
                    try $0.heard.listen(to: link, look, name: "L", passcode: nil, note: nil, $0)
                }
                guard listens == nil else { return }
            }
            try? await Task.sleep(for: .milliseconds(300))
        }
    }

    private func leave(_ number: Int) async {
        guard let visit = self.visits[number] else { return }
        self.ledger.ends(visit)
        self.visits[number] = nil
        let id = self.conversation.id
        try? await self.listeners[number].client.with { try await $0.heard.stop(to: id, $0) }
    }

    // MARK: What they hear

    private func whispererHeard(_ news: LiveNews) {
        switch news {
        case .keysChanged: if let removed, self.awaitsKeys { self.ledger.isOut(removed.visit) }
        case .listener(_, _, .blocked, _), .listener(_, _, .refused, _): self.awaitsKeys = self.removed != nil
        case .refused(let code): self.ledger.remark("whisperer of \(self.name) is refused: \(code.rawValue)")
        default: break
        }
    }

    private func listener(_ number: Int, heard news: LiveNews) {
        let visit = self.visits[number] ?? (self.removed?.listener == number ? self.removed?.visit : nil)
        guard let visit else { return }
        switch news {
        case .joined:
            self.joined.insert(number)
            self.ledger.joined(visit)
        case .heard(.line(_, let text)): self.ledger.shown(text.string, to: visit)
        case .heard(.missing(let lines)): self.ledger.missing(lines.count, of: visit)
        case .over where number != Self.isSentAway:
            self.ledger.remark("\(visit) is sent away, and nobody did that")
        default: break
        }
    }

    // MARK: The end

    func stopTyping() { self.isTyping = false }

    /// Whether all that was typed is said, and shown to whoever listens.
    var isSettled: Bool {
        get async {
            guard await self.hasSentAll else { return false }
            return self.visits.allSatisfy { self.joined.contains($0.key) && self.ledger.lost($0.value).isEmpty }
        }
    }

    /// For whoever has to find out why.
    var openWork: String {
        get async {
            let hasSent = await self.hasSentAll
            let waiting = self.visits.map { number, visit in
                "\(visit): joined \(self.joined.contains(number)), not shown \(self.ledger.lost(visit).count)"
            }
            return "\(self.name): all sent \(hasSent); \(waiting.sorted().joined(separator: "; "))"
        }
    }

    func end() async {
        for member in [self.whisperer] + self.listeners { await member.client.close() }
        for task in self.running { task.cancel() }
        for task in self.running { await task.value }
        self.running = []
        self.folder.remove()
    }
}
