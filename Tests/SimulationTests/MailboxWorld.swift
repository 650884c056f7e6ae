import ClusterContract
import Contract
import Foundation
import TestKit

@testable import GatewayCore
@testable import RouterCore

enum Seeds {
    /// The one seed that somebody wants to see alone.
    static var chosen: UInt64? { ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } }
}

extension SeededGenerator {
    /// Worlds of neighbouring seeds are to have nothing in common.
    init(scattered seed: UInt64) { self.init(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1) }
}

/// The world of `MailboxDeliveryTests`. Time is in milliseconds and only moves in `tick`.
struct MailboxWorld {
    enum Trouble {
        case none
        /// Routers give the partition up in good order, and others take it.
        case handOvers
        /// The bus is lost, and routers die, and what was on its way with them.
        case losses
    }

    /// On the partition's stream.
    private enum Job {
        case accept
        case receipt(Int64)
        case fetch(connection: UInt64, after: Int64)
        case bound(BoundConnection)
        case unbound(connection: UInt64)
    }

    /// On the way to the gateway.
    private enum Notice {
        case adopted
        case bound(connection: UInt64, isCaughtUp: Bool, answering: UInt32)
        case mail(connection: UInt64, [Int64], again: Bool)
        case page(connection: UInt64, [Int64], hasMore: Bool)
        case replaced(connection: UInt64)
    }

    private var random: SeededGenerator
    private let trouble: Trouble
    private var now: Int64 = 1_000_000
    private let resendAfter: Int64 = 15_000
    private let pageMax = 5

    // The database.
    private var mailbox: [(number: Int64, acceptedAt: Int64)] = []
    private var lastNumber: Int64 = 0
    // The bus.
    private var jobs: [Job] = []
    private var notices: [Notice] = []
    // The router that owns the partition. Its memory dies with it.
    private var session: MailboxSession?
    // The gateway, and its one client.
    private var connection: UInt64 = 0
    private var cursor = DeliveryCursor(boundAt: Timestamp(milliseconds: 0))
    private var isConnected = false
    private var unacknowledged: [Int64] = []
    /// When the client asked for a page that has not come.
    private var askedAt: Int64?
    private var seen: Set<Int64> = []
    private var lastSeen: Int64 = 0

    private(set) var faults: [String] = []
    private(set) var repeatedLive = 0
    /// Messages that came live.
    private(set) var live = 0

    init(seed: UInt64, _ trouble: Trouble) {
        self.random = SeededGenerator(scattered: seed)
        self.trouble = trouble
    }

    private enum Event: CaseIterable {
        case accept, routerTakes, noticeArrives, acknowledgement, time, connection, handOver, busLost, routerLost
    }

    /// How often each happens differs from seed to seed: some worlds are calm and mostly live, others always paging.
    private mutating func weights() -> [(Event, Int)] {
        Event.allCases.map { event in
            let range: ClosedRange<Int> =
                switch event {
                case .accept: 5...30
                case .routerTakes: 20...60
                case .noticeArrives: 20...80
                case .acknowledgement: 5...40
                case .time: 1...10
                case .connection: 0...3
                case .handOver: self.trouble == .none ? 0...0 : 0...3
                case .busLost, .routerLost: self.trouble == .losses ? 0...3 : 0...0
                }
            return (event, Int.random(in: range, using: &self.random))
        }
    }

    mutating func play(steps: Int) {
        let weights = self.weights()
        let sum = weights.reduce(0) { $0 + $1.1 }
        for _ in 0..<steps {
            var number = Int.random(in: 0..<sum, using: &self.random)
            let event = weights.first {
                number -= $0.1; return number < 0
            }!.0
            switch event {
            case .accept: self.jobs.append(.accept)
            case .routerTakes: self.routerTakes(Int.random(in: 1...8, using: &self.random))
            case .noticeArrives: if !self.notices.isEmpty { self.hear(self.notices.removeFirst()) }
            case .acknowledgement: self.acknowledgeSome()
            case .time: self.tick(by: Int64.random(in: 1...2_000, using: &self.random))
            case .connection: self.isConnected ? self.disconnect() : self.connect()
            case .handOver: self.handOver()
            case .busLost: self.loseBus()
            case .routerLost: self.loseRouter()
            }
        }
    }

    /// Everything on its way arrives, and no time passes. Unless something was lost, a connected client has all there
    /// is now, and nothing waits for a timer.
    mutating func arrive() {
        if !self.isConnected { self.connect() }
        for _ in 0..<Self.roundsMax {
            self.routerTakes(100)
            while !self.notices.isEmpty { self.hear(self.notices.removeFirst()) }
            if self.jobs.isEmpty, self.unseen.isEmpty { return }
        }
        self.faults.append("late: \(self.unseen)")
    }

    private static let roundsMax = 200

    private var unseen: [Int64] { self.mailbox.map(\.number).filter { !self.seen.contains($0) } }

    /// Everything runs, nobody writes: whatever was accepted has to arrive in bounded time.
    mutating func calmDown() {
        if !self.isConnected { self.connect() }
        for _ in 0..<120 where !self.mailbox.isEmpty || !self.jobs.isEmpty || !self.notices.isEmpty {
            for _ in 0..<50 {
                self.routerTakes(100)
                while !self.notices.isEmpty { self.hear(self.notices.removeFirst()) }
                self.acknowledgeAll()
                if self.jobs.isEmpty { break }
            }
            self.tick(by: 1_000)
        }
        if !self.mailbox.isEmpty { self.faults.append("left: \(self.mailbox.map(\.number))") }
        for number in 1...max(1, self.lastNumber) where self.lastNumber > 0 && !self.seen.contains(number) {
            self.faults.append("lost: \(number)")
        }
    }

    var accepted: Int { Int(self.lastNumber) }

    // MARK: Faults

    /// Another router takes the partition over, between two batches, and asks the gateway.
    private mutating func handOver() {
        self.session = nil
        self.notices.append(.adopted)
    }

    /// Redis is emptied or restarted: what was on the way is gone, and the gateway, listening again, announces anew.
    private mutating func loseBus() {
        self.jobs.removeAll { if case .accept = $0 { false } else { true } }
        self.notices = []
        self.cursor.mayHaveMissed()
    }

    /// The partition gets another owner, who asks the gateways.
    private mutating func loseRouter() {
        self.session = nil
        // Notices of the old one may be lost with it, from some point on.
        if Bool.random(using: &self.random) {
            self.notices.removeLast(Int.random(in: 0...self.notices.count, using: &self.random))
        }
        if self.isConnected { self.announce() }
    }

    // MARK: Client and gateway

    private mutating func connect() {
        self.connection += 1
        self.isConnected = true
        self.cursor = DeliveryCursor(boundAt: Timestamp(milliseconds: self.now))
        self.unacknowledged = []
        self.lastSeen = 0
        // An announcement may be lost while the question behind it is not.
        if self.trouble == .losses, Int.random(in: 0..<10, using: &self.random) == 0 {
            self.cursor.announced(at: self.now)
        } else {
            self.announce()
        }
        self.ask(after: 0)
    }

    private mutating func disconnect() {
        self.isConnected = false
        self.jobs.append(.unbound(connection: self.connection))
    }

    private mutating func announce() {
        self.jobs.append(
            .bound(
                BoundConnection(
                    caller: Caller(identity: WhisperID(bits: 1)!, epoch: Epoch(value: 1)), node: NodeID(value: 1),
                    connection: ConnectionID(value: self.connection), boundAt: self.cursor.boundAt,
                    progress: self.cursor.progress, state: self.cursor.state, number: self.cursor.nextNumber)))
        self.cursor.announced(at: self.now)
    }

    private mutating func ask(after: Int64) {
        self.askedAt = self.now
        self.jobs.append(.fetch(connection: self.connection, after: after))
    }

    private mutating func hear(_ notice: Notice) {
        switch notice {
        case .adopted:
            guard self.isConnected else { return }
            self.cursor.mayHaveMissed()
            self.announce()
        case .bound(let connection, let isCaughtUp, let number):
            guard self.isConnected, connection == self.connection else { return }
            if self.cursor.bound(isCaughtUp: isCaughtUp, answering: number) == .announceAgain { self.announce() }
        case .mail(let connection, let numbers, let again):
            guard self.isConnected, connection == self.connection else { return }
            if self.cursor.isAnnouncementDue(at: self.now) { self.announce() }
            for number in numbers where self.cursor.takes(number, again: again) { self.see(number, isPage: false) }
        case .page(let connection, let numbers, let hasMore):
            guard self.isConnected, connection == self.connection else { return }
            self.cursor.paged(through: numbers.last, isLast: !hasMore)
            for number in numbers { self.see(number, isPage: true) }
            self.askedAt = nil
            if hasMore, let last = numbers.last { self.ask(after: last) }
        case .replaced(let connection):
            // There is one phone, and this is its only connection.
            if self.isConnected, connection == self.connection { self.faults.append("the live connection was ended") }
        }
    }

    private mutating func see(_ number: Int64, isPage: Bool) {
        if !isPage { self.live += 1 }
        if self.seen.insert(number).inserted {
            // The order that matters: first sights on one connection.
            if number < self.lastSeen { self.faults.append("\(number) after \(self.lastSeen)") }
        } else if !isPage, self.unacknowledged.contains(number) {
            self.repeatedLive += 1
        }
        self.lastSeen = max(self.lastSeen, number)
        self.unacknowledged.append(number)
    }

    private mutating func acknowledgeSome() {
        for _ in 0..<3 where !self.unacknowledged.isEmpty {
            self.jobs.append(.receipt(self.unacknowledged.removeFirst()))
        }
    }

    private mutating func acknowledgeAll() {
        self.jobs += self.unacknowledged.map { .receipt($0) }
        self.unacknowledged = []
    }

    private mutating func tick(by milliseconds: Int64) {
        self.now += milliseconds
        if self.isConnected {
            if self.cursor.isAnnouncementDue(at: self.now) { self.announce() }
            // INTERNAL_ERROR: the client asks again, from the beginning.
            if let askedAt, self.now - askedAt > 10_000 { self.ask(after: 0) }
        }
        self.routerTimer()
    }

    // MARK: The router

    private mutating func routerTakes(_ count: Int) {
        for job in self.jobs.prefix(count) { self.routerHandles(job) }
        self.jobs.removeFirst(min(count, self.jobs.count))
        self.catchUp()
    }

    private mutating func routerHandles(_ job: Job) {
        switch job {
        case .accept:
            self.lastNumber += 1
            self.mailbox.append((self.lastNumber, self.now))
            guard self.session?.accepted(self.lastNumber, at: self.now) == .send else { return }
            self.notices.append(.mail(connection: self.session!.connection.value, [self.lastNumber], again: false))
        case .receipt(let number):
            guard let index = self.mailbox.firstIndex(where: { $0.number == number }) else { return }
            self.mailbox.remove(at: index)
            self.session?.acknowledged(number)
        case .fetch(let connection, let after):
            let waiting = self.mailbox.map(\.number).filter { $0 > after }
            let page = Array(waiting.prefix(self.pageMax))
            self.notices.append(.page(connection: connection, page, hasMore: waiting.count > page.count))
            if self.session?.connection.value == connection {
                self.session!.paged(last: page.last, isLast: waiting.count == page.count, at: self.now)
            }
        case .bound(let bound):
            // The end of the other one was lost, or has not come yet.
            if let known = self.session, known.connection != bound.connection {
                guard
                    bound.wins(
                        over: known.caller, boundAt: known.boundAt, node: known.node, connection: known.connection)
                else {
                    return self.notices.append(.replaced(connection: bound.connection.value))
                }
                self.notices.append(.replaced(connection: known.connection.value))
            }
            self.session = MailboxSession(bound, newest: self.mailbox.last?.number, at: self.now)
            self.notices.append(
                .bound(
                    connection: bound.connection.value, isCaughtUp: self.session!.isCaughtUp, answering: bound.number))
        case .unbound(let connection):
            if self.session?.connection.value == connection { self.session = nil }
        }
    }

    private mutating func catchUp() {
        guard let session, case .catchingUp(let through) = session.delivery else { return }
        let waiting = self.mailbox.map(\.number).filter { $0 > through }
        let part = Array(waiting.prefix(self.pageMax))
        self.session!.caughtUp(part, isAll: part.count == waiting.count, at: self.now)
        if !part.isEmpty { self.notices.append(.mail(connection: session.connection.value, part, again: false)) }
    }

    private mutating func routerTimer() {
        switch self.session?.timerFired(at: self.now, resendAfter: self.resendAfter) {
        case nil, .some(.none): break
        case .some(.catchUp): self.catchUp()
        case .some(.resend(let after, let through)):
            let waiting = self.mailbox.filter { $0.number > after && $0.number <= through }
            let part = Array(waiting.prefix(self.pageMax))
            let deadline = self.now - self.resendAfter
            let late = part.filter { $0.acceptedAt <= deadline }.map(\.number)
            self.session!.resent(
                count: late.count, from: part.first?.number,
                youngSince: part.first { $0.acceptedAt > deadline }?.acceptedAt, isAll: part.count == waiting.count,
                at: self.now)
            if !late.isEmpty {
                self.notices.append(.mail(connection: self.session!.connection.value, late, again: true))
            }
        }
    }
}
