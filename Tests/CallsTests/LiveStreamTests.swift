@testable import ConversationsCore
import ClusterContract
import Contract
import Jobs
import Participants
import TestKit
import Testing

/// Starting, ending and joining streams: contract §14.8, §14.10.
@Suite struct LiveStreamTests {
    private static let content = "c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"

    @Test func theLaterDeviceHoldsTheStream() throws {
        var (bench, listener) = try LiveBench.joined()
        let start = bench.named.with(["contentId": Self.content])
        let first = try bench.send("live_start", start, as: bench.phone)
        #expect(first.payload["epoch"]?.integer == 1 && first.payload["isResumed"] == .bool(false))
        #expect(first.payload["listeners"]?[0]?["status"]?.string == "joined")
        guard case .holds(let held)? = bench.events(for: bench.phone.connection).first else {
            Issue.record("its gateway was not told")
            return
        }
        #expect(held.epoch == 1 && held.state == .live && held.home == bench.phone.connection.node)
        guard case .stream(let told)? = bench.events(for: listener.connection).first else {
            Issue.record("the listener's gateway was not told")
            return
        }
        #expect(told == held)

        let second = try bench.send("live_start", start, as: bench.tablet)
        #expect(second.payload["epoch"]?.integer == 2 && second.payload["isResumed"] == .bool(true))
        #expect(bench.events(for: bench.phone.connection) == [.holdsNoLonger(bench.id, epoch: 1)])
        let stopped = bench.frames("live_stopped", to: .connection(bench.phone.connection))
        #expect(stopped.map { $0["reason"]?.string } == ["taken_over"])
        #expect(bench.conversation.stream?.holder == bench.tablet.id)
    }

    /// Deleted data is gone (contract §14.13), even if the server is idle.
    @Test func withTheLastMemberOfItsProfileAConversationEnds() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let id = bench.id
        bench.hasProfile = false
        bench.rules { $0.membersChanged(of: .random(), in: [id]) }
        #expect(bench.book[id] != nil, "another profile")
        bench.rules { $0.membersChanged(of: LiveBench.profile, in: [id]) }
        #expect(bench.book[id] == nil)
        #expect(bench.events(for: bench.phone.connection) == [.holdsNoLonger(id, epoch: 1)])
        #expect(bench.events(for: listener.connection).last == .attendsNoLonger(id))
        #expect(
            bench.frames("live_refused", to: .connection(listener.connection)).first?["reason"]?.string == "deleted")
    }

    /// Also before its owner has heard of it.
    @Test func nobodyKnocksWhereNobodyIsAtHome() throws {
        var bench = try LiveBench.created()
        let listener = LiveBench.Listener(9)
        let knock = bench.knock(listener)
        bench.hasProfile = false
        #expect(try bench.send("live_knock", knock, as: listener).code == .notFound)
        #expect(bench.book.all.isEmpty)
    }

    @Test func aDeviceThatIsTakenOutIsOutAtOnce() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        _ = try bench.send("live_join", bench.named, as: bench.tablet)
        let id = bench.id
        bench.members = [bench.stranger.id]
        bench.rules { $0.membersChanged(of: LiveBench.profile, in: [id]) }
        #expect(bench.conversation.state == .paused)
        let stopped = bench.frames("live_stopped", to: .connection(bench.phone.connection))
        #expect(stopped.map { $0["reason"]?.string } == ["removed"])
        #expect(bench.events(for: bench.tablet.connection).last == .attendsNoLonger(id))
        let refused = bench.frames("live_refused", to: .connection(bench.tablet.connection))
        #expect(refused.map { $0["reason"]?.string } == ["removed"])
        #expect(Array(bench.conversation.attendances.keys) == [.guest(listener.id)], "listeners stay")
    }

    @Test func anotherContentEndsTheStreamForGood() throws {
        var bench = try LiveBench.created()
        let start = bench.named.with(["contentId": Self.content])
        _ = try bench.send("live_start", start, as: bench.phone)
        let next = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        #expect(next.payload["isResumed"] == .bool(false) && next.payload["epoch"]?.integer == 2)
        bench.ended = [.init(conversation: bench.id, content: UUIDText(Self.content)!)]
        #expect(try bench.send("live_start", start, as: bench.phone).code == .forbidden)
        #expect(bench.conversation.epoch == 2)
    }

    @Test func aHolderThatIsBackInTimeCostsNobodyAPause() throws {
        var (bench, listener) = try LiveBench.joined()
        let start = bench.named.with(["contentId": Self.content])
        _ = try bench.send("live_start", start, as: bench.phone)
        let (id, connection) = (bench.id, bench.phone.connection)
        bench.rules { $0.left(id, connection) }
        #expect(bench.conversation.stream(at: bench.now).home == nil)
        bench.now = bench.now + .milliseconds(14_999)
        bench.rules { $0.tick() }
        #expect(bench.tellings.isEmpty && bench.conversation.state == .live)
        let resumed = try bench.send("live_start", start, as: bench.phone)
        #expect(resumed.payload["isResumed"] == .bool(true))
        bench.now = bench.now + .seconds(60)
        bench.rules { $0.tick() }
        #expect(bench.conversation.state == .live)

        bench.rules { $0.left(id, connection) }
        bench.now = bench.now + .seconds(15)
        bench.rules { $0.tick() }
        #expect(bench.conversation.state == .paused)
        guard case .stream(let paused)? = bench.events(for: listener.connection).first else {
            Issue.record("the listener's gateway was not told of the pause")
            return
        }
        #expect(paused.state == .paused && paused.content == UUIDText(Self.content))
        bench.now = bench.now + .seconds(48 * 3_600)
        bench.rules { $0.tick() }
        guard case .stream(let ended)? = bench.events(for: listener.connection).first else {
            Issue.record("the listener's gateway was not told of the end")
            return
        }
        #expect(ended.state == .idle && ended.ending == .timeout)
        #expect(bench.conversation.attendances.count == 1, "listeners stay joined")
    }

    // MARK: Bounds (contract §13b)

    @Test func sixteenStreamsOfOneIdentityHaveNotEnded() throws {
        var bench = try LiveBench.created()
        let start = bench.named.with(["contentId": Self.content])
        bench.openOf = [bench.phone.id: LiveLimits.streamsOfIdentityMax]
        let refused = try bench.send("live_start", start, as: bench.phone)
        #expect(refused.code == .forbidden && bench.conversation.stream == nil)
        bench.openOf[bench.phone.id] = LiveLimits.streamsOfIdentityMax - 1
        #expect(try bench.send("live_start", start, as: bench.phone).type == "live_started")
        bench.openOf[bench.phone.id] = LiveLimits.streamsOfIdentityMax
        // Coming back, and beginning anew in its place, is no more than there was.
        for content in [Self.content, newUUID()] {
            let own = bench.named.with(["contentId": content])
            #expect(try bench.send("live_start", own, as: bench.phone).type == "live_started")
        }
        // Taking it over is one more of its own.
        bench.openOf[bench.tablet.id] = LiveLimits.streamsOfIdentityMax
        #expect(try bench.send("live_start", start, as: bench.tablet).code == .forbidden)
        #expect(bench.conversation.stream?.holder == bench.phone.id)
    }

    @Test func thirtyTwoStreamsOfOneProfileHaveNotEnded() throws {
        var bench = try LiveBench.created()
        let start = bench.named.with(["contentId": Self.content])
        bench.openIn = [LiveBench.profile: LiveLimits.streamsOfProfileMax]
        #expect(try bench.send("live_start", start, as: bench.phone).code == .forbidden)
        bench.openIn[LiveBench.profile] = LiveLimits.streamsOfProfileMax - 1
        #expect(try bench.send("live_start", start, as: bench.phone).type == "live_started")
        bench.openIn[LiveBench.profile] = LiveLimits.streamsOfProfileMax
        #expect(try bench.send("live_start", start, as: bench.tablet).type == "live_started", "it is counted already")
    }

    /// Streams of the same batch are not in the tables yet.
    @Test func streamsOfTheSameBatchCount() throws {
        var bench = try LiveBench.created()
        bench.openOf = [bench.phone.id: LiveLimits.streamsOfIdentityMax - 1]
        let first = bench.conversation
        let second = LiveMachine(
            id: ConversationID(high: 1, low: 2), profile: first.profile, creator: first.creator,
            signPublicKey: first.signPublicKey, encPublicKey: first.encPublicKey, linkVerifier: first.linkVerifier,
            info: first.info, transcriptDays: 0, createdAt: first.createdAt, updatedAt: first.updatedAt,
            usedAt: first.usedAt)
        bench.book.load(second)
        let phone = bench.phone
        var answers: [Answer] = []
        let bodies = try [first.id, second.id].map { id in
            try LiveBench.body("live_start", ["conversationId": "\(id)", "contentId": newUUID()])
        }
        bench.rules(for: [.identity(phone.id)]) { rules in
            for body in bodies {
                answers.append(
                    rules.received(
                        LiveFrame(
                            body, from: phone.principal, on: phone.connection, requestID: nil, receivedAt: rules.time)))
            }
        }
        #expect(answers.map(\.type) == ["live_started", nil] && answers.last?.code == .forbidden)
    }

    @Test func aPausedStreamIsInMemoryForAMinute() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (id, phone) = (bench.id, bench.phone.id)
        bench.rules { $0.removed(phone, from: id) }
        func asleep(after time: Duration) -> [ConversationID] {
            bench.now = bench.now + time
            var asleep: [ConversationID] = []
            bench.rules {
                $0.tick()
                asleep = $0.asleep
            }
            return asleep
        }
        #expect(asleep(after: ConversationLimits.pausedKeptFor).isEmpty, "somebody listens")
        _ = try bench.send("live_leave", bench.named, as: listener)
        #expect(asleep(after: .zero) == [id])
        // Until it is forgotten, it is said again.
        #expect(asleep(after: .zero) == [id])
        let now = bench.now
        bench.book.keep({ !$0.isAsleep(at: now) }, of: [id])
        #expect(bench.book.all.isEmpty && bench.book.changes.isEmpty, "nothing is deleted")
        #expect(asleep(after: .seconds(3_600)).isEmpty)
    }

    /// Time changes no conversation before its deadline: each one is ticked a moment before the deadline, and at it.
    @Test(arguments: Prove.seeds(0..<200)) func nothingHappensBeforeItsTime(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func some(_ most: Int64) -> Timestamp? {
            Bool.random(using: &random) ? LiveBench.start + .seconds(Int64.random(in: 0...most, using: &random)) : nil
        }
        var (bench, _) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        var machine = bench.conversation
        let place = LiveConnection(node: NodeID(value: 1), connection: ConnectionID(value: 1))
        switch Int.random(in: 0..<4, using: &random) {
        case 0: machine.stream = nil
        case 1: machine.stream?.phase = .paused
        case 2: machine.stream?.phase = .live(place, goneAt: some(100))
        default: break
        }
        if Bool.random(using: &random) { machine.attendances = [:] }
        for listener in machine.attendances.keys { machine.attendances[listener]?.goneAt = some(100) }
        let row = try #require(machine.listeners.first?.value)
        for number in 0..<UInt64.random(in: 0...3, using: &random) {
            let id = PrincipalID.guest(GuestID(high: 1, low: number))
            var other = row
            other.status = Bool.random(using: &random) ? .waiting : .admitted
            (other.generation, other.expiresAt) = (Int.random(in: 0...1, using: &random), some(600))
            machine.listeners[id] = other
            if Bool.random(using: &random) {
                machine.waiting[id] = .init(connection: place, goneAt: some(100), origin: 0)
            }
            // Only undecided listeners have a time in `knocksToldAt`.
            if machine.undecided.contains(where: { $0.listener == id }), let told = some(100) {
                machine.knocksToldAt[id] = told
            }
        }
        let deadline = machine.deadline(within: bench.bounds)
        bench.now = deadline.map { $0 - .milliseconds(1) } ?? LiveBench.start + .seconds(400 * 86_400)
        func ticked() -> (changed: Bool, asleep: Bool) {
            var book = LiveBook()
            book.load(machine)
            var rules = LiveRules(book: book, limits: bench.bounds, at: bench.now)
            rules.tick(machine)
            return (!rules.book.changes.isEmpty || !rules.tellings.isEmpty, machine.isAsleep(at: bench.now))
        }
        if deadline == nil || bench.now >= LiveBench.start { #expect(ticked() == (false, false)) }
        guard let deadline else { return }
        bench.now = deadline
        let then = ticked()
        #expect(then.changed || then.asleep)
    }

    @Test(arguments: UInt64(0)..<50) func theQueueKnowsWhoseTimeHasCome(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (queue, times) = (DeadlineQueue<Int>(), [Int: Timestamp]())
        var now = LiveBench.start
        for _ in 0..<2_000 {
            let id = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: times[id] = nil
            case 1:
                now = now + .milliseconds(Int64.random(in: 0...50, using: &random))
                let due = times.filter { $0.value <= now }
                #expect(queue.take(at: now).sorted() == due.keys.sorted())
                for id in due.keys { times[id] = nil }
            default: times[id] = now + .milliseconds(Int64.random(in: 0...1_000, using: &random))
            }
            queue.set(id, to: times[id])
            #expect(queue.next == times.values.min())
            #expect(queue.size <= 2 * 40 + DeadlineQueue<Int>.outdatedMax)
        }
    }

    @Test func anyDeviceStopsTheStream() throws {
        var bench = try LiveBench.created()
        let named = bench.named.with(["contentId": Self.content])
        let waiting = LiveBench.Listener(9)
        _ = try bench.send("live_knock", bench.knock(waiting), as: waiting)
        _ = try bench.send("live_start", named, as: bench.phone)
        #expect(bench.frames("live_state", to: .connection(waiting.connection)).first?["state"]?.string == "live")
        let other = try bench.send("live_stop", bench.named.with(["contentId": newUUID()]), as: bench.tablet)
        #expect(other.type == "live_stopped" && bench.conversation.state == .live)
        for _ in 0..<2 {
            #expect(try bench.send("live_stop", named, as: bench.tablet).payload["reason"]?.string == "stopped")
        }
        #expect(bench.tellings.isEmpty, "the second time nobody hears of it")
        #expect(bench.conversation.state == .idle)
    }

    @Test func theHolderHearsOfAStopByAnotherDeviceOnce() throws {
        var bench = try LiveBench.created()
        let named = bench.named.with(["contentId": Self.content])
        _ = try bench.send("live_start", named, as: bench.phone)
        _ = try bench.send("live_stop", named, as: bench.tablet)
        #expect(bench.frames("live_stopped", to: .connection(bench.phone.connection)).count == 1)
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        let content = try #require(bench.conversation.stream?.content)
        _ = try bench.send("live_stop", bench.named.with(["contentId": "\(content)"]), as: bench.phone)
        #expect(bench.frames("live_stopped", to: .connection(bench.phone.connection)).isEmpty, "that is its answer")
    }

    @Test func aDeviceTakenOutOfItsProfileWhispersNoLonger() throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (id, phone) = (bench.id, bench.phone.id)
        bench.rules { $0.removed(phone, from: id) }
        #expect(bench.conversation.state == .paused)
        let stopped = bench.frames("live_stopped", to: .connection(bench.phone.connection))
        #expect(stopped.map { $0["reason"]?.string } == ["removed"])
        #expect(bench.events(for: bench.phone.connection) == [.holdsNoLonger(id, epoch: 1)])
        // Another device may go on.
        let resumed = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.tablet)
        #expect(resumed.payload["isResumed"] == .bool(true))
    }

    @Test func aListenerBelongsToAStreamSinceItFirstJoinedIt() throws {
        var (bench, listener) = try LiveBench.joined()
        let (id, connection) = (bench.id, listener.connection)
        bench.now = bench.now + .seconds(100)
        let startedAt = bench.now
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        bench.rules { $0.left(id, connection) }
        bench.now = bench.now + .seconds(100)
        let after: Fields = ["contentId": Self.content, "epoch": 1, "seq": 4, "line": 2]
        _ = try bench.send("live_join", bench.named.with(["after": after.json]), as: listener)
        guard case .attends(let attendance)? = bench.events(for: connection).first else {
            Issue.record("its gateway was not told")
            return
        }
        #expect(attendance.since == startedAt && attendance.isAnswer && attendance.requestID == "r")
        #expect(
            attendance.after
                == LivePoint(content: UUIDText(Self.content)!, position: .init(epoch: 1, seq: 4), line: 2))
        let grant = try JSON(parsing: try #require(attendance.grant))
        #expect(grant["generation"]?.integer == 1 && grant["from"]?.string == "\(bench.phone.id)")
    }

    @Test func aLostListenerCountsAsJoinedForAWhile() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (id, connection) = (bench.id, listener.connection)
        bench.rules { $0.left(id, connection) }
        bench.now = bench.now + .milliseconds(14_999)
        bench.rules { $0.tick() }
        #expect(bench.tellings.isEmpty && bench.conversation.joinedCount == 1)
        bench.now = bench.now + .milliseconds(1)
        bench.rules { $0.tick() }
        let told = bench.frames("live_listener", to: .connection(bench.phone.connection))
        #expect(told.map { $0["status"]?.string } == ["left"] && told.first?["joined"]?.integer == 0)
    }

    @Test func devicesOfTheProfileJoinWithoutAGrantAndAreNotListed() throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        guard case .done = try bench.send("live_join", bench.named, as: bench.tablet) else {
            Issue.record("a device of the profile was kept out")
            return
        }
        #expect(bench.frames("live_listener", to: .connection(bench.phone.connection)).isEmpty)
        #expect(bench.conversation.joinedCount == 0 && bench.conversation.roster.isEmpty)
        guard case .attends(let attendance)? = bench.events(for: bench.tablet.connection).first else {
            Issue.record("its gateway was not told")
            return
        }
        #expect(attendance.grant == nil)
    }

    @Test func leavingIsTheSameTheSecondTime() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let first = try bench.send("live_leave", bench.named, as: listener)
        #expect(first.type == "live_left")
        #expect(bench.events(for: listener.connection) == [.attendsNoLonger(bench.id)])
        #expect(bench.frames("live_listener", to: .connection(bench.phone.connection)).count == 1)
        #expect(try bench.send("live_leave", bench.named, as: listener).payload == first.payload)
        #expect(bench.tellings.isEmpty)
        #expect(bench.conversation.listeners[.guest(listener.id)]?.status == .admitted, "the row stays")
        _ = try bench.send("live_leave", bench.named.with(["forget": true]), as: listener)
        #expect(bench.conversation.listeners.isEmpty)
    }

    @Test func whatAGatewayReportsAndIsNotSoIsContradicted() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        func entry(_ role: LiveReportEntry.Role, _ principal: PrincipalID, _ connection: UInt64) -> LiveReportEntry {
            LiveReportEntry(
                conversation: bench.id, connection: ConnectionID(value: connection), principal: principal, role: role,
                epoch: 1, generation: 1)
        }
        let (true1, true2) = (
            entry(.holder, .identity(bench.phone.id), 1), entry(.listener, .guest(listener.id), 9)
        )
        let (false1, false2) = (
            entry(.holder, .identity(bench.tablet.id), 77), entry(.listener, .guest(LiveBench.Listener(1).id), 78)
        )
        let (home, other) = (bench.phone.connection.node, listener.connection.node)
        let share = LiveShare(of: bench.id)
        bench.rules {
            $0.reported([true1], by: home, of: share)
            $0.reported([true2], by: other, of: share)
        }
        #expect(bench.tellings.isEmpty)
        bench.rules {
            $0.reported([true1, false1], by: home, of: share)
            $0.reported([true2, false2], by: other, of: share)
        }
        #expect(
            bench.events(for: LiveConnection(node: home, connection: ConnectionID(value: 77)))
                == [.holdsNoLonger(bench.id, epoch: 1)])
        #expect(
            bench.events(for: LiveConnection(node: other, connection: ConnectionID(value: 78)))
                == [.attendsNoLonger(bench.id)])
        var late = true2
        late.epoch = 0
        bench.rules { $0.reported([late], by: other, of: share) }
        #expect(bench.events(for: listener.connection).count == 1, "a gateway that is behind hears the present state")
    }

    /// Its gateway did not hear a Notice, and was taken for gone. Nobody else has taken the stream: it goes on (contract §14.12).
    @Test(arguments: [false, true]) func aHolderThatWasTakenForGoneHoldsOn(isPaused: Bool) throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (home, share) = (bench.phone.connection.node, LiveShare(of: bench.id))
        bench.rules { $0.unheard(by: home) }
        #expect(bench.conversation.stream?.connection == nil)
        if isPaused {
            bench.now = bench.now + LiveLimits.absenceMax + .seconds(1)
            bench.rules { $0.tick() }
            #expect(bench.conversation.stream?.isPaused == true)
        }
        let entry = LiveReportEntry(
            conversation: bench.id, connection: bench.phone.connection.connection,
            principal: .identity(bench.phone.id), role: .holder, epoch: 1, generation: 1)
        bench.rules { $0.reported([entry], by: home, of: share) }
        #expect(bench.conversation.stream?.connection == bench.phone.connection)
        guard case .holds(let stream)? = bench.events(for: bench.phone.connection).last else {
            Issue.record("\(bench.events(for: bench.phone.connection))")
            return
        }
        #expect(stream.state == .live && stream.epoch == 1 && stream.home == home)
        // A listener that joined meanwhile was told of no home.
        #expect(bench.events(for: listener.connection) == [.stream(stream)])
    }

    /// The notice of a removal may be lost: the gateway and the listener get it again.
    @Test func whoIsOutAndDoesNotKnowHearsIt() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (node, share) = (listener.connection.node, LiveShare(of: bench.id))
        let entry = LiveReportEntry(
            conversation: bench.id, connection: listener.connection.connection, principal: .guest(listener.id),
            role: .listener, epoch: 1, generation: 1)
        _ = try bench.send("live_refuse", bench.refuse(.guest(listener.id)), as: bench.phone)
        bench.rules { $0.reported([entry], by: node, of: share) }
        #expect(bench.events(for: listener.connection) == [.attendsNoLonger(bench.id)])
        let refused = bench.frames("live_refused", to: .connection(listener.connection))
        #expect(refused.map { $0["reason"]?.string } == ["removed"])
        // It has knocked again, and waits: the report is older than that.
        _ = try bench.send("live_knock", bench.knock(listener), as: listener)
        bench.rules { $0.reported([entry], by: node, of: share) }
        #expect(bench.events(for: listener.connection) == [.attendsNoLonger(bench.id)])
        #expect(bench.frames("live_refused", to: .connection(listener.connection)).isEmpty)
        _ = try bench.send("live_delete", bench.named, as: bench.phone)
        bench.rules { $0.reported([entry], by: node, of: share) }
        let deleted = bench.frames("live_refused", to: .connection(listener.connection))
        #expect(deleted.map { $0["reason"]?.string } == ["deleted"])
    }

    /// Its attendance was forgotten while the keys changed: it stays, and gets the next key.
    @Test func aListenerWithAnOlderKeyStays() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let guest = LiveBench.Listener(1)
        _ = try bench.send("live_knock", bench.knock(guest), as: guest)
        _ = try bench.send("live_grant", bench.grant([.guest(guest.id)], generation: 2), as: bench.phone)
        let node = listener.connection.node
        bench.rules { $0.unheard(by: node) }
        bench.now = bench.now + LiveLimits.absenceMax
        bench.rules { $0.tick() }
        #expect(bench.conversation.attendances[.guest(listener.id)] == nil)
        let entry = LiveReportEntry(
            conversation: bench.id, connection: listener.connection.connection, principal: .guest(listener.id),
            role: .listener, epoch: 1, generation: 2)
        let share = LiveShare(of: bench.id)
        bench.rules { $0.reported([entry], by: node, of: share) }
        #expect(bench.events(for: listener.connection).isEmpty)
        #expect(bench.conversation.attendances[.guest(listener.id)]?.goneAt == nil)
        #expect(bench.conversation.attendances[.guest(listener.id)] != nil)
    }

    /// That it left was lost.
    @Test func whoIsNotReportedHasGone() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_start", bench.named.with(["contentId": Self.content]), as: bench.phone)
        let (home, share) = (bench.phone.connection.node, LiveShare(of: bench.id))
        bench.rules {
            $0.reported([], by: home, of: share)
            $0.reported([], by: listener.connection.node, of: share)
        }
        #expect(bench.conversation.stream?.connection != nil, "it has just begun, and the report is older")
        #expect(bench.conversation.attendances[.guest(listener.id)]?.goneAt == nil)
        bench.now = bench.now + OwnerLimits.reportsDoubtedFor
        // A guest knocks at the listener's gateway. A waiting guest is named in no report.
        let guest = LiveBench.Listener(1)
        _ = try bench.send("live_knock", bench.knock(guest), as: guest)
        let elsewhere = try #require(LiveShare.all.first { $0 != share })
        bench.rules { $0.reported([], by: home, of: elsewhere) }
        #expect(bench.conversation.stream?.connection != nil)
        bench.rules {
            $0.reported([], by: home, of: share)
            $0.reported([], by: listener.connection.node, of: share)
        }
        #expect(bench.conversation.stream?.connection == nil)
        #expect(bench.conversation.attendances[.guest(listener.id)]?.goneAt != nil)
        #expect(bench.conversation.waiting[.guest(guest.id)]?.goneAt == nil)
    }

    /// The older connection's gateway made its report before it heard that the listener joined elsewhere.
    @Test func aReportOfAnOlderConnectionMovesNobodyBack() throws {
        var (bench, listener) = try LiveBench.joined()
        let id = PrincipalID.guest(listener.id)
        let (former, share) = (listener.connection, LiveShare(of: bench.id))
        let present = LiveConnection(node: NodeID(value: 91), connection: ConnectionID(value: 4))
        let entry = LiveReportEntry(
            conversation: bench.id, connection: former.connection, principal: id, role: .listener, epoch: 0,
            generation: 1)
        _ = bench.send(try LiveBench.body("live_join", bench.named), as: listener.principal, on: present)
        bench.rules { $0.reported([entry], by: former.node, of: share) }
        #expect(bench.conversation.attendances[id]?.connection == present)
        // The joining may itself be an old one, of a connection that has ended.
        bench.now = bench.now + OwnerLimits.reportsDoubtedFor
        bench.rules { $0.reported([entry], by: former.node, of: share) }
        #expect(bench.conversation.attendances[id]?.connection == former)
    }
}
