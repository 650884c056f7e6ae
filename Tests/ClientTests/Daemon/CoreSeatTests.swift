import Contract
import Dispatch
import LocalStack
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Several programs that share one core.
@Suite(.timeLimit(.minutes(20))) struct CoreSeatTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    /// The answer to a program's call.
    @discardableResult
    private func ask(
        _ core: Core, _ seat: CoreSeat?, _ verb: String, _ parameters: String = "{}"
    ) async throws -> JSON {
        let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(verb)","params":\#(parameters)}"#
        let answer = try #require(await JSONRPC.answer(Array(line.utf8), from: core, at: seat))
        let message = try JSON(parsing: answer)
        return message["result"] ?? message["error"]?["data"]?["code"] ?? message
    }

    /// The server's answer to a program's call.
    private func answer(
        _ core: Core, _ seat: CoreSeat, _ verb: String, _ parameters: String
    ) async throws -> JSON {
        try await self.ask(core, seat, verb, parameters)
        while true {
            let next = await Blocking.run { seat.nextEvent(until: .now() + .seconds(30)) }
            let text = try #require(next)
            let event = try #require(try JSON(parsing: text)["event"])
            if event["type"]?.string == "answer" { return event }
        }
    }

    /// Everything that waits for a program.
    private func events(_ seat: CoreSeat) throws -> [JSON] {
        var events: [JSON] = []
        while let text = seat.nextEvent(until: .now()), !text.isEmpty { events.append(try JSON(parsing: text)) }
        return events
    }

    /// Numbers of changes of contacts.
    private func numbers(_ seat: CoreSeat) throws -> [Int64] {
        try self.events(seat).filter { $0["event"]?["type"]?.string == "contactChanged" }.compactMap {
            $0["seq"]?.integer
        }
    }

    /// A contact, which is one numbered event.
    private func change(_ host: CoreHost, _ id: String, _ name: String) async throws {
        try await host.perform(#"contact_update {"whisperId":"\#(id)","name":"\#(name)"}"#)
    }

    @Test func eachProgramHasItsOwnConsumerAndGoesOnWhereItStopped() async throws {
        let ann = try await self.hosts.online("ann")
        let bob = try await self.hosts.online("bob").id
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let core = ann.core
        core.leaveEventsToSeats()
        let (echo, log) = (try #require(core.seat()), try #require(core.seat()))
        try await self.ask(core, echo, "events_subscribe", #"{"consumer":"echo"}"#)
        try await self.ask(core, log, "events_subscribe", #"{"consumer":"log"}"#)
        for name in ["one", "two", "three"] { try await self.change(ann, bob, name) }
        let numbers = try self.numbers(echo)
        #expect(numbers.count == 3)
        #expect(try self.numbers(log) == numbers)
        // One acknowledges, the other does not.
        try await self.ask(core, echo, "events_ack", #"{"consumer":"echo","seq":\#(numbers[1])}"#)
        echo.leave()
        log.leave()
        let (echo2, log2) = (try #require(core.seat()), try #require(core.seat()))
        try await self.ask(core, echo2, "events_subscribe", #"{"consumer":"echo"}"#)
        try await self.ask(core, log2, "events_subscribe", #"{"consumer":"log"}"#)
        #expect(try self.numbers(echo2) == [numbers[2]])
        #expect(try self.numbers(log2) == numbers)
        // All programs get events of the moment.
        try await self.ask(core, nil, "disconnect")
        for seat in [echo2, log2] {
            #expect(try self.events(seat).last?["event"]?["type"]?.string == "connection")
        }
        await core.close()
        #expect(echo2.nextEvent(until: nil) == nil && log2.nextEvent(until: nil) == nil)
    }

    @Test func theServersAnswerComesToTheProgramThatHasAskedAlone() async throws {
        let ann = try await self.hosts.online("ann")
        let bob = try await self.hosts.online("bob").id
        let core = ann.core
        core.leaveEventsToSeats()
        let (one, two) = (try #require(core.seat()), try #require(core.seat()))
        _ = try await self.answer(core, one, "contact_add", #"{"whisperId":"\#(bob)"}"#)
        try await self.ask(core, nil, "disconnect")
        let heard = try self.events(two).compactMap { $0["event"]?["type"]?.string }
        #expect(heard.contains("connection") && !heard.contains("answer"))
        await core.close()
    }

    @Test func aConsumerHasOneReaderAtATime() async throws {
        let ann = try await self.hosts.offline("ann")
        let core = ann.core
        core.leaveEventsToSeats()
        let (one, two) = (try #require(core.seat()), try #require(core.seat()))
        let subscribe = ("events_subscribe", #"{"consumer":"bot"}"#)
        #expect(try await self.ask(core, one, subscribe.0, subscribe.1)["type"]?.string == "subscribed")
        #expect(one.feed.consumerName == "bot")
        // It waits, and has it when the first one is gone.
        let isAnswered = Mutex(false)
        async let second = {
            defer { isAnswered.withLock { $0 = true } }
            return try await self.ask(core, two, subscribe.0, subscribe.1)
        }()
        while !core.hasWaitingReader, !isAnswered.withLock({ $0 }) { await Task.yield() }
        #expect(!isAnswered.withLock { $0 })
        one.leave()
        #expect(try await second["type"]?.string == "subscribed")
        #expect(two.feed.consumerName == "bot")
        // A program that subscribes to another consumer releases the first. The end of a consumer releases its reader.
        let three = try #require(core.seat())
        try await self.ask(core, two, "events_subscribe", #"{"consumer":"other"}"#)
        try await self.ask(core, three, subscribe.0, subscribe.1)
        #expect(three.feed.consumerName == "bot")
        try await self.ask(core, two, "events_unsubscribe", #"{"consumer":"bot"}"#)
        #expect(three.feed.consumerName == nil)
        // A subscription that is refused changes nothing.
        let refusal = try await self.ask(core, three, "events_subscribe", #"{"consumer":"new","after":999}"#)
        #expect(refusal == .string("unknownConsumer"))
        try await self.ask(core, two, "events_subscribe", #"{"consumer":"new"}"#)
        #expect(two.feed.consumerName == "new")
        await core.close()
    }

    @Test func aReaderThatStaysIsNotPushedAside() throws {
        let feeds = EventFeeds()
        let (one, two, three) = (EventFeed { _ in [] }, EventFeed { _ in [] }, EventFeed { _ in [] })
        #expect(feeds.add(one) && feeds.add(two))
        #expect(feeds.claim("bot", for: one, until: .now()) == .granted)
        #expect(feeds.claim("bot", for: one, until: .now()) == .granted)
        #expect(feeds.claim("bot", for: two, until: .now()) == .taken)
        #expect(!feeds.hasWaiting)
        #expect(feeds.claim("bot", for: three, until: .now()) == .noFeed)
        feeds.close()
        #expect(feeds.claim("bot", for: two, until: .distantFuture) == .taken)
        #expect(!feeds.add(three))
    }

    @Test func withoutASeatAConsumerIsMadeAndNothingRead() async throws {
        let core = try await self.hosts.offline("ann").core
        core.leaveEventsToSeats()
        try await self.ask(core, nil, "events_subscribe", #"{"consumer":"poll"}"#)
        let list = try await self.ask(core, nil, "events_list", #"{"consumer":"poll"}"#)
        #expect(list["events"]?.elements == [])
        let seat = try #require(core.seat())
        #expect(try await self.ask(core, seat, "events_subscribe", #"{"consumer":"poll"}"#)["type"] != nil)
        await core.close()
    }

    @Test func seatsAreCounted() async throws {
        let core = try await self.hosts.offline("ann").core
        core.leaveEventsToSeats()
        var seats: [CoreSeat] = []
        while let seat = core.seat() { seats.append(seat) }
        #expect(seats.count == CoreLimits.seatsMax)
        seats[0].leave()
        #expect(core.seat() != nil && core.seat() == nil)
        await core.close()
    }
    /// A program that holds a thing is its only user, and the thing ends with it.
    @Test func whatAProgramHoldsEndsWithIt() async throws {
        let ann = try await self.hosts.offline("ann")
        let id = try #require(
            try await ann.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]?["conversationId"]?
                .string)
        let (named, hold) = (#"{"conversationId":"\#(id)"}"#, #"{"conversationId":"\#(id)","as":"whisperer"}"#)
        let core = ann.core
        core.leaveEventsToSeats()
        let (one, two) = (try #require(core.seat()), try #require(core.seat()))
        for _ in 0..<2 {
            #expect(try await self.ask(core, one, "live_hold", hold)["type"]?.string == "held")
            try await self.ask(core, one, "live_start", named)
        }
        #expect(try await self.ask(core, two, "live_roster", named)["type"]?.string == "roster")
        one.leave()
        // It waits until the stream has ended.
        #expect(try await self.ask(core, two, "live_hold", hold)["type"]?.string == "held")
        #expect(try await self.ask(core, two, "live_roster", named).string == "notFound")
        two.leave()
        // A program must not end a thing that another one has opened.
        let three = try #require(core.seat())
        #expect(try await self.ask(core, three, "live_hold", hold)["type"]?.string == "held")
        three.leave()
        let (four, five) = (try #require(core.seat()), try #require(core.seat()))
        try await self.ask(core, four, "live_start", named)
        #expect(try await self.ask(core, five, "live_hold", hold).string == "busy")
        five.leave()
        #expect(try await self.ask(core, four, "live_roster", named)["type"]?.string == "roster")
        // Nobody would see it go.
        #expect(try await self.ask(core, five, "live_hold", hold).string == "unsupported")
        #expect(try await self.ask(core, nil, "live_hold", hold).string == "unsupported")
        // A stopped thing has no holder any more.
        try await self.ask(core, four, "live_stop", named)
        while try await self.ask(core, four, "live_roster", named).string != "notFound" { await Task.yield() }
        let (six, seven) = (try #require(core.seat()), try #require(core.seat()))
        #expect(try await self.ask(core, six, "live_hold", hold)["type"]?.string == "held")
        try await self.ask(core, six, "live_start", named)
        try await self.ask(core, six, "live_stop", named)
        #expect(try await self.ask(core, seven, "live_hold", hold)["type"]?.string == "held")
        try await self.ask(core, seven, "live_start", named)
        six.leave()
        #expect(try await self.ask(core, seven, "live_roster", named)["type"]?.string == "roster")
        await core.close()
    }

    /// A window that is loaded anew goes on with what it held, and so does one that takes its place.
    @Test func aProgramThatComesBackKeepsWhatItHeld() async throws {
        let ann = try await self.hosts.offline("ann")
        let id = try #require(
            try await ann.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]?["conversationId"]?
                .string)
        let named = #"{"conversationId":"\#(id)"}"#
        let core = ann.core
        core.leaveEventsToSeats()
        func seat(_ consumer: String, grace: Duration, takes: Bool = false) async throws -> CoreSeat {
            let seat = try #require(core.seat(grace: grace))
            _ = try await seat.subscribe(to: consumer, takes: takes)
            return seat
        }
        let one = try await seat("app", grace: .seconds(600))
        #expect(try await self.ask(core, one, "live_get").string == "notFound")
        let hold = #"{"conversationId":"\#(id)","as":"whisperer"}"#
        #expect(try await self.ask(core, one, "live_hold", hold)["type"]?.string == "held")
        try await self.ask(core, one, "live_start", named)
        one.leave()
        let other = try await seat("other", grace: .seconds(600))
        #expect(try await self.ask(core, other, "live_get").string == "notFound")
        #expect(try await self.ask(core, other, "live_get", named)["role"]?.string == "whisperer")
        let two = try await seat("app", grace: .seconds(600))
        #expect(try await self.ask(core, two, "live_get")["conversationId"]?.string == id)
        let three = try await seat("app", grace: .milliseconds(10), takes: true)
        #expect(try await self.ask(core, three, "live_get")["conversationId"]?.string == id)
        two.leave()
        #expect(try await self.ask(core, three, "live_get")["conversationId"]?.string == id)
        // It has gone for good.
        three.leave()
        while try await self.ask(core, other, "live_roster", named).string != "notFound" { await Task.yield() }
        let four = try await seat("app", grace: .zero)
        #expect(try await self.ask(core, four, "live_get").string == "notFound")
        await core.close()
    }

    /// The end of a stream whose program has gone does not end the stream that another program begins at once.
    @Test func theEndOfAProgramIsOverBeforeAnotherStreamBegins() async throws {
        let ann = try await self.hosts.offline("ann")
        let id = try #require(
            try await ann.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]?["conversationId"]?
                .string)
        let (named, hold) = (#"{"conversationId":"\#(id)"}"#, #"{"conversationId":"\#(id)","as":"whisperer"}"#)
        let core = ann.core
        core.leaveEventsToSeats()
        let two = try #require(core.seat())
        for isOpen in [false, true, false, true] {
            let one = try #require(core.seat())
            #expect(try await self.ask(core, one, "live_hold", hold)["type"]?.string == "held")
            if isOpen { try await self.ask(core, one, "live_start", named) }
            one.leave()
            try await self.ask(core, two, "live_start", named)
            for _ in 0..<20 {
                #expect(try await self.ask(core, two, "live_roster", named)["type"]?.string == "roster")
                await Task.yield()
            }
            try await self.ask(core, two, "live_stop", named)
            while try await self.ask(core, two, "live_roster", named).string != "notFound" { await Task.yield() }
        }
        await core.close()
    }

    /// Nor does it end a seat in a room that another program takes.
    @Test func aRoomIsLeftBeforeItIsEnteredAgain() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let id = try #require(UUIDText("0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e"))
        let create = #"room_create {"roomId":"\#(id)","participantsMax":3,"codeDigits":0}"#
        let link = try #require(try await ann.ask(create)["room"]?["link"]?.string)
        let core = bob.core
        core.leaveEventsToSeats()
        let (one, two) = (try #require(core.seat()), try #require(core.seat()))
        let holds = try core.opened().holds
        #expect(try await self.ask(core, one, "room_hold", #"{"roomId":"\#(id)"}"#)["type"]?.string == "held")
        #expect(holds.left(by: one.feed) == [.room(id)])
        let order = Mutex<[String]>([])
        async let answer = {
            let answer = try await self.answer(core, two, "room_join", #"{"link":"\#(link)"}"#)
            order.withLock { $0.append("entered") }
            return answer
        }()
        // Time enough for answers of the server, and less than the 5 s that a beginning waits.
        for _ in 0..<3 { try await ann.ask("room_list") }
        order.withLock { $0.append("left") }
        holds.release(.room(id), by: one.feed)
        #expect(try await answer["result"]?["type"]?.string == "room")
        #expect(order.withLock { $0 } == ["left", "entered"])
        for core in [ann.core, core] { await core.close() }
    }

    /// Its host ends it, for the host and for a guest.
    @Test func aRoomThatIsOverIsHeldByNobody() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let id = try #require(UUIDText("0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7f"))
        let named = #"{"roomId":"\#(id)"}"#
        for core in [ann.core, bob.core] { core.leaveEventsToSeats() }
        let (host, guest) = (try #require(ann.core.seat()), try #require(bob.core.seat()))
        #expect(try await self.ask(ann.core, host, "room_hold", named)["type"]?.string == "held")
        let made = try await self.answer(
            ann.core, host, "room_create", #"{"roomId":"\#(id)","participantsMax":3,"codeDigits":0}"#)
        let link = try #require(made["result"]?["room"]?["link"]?.string)
        #expect(try await self.ask(bob.core, guest, "room_hold", named)["type"]?.string == "held")
        _ = try await self.answer(bob.core, guest, "room_join", #"{"link":"\#(link)"}"#)
        let holds = (try ann.core.opened().holds, try bob.core.opened().holds)
        #expect(holds.0.things(of: host.feed) == [.room(id)] && holds.1.things(of: guest.feed) == [.room(id)])
        _ = try await self.answer(ann.core, host, "room_close", named)
        #expect(holds.0.things(of: host.feed).isEmpty)
        try await waitUntil("the guest's core knows", within: .seconds(30)) { holds.1.things(of: guest.feed).isEmpty }
        for core in [ann.core, bob.core] { await core.close() }
    }

    @Test func eachThingHasOneHolder() async {
        func feed() -> EventFeed { EventFeed { _ in [] } }
        let (holds, one, two) = (Holds(), feed(), feed())
        func thing(_ number: Int) -> Holds.Thing {
            .room(UUIDText("00000000-0000-4000-8000-0000000000\(number + 10)")!)
        }
        #expect(holds.claim(thing(0), for: one, until: .now()) == .granted)
        #expect(holds.claim(thing(0), for: one, until: .now()) == .granted)
        #expect(holds.claim(thing(0), for: two, until: .now()) == .taken)
        holds.release(thing(0), by: two)
        #expect(holds.claim(thing(0), for: two, until: .now()) == .taken)
        holds.release(thing(0), by: one)
        #expect(holds.claim(thing(0), for: two, until: .now()) == .granted)
        // Its end is asked for, and another one holds it before that has come.
        await holds.ending(thing(0)) {
            holds.release(thing(0), by: two)
            #expect(holds.claim(thing(0), for: one, until: .now()) == .granted)
        }
        #expect(holds.claim(thing(0), for: two, until: .now()) == .taken)
        await holds.ending(thing(0)) {}
        #expect(holds.claim(thing(0), for: two, until: .now()) == .granted)
        for number in 1..<CoreLimits.holdsMax {
            #expect(holds.claim(thing(number), for: one, until: .now()) == .granted)
        }
        #expect(holds.claim(thing(CoreLimits.holdsMax), for: one, until: .now()) == .tooMany)
        #expect(holds.claim(thing(1), for: one, until: .now()) == .granted)
        #expect(holds.things(of: two) == [thing(0)])
    }
}
