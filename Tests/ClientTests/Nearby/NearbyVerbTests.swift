import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Phones nearby through the facade: two cores and a bare phone in one room, with a server in memory that goes away.
@Suite(.timeLimit(.minutes(20))) struct NearbyVerbTests {
    let folder: TemporaryFolder
    let server = FakeServer()
    let air = FakeAir()

    init() throws { self.folder = try TemporaryFolder() }

    private func host(_ name: String) async throws -> CoreHost {
        let air = self.air
        return try await CoreHost(name, in: self.folder, self.server, radio: { _ in air.phone(name) })
    }

    private func changed(_ change: String, title: String? = nil) -> (JSON) -> Bool {
        { $0["change"]?.string == change && (title == nil || $0["phone"]?["title"]?.string == title) }
    }

    private func text(_ text: String) -> (JSON) -> Bool { { $0["message"]?["text"]?.string == text } }
    private func state(_ state: String) -> (JSON) -> Bool { { $0["message"]?["state"]?.string == state } }

    @Test func twoCoresMeetWhileTheServerIsAwayAndGoOnByIt() async throws {
        let (ann, bob) = (try await self.host("ann"), try await self.host("bob"))
        #expect(try await ann.refusal("nearby_start") == "offline", "nobody has an id yet")
        for host in [ann, bob] { try await host.online() }
        let (annID, bobID) = (try await ann.id, try await bob.id)
        self.server.set { $0.isAway = true }
        self.server.breakConnections()
        let isAway: (JSON) -> Bool = { $0["state"]?.string == "away" }
        for host in [ann, bob] { try await host.next("connection", isAway) }

        #expect(try await ann.refusal(#"nearby_start {"title":"Ännchen von Thar"}"#) == "tooLong title")
        for (host, title) in [(ann, "Ann"), (bob, "Bob")] {
            try await host.perform(#"nearby_start {"title":"\#(title)"}"#)
            try await host.perform(#"nearby_start {"title":"\#(title)"}"#)
        }
        let found = try await ann.next("nearbyChanged", self.changed("found", title: "Bob"))
        #expect(found["phone"]?["whisperId"] == nil && found["phone"]?["isConnected"] == .bool(false))
        try await ann.perform(#"nearby_connect {"peer":"bob"}"#)
        let known = try await ann.next("nearbyChanged", self.changed("known"))
        #expect(known["phone"]?["whisperId"]?.string == bobID)
        try await bob.next("nearbyChanged", self.changed("known"))
        let list = try await ann.perform("nearby_list")
        #expect(list["radio"]?.string == "on" && list["title"]?.string == "Ann")
        #expect(list["phones"]?.elements.map { $0["whisperId"]?.string } == [bobID])

        // The keys that he has proven are pinned without a server.
        #expect(try await ann.ask(#"contact_add {"whisperId":"\#(bobID)","name":"Bob"}"#)["contact"] != nil)
        #expect(try await ann.refusal(#"nearby_send {"peer":"bob","text":"x"}"#) == "unsupported peer")
        try await ann.perform(#"message_send {"to":"\#(bobID)","text":"hello"}"#)
        try await bob.next("requestReceived") { $0["contact"]?["whisperId"]?.string == annID }
        try await bob.next("messageReceived", self.text("hello"))
        try await ann.next("messageChanged", self.state("delivered"))
        let latest = try await bob.perform("chat_list")["chats"]?.elements.first?["latest"]?["number"]?.integer ?? 0
        // A stranger is told nothing.
        try await bob.perform(#"request_accept {"whisperId":"\#(annID)"}"#)
        try await bob.perform(#"chat_read {"chat":"\#(annID)","upTo":\#(latest)}"#)
        try await ann.next("messageChanged", self.state("read"))
        try await bob.perform(#"message_send {"to":"\#(annID)","text":"hello back"}"#)
        try await ann.next("messageReceived", self.text("hello back"))
        try await bob.next("messageChanged", self.state("delivered"))

        // The radio goes, and the server comes: the rest goes by it.
        try await ann.perform("nearby_stop")
        try await ann.next("nearbyChanged", self.changed("disconnected"))
        #expect(try await ann.perform("nearby_list")["phones"]?.elements.count == 0)
        #expect(try await ann.refusal(#"nearby_connect {"peer":"bob"}"#) == "wrongStage")
        self.server.set { $0.isAway = false }
        try await ann.perform(#"message_send {"to":"\#(bobID)","text":"by the server"}"#)
        try await bob.next("messageReceived", self.text("by the server"))
        let chat = try await bob.perform(#"chat_get {"chat":"\#(annID)"}"#)["messages"]?.elements ?? []
        #expect(chat.compactMap { $0["text"]?.string } == ["hello", "hello back", "by the server"])
        #expect(self.server.accepted.count == 1)
        await ann.core.close()
        await bob.core.close()
    }

    @Test func aNewConnectionToTheServerLeavesUsShown() async throws {
        let (ann, bob) = (try await self.host("ann"), try await self.host("bob"))
        for host in [ann, bob] {
            try await host.online()
            try await host.perform("nearby_start")
        }
        try await bob.next("nearbyChanged", self.changed("found", title: "Whisper"))
        try await ann.perform("disconnect")
        #expect(try await ann.perform("nearby_list")["radio"]?.string == "on")
        try await ann.online()
        try await bob.next("nearbyChanged", self.changed("lost"))
        try await bob.next("nearbyChanged", self.changed("found", title: "Whisper"))
        #expect(try await ann.perform("nearby_list")["title"]?.string == "Whisper")
        try await bob.perform(#"nearby_start {"title":"Bob"}"#)
        try await ann.next("nearbyChanged", self.changed("found", title: "Bob"))
        await ann.core.close()
        try await bob.next("nearbyChanged", self.changed("lost"))
        await bob.core.close()
    }

    @Test func aBarePhoneGetsAndSendsPlainText() async throws {
        let ann = try await self.host("ann")
        try await ann.online()
        let bare = self.air.phone("bare", isBare: true)
        bare.start(title: "Blue")
        try await ann.perform(#"nearby_start {"title":"Ann"}"#)
        try await ann.next("nearbyChanged", self.changed("found", title: "Blue"))
        #expect(try await ann.refusal(#"nearby_send {"peer":"nobody","text":"x"}"#) == "notFound peer")
        #expect(try await ann.refusal(#"nearby_send {"peer":"bare","text":"x"}"#) == "wrongStage peer")
        try await ann.perform(#"nearby_connect {"peer":"bare"}"#)
        try await ann.next("nearbyChanged", self.changed("connected", title: "Blue"))
        let number = try await ann.perform(#"nearby_send {"peer":"bare","text":"hello"}"#)["number"]
        let sent = try await ann.next("nearbySent") { $0["number"] == number }
        #expect(sent["arrived"] == .bool(true))
        bare.send(.text("hi"), to: NearbyPeer(name: "ann"), token: 1)
        let text = try await ann.next("nearbyText")
        #expect(text["text"]?.string == "hi" && text["title"]?.string == "Blue" && text["peer"]?.string == "bare")
        try await ann.perform(#"nearby_disconnect {"peer":"bare"}"#)
        let over = try await ann.next("nearbyChanged", self.changed("disconnected"))
        #expect(over["reason"]?.string == "closed")
        #expect(try await ann.perform("chat_list")["chats"]?.elements.count == 0)
        await ann.core.close()
    }

    @Test func withoutARadioThereIsNothingNearby() async throws {
        let ann = try await CoreHost("ann", in: self.folder, self.server)
        try await ann.online()
        #expect(try await ann.refusal("nearby_start") == "unsupported")
        #expect(try await ann.perform("nearby_list")["radio"]?.string == "off")
        try await ann.perform("nearby_stop")
        await ann.core.close()
        func configuration(_ radio: String) throws -> CoreConfiguration {
            try CoreConfiguration(json: Array(#"{"dir":"/x","serverUrl":"ws://127.0.0.1:1","radio":"\#(radio)"}"#.utf8))
        }
        #expect(try configuration("unix:/run/radio").radio == "unix:/run/radio")
        for radio in ["unix:", "/run/radio"] {
            #expect(throws: CoreError(.config, "must look like unix:/run/radio.sock", field: "radio")) {
                try configuration(radio)
            }
        }
    }
}
