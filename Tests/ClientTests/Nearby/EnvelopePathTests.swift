import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct EnvelopePathTests {
    var path = EnvelopePath<Int>()

    private mutating func next(_ waiting: [Int], at now: ContinuousClock.Instant = start) -> Int? {
        self.path.next(to: bobID, of: waiting, at: now) { _ in .free }
    }

    @Test mutating func oneMessageIsInTheAirAtATime() {
        #expect(self.next([1, 2]) == nil, "nobody is here")
        self.path.came(bobID)
        #expect(self.next([1, 2]) == 1)
        #expect(self.next([1, 2]) == nil)
        self.path.settled(1, to: bobID)
        #expect(self.next([2]) == 2)
        #expect(self.path.went(bobID) == 2)
        #expect(self.next([2]) == nil)
        #expect(self.path.nextWake == nil)
    }

    @Test mutating func whatGetsNoReceiptIsTheServersForAWhile() {
        self.path.came(bobID)
        #expect(self.next([1, 2]) == 1)
        self.path.handedOver(1, to: bobID, at: start)
        let late = start + NearbyLimits.receiptWait
        #expect(self.path.timerFired(at: late - .seconds(1), hasServer: true) == [])
        #expect(self.path.timerFired(at: late, hasServer: true) == [1])
        #expect(self.next([1, 2], at: late) == nil)
        #expect(self.path.nextWake == late + NearbyLimits.serverTurn)
        // The server has taken it: what is behind it may go.
        #expect(self.next([2], at: late) == 2)
        self.path.settled(2, to: bobID)
        // Nobody is woken for a turn that is over.
        #expect(self.path.failed(3, to: bobID, at: late, hasServer: true) == false)
        #expect(self.next([3], at: late) == 3)
        #expect(self.path.failed(3, to: bobID, at: late, hasServer: true) == true)
        #expect(self.path.timerFired(at: late + NearbyLimits.serverTurn, hasServer: true) == [])
        #expect(self.path.nextWake == nil)
    }

    @Test mutating func withoutAServerItGoesThroughTheAirAgain() {
        self.path.came(bobID)
        #expect(self.next([1]) == 1)
        #expect(self.path.failed(1, to: bobID, at: start, hasServer: false) == true)
        #expect(self.path.failed(1, to: bobID, at: start, hasServer: false) == false)
        #expect(self.next([1]) == nil)
        #expect(self.next([1], at: start + NearbyLimits.airPause) == 1)
    }

    @Test mutating func filesAreTheServersAndWhatIsUnderWayIsWaitedFor() {
        self.path.came(bobID)
        let files = self.path.next(to: bobID, of: [1, 2], at: start) { $0 == 1 ? .serverAlone : .free }
        #expect(files == 2)
        self.path.settled(2, to: bobID)
        let behind = self.path.next(to: bobID, of: [3, 4], at: start) { $0 == 3 ? .underWay : .free }
        #expect(behind == nil)
    }

    @Test mutating func theServerSkipsWhatIsInTheAir() {
        var outbox = OutboxMachine<Int>()
        outbox.online()
        for id in 1...2 { outbox.queued(id, to: bobID) }
        outbox.queued(3, to: carolID)
        #expect(outbox.tryElsewhere(1) == true)
        #expect(outbox.due(at: start) == [3])
        #expect(outbox.waiting(for: bobID, limit: 9) == [1, 2])
        outbox.cameBack(1)
        outbox.cameBack(1)
        #expect(outbox.due(at: start) == [1])
        #expect(outbox.tryElsewhere(1) == false, "it is under way")
        outbox.settled(1)
        #expect(outbox.tryElsewhere(2) == true)
        #expect(outbox.due(at: start) == [])
        // Settled by the other way, and something new behind it.
        outbox.queued(4, to: bobID)
        outbox.settled(2)
        #expect(outbox.due(at: start) == [4])
    }

    /// Both ways lose, repeat and delay; connections go at any moment; in the end one way works, or both.
    @Test(arguments: 0..<UInt64(Prove.isAsked ? 300 : 75)) func eachMessageArrivesOnceAsLongAsOneWayWorks(seed: UInt64)
    {
        var world = TwoWays(seed: seed)
        for _ in 0..<400 { world.step() }
        world.heal(.allCases[Int(seed % 3)])
        for id in world.owed {
            #expect(!world.outbox.isWaiting(id), "\(id) waits")
            #expect(
                world.inbox.filter { $0 == id }.count == 1, "\(id) came \(world.inbox.filter { $0 == id }.count) times")
        }
        #expect(world.broken == [])
    }
}

/// Somebody who writes to two people, a server and the air between them.
private struct TwoWays {
    enum Way: CaseIterable { case air, server, both }

    private struct Packet {
        var id: Int
        var to: WhisperID
        var connection: Int
    }

    private var random: SeededGenerator
    private var now = start
    var outbox = OutboxMachine<Int>()
    private var path = EnvelopePath<Int>()
    private var sent: [Int: WhisperID] = [:]
    private var files: Set<Int> = []
    /// Messages sent to the server, without an answer.
    private var asked: [Int] = []
    private var mailbox: [Int] = []
    /// Messages that the receivers have stored, without repetitions.
    private(set) var inbox: [Int] = []
    private var known: Set<Int> = []
    private var packets: [Packet] = []
    private var receipts: [Packet] = []
    private var connections: [WhisperID: Int] = [:]
    private var connectionCount = 0
    private var isOnline = false
    private var healed: Way?
    /// Messages that no path tries any more, and no receiver has.
    private(set) var broken: [Int] = []

    init(seed: UInt64) { self.random = SeededGenerator(seed: seed) }

    /// Messages that must arrive in the end. Files go by the server alone.
    var owed: [Int] { self.sent.keys.filter { self.healed != .air || !self.files.contains($0) } }

    mutating func step() {
        switch Int.random(in: 0..<12, using: &self.random) {
        case 0, 1: self.write()
        case 2: self.connect(Bool.random(using: &self.random) ? bobID : carolID)
        case 3: self.disconnect(Bool.random(using: &self.random) ? bobID : carolID)
        case 4: self.setOnline(!self.isOnline)
        case 5, 6: self.askServer(Int.random(in: 0..<4, using: &self.random))
        case 7, 8: self.air(Int.random(in: 0..<5, using: &self.random))
        case 9: self.receipt(isLost: Int.random(in: 0..<3, using: &self.random) == 0)
        case 10: self.wait(.milliseconds(Int.random(in: 1...30_000, using: &self.random)))
        default: self.drain()
        }
        self.pump()
    }

    /// From here on nothing is lost on the ways that work, and the others are gone.
    mutating func heal(_ way: Way) {
        self.healed = way
        for contact in [bobID, carolID] {
            if way == .server { self.disconnect(contact) } else { self.connect(contact) }
        }
        self.setOnline(way != .air)
        for _ in 0..<5_000 {
            self.pump()
            self.askServer(0)
            self.air(0)
            self.receipt(isLost: false)
            if self.owed.allSatisfy({ !self.outbox.isWaiting($0) }) { break }
            if self.asked.isEmpty, self.packets.isEmpty, self.receipts.isEmpty { self.wait(.seconds(1)) }
        }
        self.drain()
    }

    private mutating func write() {
        let id = self.sent.count + 1
        let contact = Bool.random(using: &self.random) ? bobID : carolID
        self.sent[id] = contact
        if Int.random(in: 0..<5, using: &self.random) == 0 { self.files.insert(id) }
        self.outbox.queued(id, to: contact)
    }

    private mutating func connect(_ contact: WhisperID) {
        guard self.connections[contact] == nil else { return }
        self.connectionCount += 1
        self.connections[contact] = self.connectionCount
        self.path.came(contact)
    }

    private mutating func disconnect(_ contact: WhisperID) {
        self.connections[contact] = nil
        if let id = self.path.went(contact) { self.outbox.cameBack(id) }
    }

    private mutating func setOnline(_ isOnline: Bool) {
        guard isOnline != self.isOnline else { return }
        self.isOnline = isOnline
        guard !isOnline else { return self.outbox.online() }
        self.asked = []
        self.judge(self.outbox.disconnected())
    }

    private mutating func judge(_ verdicts: [OutboxMachine<Int>.Verdict]) {
        for case .giveUp(let id, _) in verdicts { self.outbox.queued(id, to: self.sent[id]!) }
    }

    private mutating func wait(_ time: Duration) {
        self.now += time
        self.judge(self.outbox.timerFired(at: self.now, using: &self.random))
        for id in self.path.timerFired(at: self.now, hasServer: self.isOnline) { self.outbox.cameBack(id) }
    }

    private mutating func pump() {
        for contact in self.path.contacts {
            if let id = self.path.inTheAir(to: contact), !self.outbox.isWaiting(id) {
                self.path.settled(id, to: contact)
            }
            let waiting = self.outbox.waiting(for: contact, limit: 32)
            let (files, outbox) = (self.files, self.outbox)
            let id = self.path.next(to: contact, of: waiting, at: self.now) { id in
                files.contains(id) ? .serverAlone : outbox.isUnderWay(id) ? .underWay : .free
            }
            guard let id else { continue }
            if !self.outbox.tryElsewhere(id) { self.broken.append(id) }
            self.packets.append(Packet(id: id, to: contact, connection: self.connections[contact]!))
        }
        self.asked += self.outbox.due(at: self.now)
        // Nobody may leave what nobody has.
        for id in self.sent.keys where !self.outbox.isWaiting(id) {
            if !self.known.contains(id), !self.mailbox.contains(id) { self.broken.append(id) }
        }
    }

    private mutating func store(_ id: Int) {
        if self.known.insert(id).inserted { self.inbox.append(id) }
    }

    private mutating func drain() {
        for id in self.mailbox { self.store(id) }
        self.mailbox = []
    }

    private mutating func askServer(_ fault: Int) {
        guard self.isOnline, !self.asked.isEmpty else { return }
        let id = self.asked.removeFirst()
        switch fault {
        case 0, 1:
            self.mailbox.append(id)
            // The answer may be lost; the connection need not be.
            if fault == 0 { self.outbox.settled(id) }
        case 2:
            self.judge([
                self.outbox.refused(id, .internalError, retryAfter: nil, at: self.now, using: &self.random)
            ])
        default: break
        }
    }

    private mutating func air(_ fault: Int) {
        guard !self.packets.isEmpty else { return }
        let packet = self.packets.removeFirst()
        let isHere = self.connections[packet.to] == packet.connection
        switch fault {
        case 0, 1, 2:
            // It may come when the connection is gone already.
            self.store(packet.id)
            if fault == 2 { self.packets.append(packet) }
            if isHere { self.path.handedOver(packet.id, to: packet.to, at: self.now) }
            self.receipts.append(packet)
        case 3:
            if isHere, self.path.failed(packet.id, to: packet.to, at: self.now, hasServer: self.isOnline) {
                self.outbox.cameBack(packet.id)
            }
        default: break
        }
    }

    private mutating func receipt(isLost: Bool) {
        guard !self.receipts.isEmpty else { return }
        let packet = self.receipts.removeFirst()
        guard !isLost, self.connections[packet.to] == packet.connection else { return }
        self.outbox.settled(packet.id)
        self.path.settled(packet.id, to: packet.to)
    }
}
