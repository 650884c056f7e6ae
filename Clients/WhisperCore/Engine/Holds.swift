import Contract
import Dispatch
import Synchronization
import WhisperClient

/// Things that programs hold open: each by one program, and it ends when that program is gone.
final class Holds: Sendable {
    /// A thing that a program can hold.
    enum Thing: Hashable, Sendable {
        case whispering(ConversationID)
        case listening(ConversationID)
        case room(UUIDText)
        case call(UUIDText)
    }

    enum Claim: Equatable, Sendable {
        case granted
        /// Another program holds it.
        case taken
        /// `CoreLimits.holdsMax` things are held.
        case tooMany
    }

    private struct State {
        var holders: [Thing: EventFeed] = [:]
        /// Things whose program has gone: they are being ended.
        var ending: Set<Thing> = []
        /// Programs waiting until a thing is released.
        var waiting: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())

    /// Waits while another program holds the thing: it may still be ending after that program has left. Blocks the
    /// thread.
    func claim(_ thing: Thing, for feed: EventFeed, until deadline: DispatchTime) -> Claim {
        while true {
            let semaphore = DispatchSemaphore(value: 0)
            let claim = self.state.withLock { state -> Claim in
                if let holder = state.holders[thing], holder !== feed {
                    state.waiting.append(semaphore)
                    return .taken
                }
                guard state.holders[thing] != nil || state.holders.count < CoreLimits.holdsMax else { return .tooMany }
                state.holders[thing] = feed
                return .granted
            }
            guard claim == .taken else { return claim }
            guard semaphore.wait(timeout: deadline) == .success else {
                self.state.withLock { state in state.waiting.removeAll { $0 === semaphore } }
                return .taken
            }
        }
    }

    /// The program has gone: from here on the things it holds are ending.
    func left(by feed: EventFeed) -> [Thing] {
        self.state.withLock { state in
            let things = state.holders.filter { $0.value === feed }.map(\.key)
            state.ending.formUnion(things)
            return things
        }
    }

    /// Waits while things like these are being ended because their program has gone. Blocks the thread.
    func waitForEnd(of isAwaited: (Thing) -> Bool, until deadline: DispatchTime) {
        while true {
            let semaphore = DispatchSemaphore(value: 0)
            let isEnding = self.state.withLock { state in
                guard state.ending.contains(where: isAwaited) else { return false }
                state.waiting.append(semaphore)
                return true
            }
            guard isEnding else { return }
            guard semaphore.wait(timeout: deadline) == .success else {
                return self.state.withLock { state in state.waiting.removeAll { $0 === semaphore } }
            }
        }
    }

    func things(of feed: EventFeed) -> [Thing] {
        self.state.withLock { state in state.holders.filter { $0.value === feed }.map(\.key) }
    }

    /// A program that comes back within the grace of the one before it holds what that one held.
    func inherit(by feed: EventFeed, from before: EventFeed) {
        self.state.withLock { state in
            for (thing, holder) in state.holders where holder === before && !state.ending.contains(thing) {
                state.holders[thing] = feed
            }
        }
    }

    /// Whichever program asks for the end of something: who held it then holds it no longer.
    func ending(_ thing: Thing, _ end: () async throws -> Void) async rethrows {
        let holder = self.state.withLock { $0.holders[thing] }
        defer { if let holder { self.release(thing, by: holder) } }
        try await end()
    }

    /// The thing has ended without its program.
    func isOver(_ thing: Thing) {
        guard let holder = self.state.withLock({ $0.holders[thing] }) else { return }
        self.release(thing, by: holder)
    }

    func release(_ thing: Thing, by feed: EventFeed) {
        self.state.withLock { state in
            guard state.holders[thing] === feed else { return }
            state.holders[thing] = nil
            state.ending.remove(thing)
            for semaphore in state.waiting { semaphore.signal() }
            state.waiting = []
        }
    }
}

/// The program that asks for something, as far as it can hold things open.
struct Holder: Sendable {
    let holds: Holds
    let feeds: EventFeeds
    let feed: EventFeed

    /// The live conversation that it holds. If there are several: one in which we whisper.
    var conversation: ConversationID? {
        let things = self.holds.things(of: self.feed)
        let own = things.compactMap { if case .whispering(let id) = $0 { id } else { nil } }
        return own.first ?? things.compactMap { if case .listening(let id) = $0 { id } else { nil } }.first
    }

    /// From here on the thing ends with the program. Doing it twice is harmless.
    /// - Parameter isOpen: whether it is open already, so that it is not this program's to end.
    /// - Throws: `.busy`, `.tooMany`, or `.unsupported` if nobody would see the program go.
    func hold(_ thing: Holds.Thing, isOpen: () async -> Bool) async throws {
        guard !self.holds.things(of: self.feed).contains(thing) else { return }
        let (holds, feed) = (self.holds, self.feed)
        switch await Blocking.run({ holds.claim(thing, for: feed, until: .now() + CoreLimits.handOver) }) {
        case .granted: break
        case .taken: throw CoreError(.busy, "Another program holds it.")
        case .tooMany: throw CoreError(.tooMany)
        }
        // A program that goes meanwhile lets go of what it holds, or is seen here.
        guard self.feeds.contains(feed) else {
            holds.release(thing, by: feed)
            throw CoreError(.unsupported, "Only a program that stays connected can hold something.")
        }
        guard await isOpen() else { return }
        holds.release(thing, by: feed)
        throw CoreError(.busy, "Another program has opened it.")
    }
}

extension Holds.Thing {
    /// The room or call that this event has ended for us.
    init?(endedBy event: ClientEvent) {
        switch event {
        case .room(let id, .over): self = .room(id)
        case .passing(.call(.ended(let id, _, _))): self = .call(id)
        default: return nil
        }
    }
}

extension OpenCore {
    /// Begins a stream, unless it is open.
    func whisper(in id: ConversationID) async throws {
        await self.waitForEnd { $0 == .whispering(id) }
        // An end makes the stream forget its content, so the conversation is read after it.
        try await self.with {
            let own = try self.ownConversation(id)
            if !$0.streams.isWhispering(in: id) { try $0.streams.whisper(in: own, $0) }
        }
    }

    func listen(
        to link: ListenLink, _ look: ConversationLook, name: String, passcode: String?, note: String?
    ) async throws {
        await self.waitForEnd { $0 == .listening(link.conversation) }
        try await self.with { try $0.heard.listen(to: link, look, name: name, passcode: passcode, note: note, $0) }
    }

    /// A code does not say which room it opens, so all rooms that are being left are awaited.
    func join(by key: RoomKey) async throws -> UUIDText {
        await self.waitForEnd { if case .room = $0 { true } else { false } }
        return try await self.with { try await $0.rooms.join(by: key, $0) }
    }

    /// The end of what a program held that has gone comes before the next beginning: else it would end that, too.
    private func waitForEnd(of isAwaited: @escaping @Sendable (Holds.Thing) -> Bool) async {
        let holds = self.holds
        await Blocking.run { holds.waitForEnd(of: isAwaited, until: .now() + CoreLimits.handOver) }
    }

    /// Ends everything that a program holds which is gone.
    func endThings(of feed: EventFeed) {
        // The program that would wait for these ends has gone. No end waits for the answer to another.
        for thing in self.holds.left(by: feed) {
            Task {
                guard self.holds.things(of: feed).contains(thing) else { return }
                await self.end(thing)
                self.holds.release(thing, by: feed)
            }
        }
    }

    /// A thing that is not open any more stays as it is.
    private func end(_ thing: Holds.Thing) async {
        let client = self.client
        switch thing {
        case .whispering(let id): try? await client.with { try await $0.streams.stop(in: id, $0) }
        case .listening(let id): try? await client.with { try await $0.heard.stop(to: id, $0) }
        case .room(let id):
            try? await client.with { if $0.rooms[id] != nil { try await $0.rooms.leave(id, $0) } }
        case .call(let id): try? await client.with { try $0.calls.end(id, nil, $0) }
        }
    }
}
