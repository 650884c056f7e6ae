import Contract
import Foundation
import LocalStack
import Logging
import WhisperClient

/// Proves the cluster: two new people talk through the public endpoint, online and offline.
/// - Parameters:
///   - folder: of the two profiles. It is gone afterwards, also when a step failed or the task was cancelled.
///   - say: gets one line for each step that was seen to happen.
/// - Throws: at the first step that did not.
func proveConversation(endpoint: String, in folder: String, say: @escaping @Sendable (String) -> Void) async throws {
    // A process that was killed may have left its folder.
    removeFolder(folder)
    do {
        try await converse(endpoint: endpoint, in: folder, say: say)
    } catch {
        removeFolder(folder)
        throw error
    }
    removeFolder(folder)
}

/// A client's store may still be closing and delete files of its own. A removal that meets such a file gives up, and
/// the next succeeds.
private func removeFolder(_ path: String) {
    for _ in 0..<removalsMax where FileManager.default.fileExists(atPath: path) {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Two stores with two files each that vanish, and one more.
private let removalsMax = 5

private func converse(endpoint: String, in folder: String, say: @escaping @Sendable (String) -> Void) async throws {
    let alice = try Person("alice", in: folder, endpoint: endpoint)
    try await alice.online {
        let bobID = try await talk(alice, with: Person("bob", in: folder, endpoint: endpoint), say: say)
        say("bob goes offline")
        let later = try await alice.send("Read this when you are back.", to: bobID)
        try await alice.waits(for: "the server's word") { $0.isChange(of: later.id, to: .sent) }
        say("alice → server ✓ stored for bob: Read this when you are back.")
        let bob = try Person("bob", in: folder, endpoint: endpoint, isReturning: true)
        try await bob.online {
            try await bob.waits(for: "the waiting message") { $0.isText("Read this when you are back.") }
            say("bob is back, and reads it")
            try await alice.waits(for: "the late delivery mark") { $0.isChange(of: later.id, to: .delivered) }
            say("alice sees ✓✓ delivered")
        }
    }
}

/// Both online: keys, a message each way, delivery and read marks.
/// - Returns: bob's id.
private func talk(
    _ alice: Person, with bob: Person, say: @escaping @Sendable (String) -> Void
) async throws -> WhisperID {
    try await bob.online {
        let (aliceID, bobID) = (try await alice.id, try await bob.id)
        say("alice registered as \(aliceID), bob as \(bobID)")
        _ = try await alice.client.with { try await $0.contacts.add(bobID, name: "bob", $0) }
        say("alice fetched bob's keys; they belong to his id")

        let hello = try await alice.send("Hello Bob, are you there?", to: bobID)
        try await bob.waits(for: "the message") { $0.isText("Hello Bob, are you there?") }
        say("alice → bob   Hello Bob, are you there?")
        try await alice.waits(for: "the delivery mark") { $0.isChange(of: hello.id, to: .delivered) }
        say("alice sees ✓✓ delivered")
        // Nobody is told that a stranger's message was read.
        _ = try await bob.client.with { try await $0.contacts.add(aliceID, name: "alice", $0) }
        let unread = try bob.client.store.messages.unread(with: aliceID, limit: 1)
        try await bob.client.with { try $0.receipts.markRead(unread, $0) }
        try await alice.waits(for: "the read mark") { $0.isChange(of: hello.id, to: .read) }
        say("alice sees that bob has read it")

        _ = try await bob.send("Yes. Two gateways, two routers.", to: aliceID)
        try await alice.waits(for: "the reply") { $0.isText("Yes. Two gateways, two routers.") }
        say("bob → alice   Yes. Two gateways, two routers.")
    }
    return try await bob.id
}

/// One client and what it has been told.
private final class Person: Sendable {
    let client: WhisperClient
    private let name: String
    private let journal = Journal()

    /// How long a step may take before the cluster counts as broken.
    private static let stepMax = Duration.seconds(20)

    init(_ name: String, in folder: String, endpoint: String, isReturning: Bool = false) throws {
        self.name = name
        guard let server = ServerAddress(endpoint) else { throw ConversationFailure(step: "reading the endpoint") }
        let path = "\(folder)/\(name)"
        let profile =
            try isReturning
            ? Profile.open(at: path) : Profile.create(at: path, mnemonic: .random(), server: server)
        self.client = try WhisperClient(
            profile: profile, server: NetworkLink(server), logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
        )
    }

    var id: WhisperID {
        get async throws {
            guard let id = await self.client.id else { throw ConversationFailure(step: "\(self.name) has no id") }
            return id
        }
    }

    func send(_ text: String, to peer: WhisperID) async throws -> Message {
        try await self.client.with { try $0.outbox.send(text, to: .direct(peer), $0) }
    }

    /// Is connected while `body` runs.
    func online(_ body: () async throws -> Void) async throws {
        let events = await self.client.events()
        let running = Task { await self.client.run() }
        let listening = Task { for await event in events { await self.journal.add(event) } }
        do {
            try await self.waits(for: "the connection") { $0 == .caughtUp }
            try await body()
        } catch {
            await self.client.close()
            _ = await running.value
            throw error
        }
        await self.client.close()
        _ = await running.value
        _ = await listening.value
    }

    /// Waits until something was seen, now or earlier.
    func waits(for step: String, _ isIt: @escaping @Sendable (ClientEvent) -> Bool) async throws {
        guard await self.journal.holds(isIt, within: Self.stepMax) else {
            throw ConversationFailure(step: "\(self.name) waited in vain for \(step)")
        }
    }
}

private struct ConversationFailure: Error, CustomStringConvertible {
    let step: String
    var description: String { self.step }
}

/// All events of one client, and who waits for one.
private actor Journal {
    private var events: [ClientEvent] = []
    private var waiters: [Int: (isIt: @Sendable (ClientEvent) -> Bool, resume: CheckedContinuation<Bool, Never>)] = [:]
    private var next = 0

    func add(_ event: ClientEvent) {
        self.events.append(event)
        for (number, waiter) in self.waiters where waiter.isIt(event) {
            self.waiters[number] = nil
            waiter.resume.resume(returning: true)
        }
    }

    func holds(_ isIt: @escaping @Sendable (ClientEvent) -> Bool, within limit: Duration) async -> Bool {
        if self.events.contains(where: isIt) { return true }
        self.next += 1
        let number = self.next
        let timer = Task {
            try await Task.sleep(for: limit)
            self.giveUp(number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { self.waiters[number] = (isIt, $0) }
        } onCancel: {
            // Bare: a handler cannot wait for the actor.
            Task { await self.giveUp(number) }
        }
    }

    private func giveUp(_ number: Int) {
        self.waiters.removeValue(forKey: number)?.resume.resume(returning: false)
    }
}

extension ClientEvent {
    fileprivate func isText(_ text: String) -> Bool {
        if case .received(let message) = self { message.content == .text(text) } else { false }
    }

    fileprivate func isChange(of id: UUIDText, to state: MessageState) -> Bool {
        if case .changed(let message) = self { message.id == id && message.state == state } else { false }
    }
}
