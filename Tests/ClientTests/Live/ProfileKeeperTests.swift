import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Profiles that fill themselves: two devices of one person, and a server in memory.
@Suite(.timeLimit(.minutes(20))) struct ProfileKeeperTests {
    let hosts: CoreHosts
    private var profiles: FakeProfiles { self.hosts.server.profiles }

    init() throws { self.hosts = try CoreHosts() }

    /// A device whose client keeps the documents.
    private func online(_ name: String) async throws -> CoreHost {
        let host = try await self.hosts.online(name)
        try await host.perform(#"settings_set {"profiles":"core"}"#)
        return host
    }

    /// Two devices of one profile.
    private func pair() async throws -> (CoreHost, CoreHost) {
        let (phone, tablet) = (try await self.online("phone"), try await self.online("tablet"))
        try await self.join(tablet, to: phone)
        return (phone, tablet)
    }

    private func join(_ tablet: CoreHost, to phone: CoreHost) async throws {
        let link = try #require(try await phone.ask("profile_share")["profile"]?["link"]?.string)
        try await tablet.ask(#"profile_join {"link":"\#(link)"}"#)
    }

    private func profile(of host: CoreHost) async throws -> String {
        try #require(try await host.ask("profile_get")["profile"]?["profileId"]?.string)
    }

    /// Everything that devices of a profile have in common.
    private func known(by host: CoreHost) async throws -> String {
        let known = try await host.perform("live_known")
        let own = (known["own"]?.elements ?? []).map(\.text).sorted()
        let heard = (known["heard"]?.elements ?? []).map(\.text).sorted()
        let favorites = try await host.perform("favorite_list")["favorites"]?.text ?? ""
        let name = try await host.perform("user_set")["username"]?.string ?? ""
        return "\(own) \(heard) \(known["defaultId"]?.string ?? "") \(favorites) \(name)"
    }

    /// Waits until both devices owe nothing and are alike.
    private func alike(_ one: CoreHost, _ other: CoreHost) async throws {
        var (mine, theirs) = ("", "")
        for _ in 0..<2_000 {
            (mine, theirs) = (try await self.known(by: one), try await self.known(by: other))
            var owed = 0
            for host in [one, other] { owed += try await host.perform("profile_status")["owed"]?.elements.count ?? 0 }
            if mine == theirs, owed == 0 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("\(mine)\n\(theirs)")
    }

    private func closed(_ hosts: CoreHost...) async { for host in hosts { await host.core.close() } }

    @Test func aConversationOfOneDeviceIsOnTheOther() async throws {
        let (phone, tablet) = try await self.pair()
        let talk = try await phone.perform(#"live_create {"name":"talk","whisperer":"Ann","passcode":"open"}"#)[
            "conversation"]
        let id = try #require(talk?["conversationId"]?.string)
        // Two devices of different speed: the second may hear of the drawn default first.
        while true {
            try await tablet.next("conversationsChanged")
            let known = try await tablet.perform("live_known")
            guard let mine = known["own"]?.elements.first(where: { $0["conversationId"]?.string == id }) else {
                continue
            }
            #expect(mine == talk)
            break
        }
        try await phone.perform(#"user_set {"username":"Ann","device":"phone"}"#)
        try await tablet.perform(#"live_default {"conversationId":"\#(id)"}"#)
        let favorite = try await tablet.perform(#"favorite_set {"name":"hello","text":"Hello?"}"#)["favorite"]
        try await self.alike(phone, tablet)
        #expect(try await phone.perform("live_default")["conversation"]?["conversationId"]?.string == id)
        #expect(try await phone.perform("favorite_list")["favorites"]?[0] == favorite)
        #expect(try await tablet.perform("user_set")["username"]?.string == "Ann")
        #expect(
            try await tablet.refusalOfServer(#"profile_write {"name":"user","version":0,"content":""}"#) == "managed")
        let status = try await phone.perform("profile_status")
        #expect(status["isShared"] == .bool(true) && status["isStale"] == .bool(false))
        #expect(status["members"]?.elements.count == 2)
        await self.closed(phone, tablet)
    }

    /// Both change while they are away; the later change of one thing wins, and nothing else is lost.
    @Test func bothChangeOfflineAndEndAlike() async throws {
        let (phone, tablet) = try await self.pair()
        let id = try #require(
            try await phone.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]?[
                "conversationId"]?
                .string)
        try await self.alike(phone, tablet)
        for host in [phone, tablet] { try await host.perform("disconnect") }
        // Kept here, whatever the server says.
        for (host, title) in [(phone, "Phone"), (tablet, "Tablet")] {
            #expect(
                try await host.refusalOfServer(#"live_update {"conversationId":"\#(id)","title":"\#(title)"}"#)
                    == "offline")
            try await host.perform(#"live_create {"name":"news","whisperer":"\#(title)"}"#)
            try await host.perform(#"favorite_set {"name":"\#(title)","text":"from \#(title)"}"#)
            try await host.perform(#"user_set {"username":"\#(title)"}"#)
        }
        for host in [phone, tablet] { try await host.online() }
        try await self.alike(phone, tablet)
        let own = try await phone.perform("live_known")["own"]?.elements ?? []
        // Which one wins is said by the server's clock, and this server's stands still.
        let title = own.first { $0["conversationId"]?.string == id }?["title"]?.string
        #expect(["Phone", "Tablet"].contains(title))
        #expect(
            own.filter { $0["name"]?.string?.hasPrefix("news") == true }.compactMap { $0["name"]?.string }.sorted()
                == ["news", "news 2"])
        #expect(try await phone.perform("favorite_list")["favorites"]?.elements.count == 2)
        await self.closed(phone, tablet)
    }

    /// A change right before the end is written before it; one that was not is written by the next process.
    @Test func whatIsOwedIsWrittenAtTheEndOrAfterACrash() async throws {
        let (phone, tablet) = try await self.pair()
        try await self.alike(phone, tablet)
        try await phone.perform(#"favorite_set {"name":"last","text":"word"}"#)
        try await phone.core.suspend()
        while try await tablet.perform("favorite_list")["favorites"]?.elements.count != 1 {
            try await tablet.next("favoritesChanged")
        }
        try await phone.core.resume()
        try await phone.perform(#"favorite_set {"name":"offline","text":"word"}"#)
        #expect(try await phone.perform("profile_status")["owed"]?.elements == [.string("favorites")])
        try await phone.core.suspend()
        try await phone.core.resume()
        try await phone.online()
        while try await tablet.perform("favorite_list")["favorites"]?.elements.count != 2 {
            try await tablet.next("favoritesChanged")
        }
        await self.closed(phone, tablet)
    }

    /// The tablet is not told what the phone has written, and writes: it loses, reads, merges and writes again.
    @Test func aLostRaceIsMergedAndWrittenAgain() async throws {
        let (phone, tablet) = try await self.pair()
        try await self.alike(phone, tablet)
        for round in 1...3 {
            for host in [phone, tablet] {
                try await host.perform("disconnect")
                try await host.perform(#"favorite_set {"name":"round \#(round)","text":"x"}"#)
            }
            try await phone.online()
            try await self.settled(phone, "favorites")
            self.profiles.hideDocuments(1)
            try await tablet.online()
            try await self.alike(phone, tablet)
            #expect(self.profiles.lostRaces >= round)
        }
        #expect(try await phone.perform("favorite_list")["favorites"]?.elements.count == 6)
        await self.closed(phone, tablet)
    }

    /// A profile that was never shared, and that only this device could share, is asked for once.
    @Test func nobodyAsksAgainForAProfileThatIsOnNoServer() async throws {
        let phone = try await self.online("phone")
        #expect(try await phone.refusalOfServer("profile_get") == "notFound")
        func reconnect() async throws {
            try await phone.perform("disconnect")
            try await phone.online()
        }
        try await reconnect()
        while self.profiles.looks < 2 { try await Task.sleep(for: .milliseconds(10)) }
        for _ in 0..<3 {
            try await reconnect()
            #expect(try await phone.refusalOfServer("profile_get") == "notFound")
        }
        #expect(self.profiles.looks == 5)
        // Once it was shared, each connection asks once.
        try await phone.ask("profile_share")
        try await self.settled(phone, "whisper")
        let looks = self.profiles.looks
        try await reconnect()
        while self.profiles.looks == looks { try await Task.sleep(for: .milliseconds(10)) }
        await self.closed(phone)
    }

    /// A host's text, and what a later release has written.
    @Test func whatIsNotUnderstoodIsNotWrittenOver() async throws {
        let phone = try await self.online("phone")
        try await phone.perform(#"settings_set {"profiles":"host"}"#)
        try await phone.ask("profile_share")
        try await phone.ask(#"profile_write {"name":"favorites","version":0,"content":"dark"}"#)
        let later = #"{\"version\":2,\"fields\":{\"username\":{\"v\":\"Ann\",\"t\":5,\"d\":\"A\"}},\"more\":true}"#
        try await phone.ask(#"profile_write {"name":"user","version":0,"content":"\#(later)"}"#)
        try await phone.perform(#"settings_set {"profiles":"core"}"#)
        for (name, isNewer) in [("favorites", false), ("user", true)] {
            let event = try await phone.next("profileForeign") { $0["name"]?.string == name }
            #expect(event["isNewer"] == .bool(isNewer))
        }
        #expect(try await phone.perform("user_set")["username"]?.string == "Ann")
        try await phone.perform(#"user_set {"username":"Anna"}"#)
        try await phone.perform(#"favorite_set {"name":"hello","text":"Hello?"}"#)
        // At once, and after another look.
        try await phone.perform("disconnect")
        try await phone.online()
        try await phone.next("profileForeign") { $0["name"]?.string == "favorites" }
        try await phone.perform("disconnect")
        try await phone.online()
        for (name, content) in [("favorites", "dark"), ("user", later.replacing(#"\""#, with: "\""))] {
            let document = try await phone.ask(#"profile_read {"name":"\#(name)"}"#)
            #expect(document["content"]?.string == content && document["version"]?.integer == 1)
        }
        // The person decides that it is. A later release's is not ours to decide about.
        try await phone.ask(#"profile_repair {"name":"favorites"}"#)
        try await self.settled(phone, "favorites")
        let document = try await phone.ask(#"profile_read {"name":"favorites"}"#)
        #expect(document["version"]?.integer == 2 && document["content"]?.string?.contains("Hello?") == true)
        #expect(try await phone.refusalOfServer(#"profile_repair {"name":"user"}"#) == "unsupported")
        await self.closed(phone)
    }

    /// A removed device, and one that is left without the new secret, say so. Nothing is deleted there.
    @Test func aDeviceWithoutTheProfileIsStale() async throws {
        let (phone, tablet) = try await self.pair()
        let laptop = try await self.online("laptop")
        try await self.join(laptop, to: phone)
        try await phone.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)
        for host in [tablet, laptop] { try await self.alike(phone, host) }
        let known = try await self.known(by: phone)
        func isStale(_ host: CoreHost) async throws -> Bool {
            try await host.perform("profile_status")["isStale"] == .bool(true)
        }
        let link = try await phone.ask("profile_renew")["profile"]?["link"]?.string ?? ""
        for host in [tablet, laptop] {
            while try await !isStale(host) { try await Task.sleep(for: .milliseconds(10)) }
        }
        try await tablet.ask(#"profile_join {"link":"\#(link)"}"#)
        for host in [phone, tablet] { #expect(try await !isStale(host)) }
        try await phone.ask(#"profile_remove {"whisperId":"\#(try await tablet.id)"}"#)
        // The server tells the members that are left. The tablet asks when it connects.
        try await tablet.perform("disconnect")
        try await tablet.online()
        while try await !isStale(tablet) { try await Task.sleep(for: .milliseconds(10)) }
        for host in [phone, tablet, laptop] { #expect(try await self.known(by: host) == known) }
        await self.closed(phone, tablet, laptop)
    }

    private func settled(_ host: CoreHost, _ name: String) async throws {
        while try await host.perform("profile_status")["owed"]?.elements.contains(.string(name)) == true {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// A host of before, which does not know that the core keeps the documents.
    @Test func aHostThatWritesDocumentsIsToldWhoDoes() async throws {
        let phone = try await self.online("phone")
        try await phone.ask("profile_share")
        let write = #"profile_write {"name":"settings","version":0,"content":"dark"}"#
        #expect(try await phone.refusalOfServer(write) == "managed")
        try await phone.perform(#"settings_set {"profiles":"host"}"#)
        #expect(try await phone.ask(write)["version"]?.integer == 1)
        try await phone.perform(#"favorite_set {"name":"hello","text":"Hello?"}"#)
        let id = try await self.profile(of: phone)
        try await phone.perform("disconnect")
        #expect(self.profiles.writings(of: "favorites", in: id) == 0)
        await self.closed(phone)
    }

    @Test func aDocumentThatGoesBackIsToldOfAndLeftAlone() async throws {
        let (phone, tablet) = try await self.pair()
        for name in ["one", "two"] {
            try await phone.perform(#"favorite_set {"name":"\#(name)","text":"x"}"#)
            try await phone.perform("disconnect")
            try await phone.online()
        }
        let id = try await self.profile(of: phone)
        #expect(self.profiles.writings(of: "favorites", in: id) == 2)
        try await phone.perform("disconnect")
        self.profiles.giveOut(0, as: 3, of: "favorites", in: id)
        try await phone.online()
        #expect(try await phone.next("profileRolledBack")["name"]?.string == "favorites")
        try await phone.perform(#"favorite_set {"name":"three","text":"x"}"#)
        try await phone.perform("disconnect")
        #expect(self.profiles.writings(of: "favorites", in: id) == 3)
        #expect(try await phone.perform("favorite_list")["favorites"]?.elements.count == 3)
        // It was a backup: the person decides so on one device, and all go on from there.
        try await phone.online()
        try await phone.ask(#"profile_repair {"name":"favorites"}"#)
        try await self.alike(phone, tablet)
        #expect(self.profiles.writings(of: "favorites", in: id) == 4)
        #expect(try await tablet.perform("favorite_list")["favorites"]?.elements.count == 3)
        try await tablet.perform(#"favorite_set {"name":"four","text":"x"}"#)
        try await self.alike(phone, tablet)
        await self.closed(phone, tablet)
    }

    /// The server has lost a document. Nothing is written until a person says so.
    @Test func aLostDocumentIsWrittenAgainWhenAPersonSaysSo() async throws {
        let phone = try await self.online("phone")
        try await phone.perform(#"favorite_set {"name":"one","text":"x"}"#)
        #expect(try await phone.refusalOfServer(#"profile_repair {"name":"favorites"}"#) == "notFound")
        try await phone.ask("profile_share")
        try await self.settled(phone, "favorites")
        let id = try await self.profile(of: phone)
        try await phone.perform("disconnect")
        self.profiles.lose("favorites", in: id)
        try await phone.online()
        try await phone.perform(#"favorite_set {"name":"two","text":"x"}"#)
        try await phone.next("profileRolledBack")
        try await phone.perform("disconnect")
        #expect(self.profiles.writings(of: "favorites", in: id) == 0)
        try await phone.online()
        try await phone.ask(#"profile_repair {"name":"favorites"}"#)
        try await self.settled(phone, "favorites")
        #expect(self.profiles.writings(of: "favorites", in: id) == 1)
        await self.closed(phone)
    }

    /// The server takes less than is here. A document that is shorter later goes without another connection.
    @Test func aDocumentWithoutRoomIsTriedAgainWhenItIsShorter() async throws {
        let (phone, tablet) = try await self.pair()
        try await self.alike(phone, tablet)
        self.profiles.take(bytesMax: 4_000)
        let text = String(repeating: "x", count: ProfileLimits.favoriteBytesMax)
        var ids: [String] = []
        for name in ["one", "two"] {
            let kept = try await phone.perform(#"favorite_set {"name":"\#(name)","text":"\#(text)"}"#)
            ids.append(try #require(kept["favorite"]?["id"]?.string))
        }
        #expect(try await phone.next("profileFull")["name"]?.string == "favorites")
        #expect(try await phone.perform("profile_status")["owed"]?.elements.contains(.string("favorites")) == true)
        try await phone.perform(#"favorite_remove {"id":"\#(ids[0])"}"#)
        try await self.alike(phone, tablet)
        #expect(try await tablet.perform("favorite_list")["favorites"]?.elements.count == 1)
        await self.closed(phone, tablet)
    }

    /// The oldest listeners stay on their device. A block reaches the others, however old it is.
    @Test func aDocumentThatIsTooLongLosesItsOldestListeners() async throws {
        let (phone, tablet) = try await self.pair()
        let talk = try await phone.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]
        let id = try #require(talk?["conversationId"]?.string.flatMap { ConversationID($0) })
        try await self.alike(phone, tablet)
        self.profiles.take(bytesMax: 4_000)
        let guests = (UInt8(0)..<20).map { GuestKeys(secret: SecretBytes([UInt8](repeating: $0, count: 64))) }
        let live = try phone.core.opened().live
        for (number, guest) in guests.enumerated() {
            let time = Timestamp(milliseconds: Int64(number))
            let listener = KnownListener(
                id: .guest(guest.id), keys: guest.pair.publicKeys, name: "Guest",
                verdict: number == 0 ? .blocked : .allowed,
                decidedAt: time, generation: 1)
            try live.set(listener, of: id, at: time)
        }
        try await phone.core.opened().with { $0.profileKeeper.changed($0) }
        #expect(try await phone.next("profileFull")["name"]?.string == "whisper")
        try await self.settled(phone, "whisper")
        let other = try tablet.core.opened().live
        while try other.listeners(of: id).isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        for host in [tablet, phone] { try await self.settled(host, "whisper") }
        let seen = try other.listeners(of: id)
        #expect(seen.contains { $0.id == .guest(guests[0].id) && $0.verdict == .blocked })
        #expect(seen.contains { $0.id == .guest(guests[19].id) } && !seen.contains { $0.id == .guest(guests[1].id) })
        await self.closed(phone, tablet)
    }

    @Test func favoritesHaveABound() async throws {
        let phone = try await self.hosts.offline("phone")
        for number in 0..<ProfileLimits.favoritesMax {
            try await phone.perform(#"favorite_set {"name":"\#(number)","text":"x"}"#)
        }
        #expect(try await phone.refusal(#"favorite_set {"name":"more","text":"x"}"#) == "tooMany")
        let first = try await phone.perform("favorite_list")["favorites"]?[0]?["id"]?.string ?? ""
        try await phone.perform(#"favorite_set {"id":"\#(first)","name":"first","text":"x"}"#)
        try await phone.perform(#"favorite_remove {"id":"\#(first)"}"#)
        try await phone.perform(#"favorite_set {"name":"more","text":"x"}"#)
        await self.closed(phone)
    }

    /// A device that has the default conversation from a profile alone may join another one.
    @Test func aDeviceThatOnlyReceivedConversationsJoinsAnotherProfile() async throws {
        let (phone, tablet) = try await self.pair()
        try await phone.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)
        try await self.alike(phone, tablet)
        #expect(try await tablet.perform("live_known")["own"]?.elements.count == 2)
        let laptop = try await self.online("laptop")
        try await laptop.perform(#"live_create {"name":"news","whisperer":"Bob"}"#)
        try await self.join(tablet, to: laptop)
        try await self.alike(laptop, tablet)
        let names = (try await tablet.perform("live_known")["own"]?.elements ?? []).compactMap { $0["name"]?.string }
        #expect(names == ["news"])
        #expect(try await phone.perform("live_known")["own"]?.elements.count == 2)
        await self.closed(phone, tablet, laptop)
    }

    /// A default conversation is there without being asked for, and forbids no joining until somebody has used it.
    @Test func theDefaultConversationIsTheProfiles() async throws {
        let (phone, tablet) = (try await self.online("phone"), try await self.online("tablet"))
        func standard(_ host: CoreHost) async throws -> String {
            try #require(try await host.perform("live_default")["conversation"]?["conversationId"]?.string)
        }
        let (first, second) = (try await standard(phone), try await standard(tablet))
        #expect(first != second)
        try await self.join(tablet, to: phone)
        try await tablet.next("conversationsChanged")
        #expect(try await standard(tablet) == first)
        #expect(try await tablet.perform("live_known")["own"]?.elements.count == 1)
        let started = try await tablet.perform("live_start")
        #expect(started["conversationId"]?.string == first)
        #expect(try await tablet.perform("live_known")["lastId"]?.string == first)
        #expect(try await phone.refusal(#"live_default {"conversationId":"\#(second)"}"#) == "notFound")
        // A third device that has whispered does not give its conversation up.
        let laptop = try await self.online("laptop")
        try await laptop.perform("live_start")
        let link = try #require(try await phone.ask("profile_get")["profile"]?["link"]?.string)
        #expect(try await laptop.refusalOfServer(#"profile_join {"link":"\#(link)"}"#) == "inUse")
        // A device that leaves has its conversations no more; the others do.
        try await self.alike(phone, tablet)
        try await phone.ask("profile_leave")
        #expect(try await standard(phone) != first)
        #expect(try await standard(tablet) == first)
        #expect(try await tablet.refusalOfServer("profile_leave") == "inUse")
        await self.closed(phone, tablet, laptop)
    }

    /// Nobody has asked for another device.
    @Test func withoutASecondDeviceNothingIsWritten() async throws {
        let phone = try await self.online("phone")
        try await phone.perform("live_start")
        try await phone.next("liveStarted")
        let profile = try await self.profile(of: phone)
        try await phone.perform("disconnect")
        #expect(self.profiles.writings(of: "whisper", in: profile) == 0)
        try await phone.online()
        try await phone.ask("profile_share")
        while try await !(phone.perform("profile_status")["owed"]?.elements ?? []).isEmpty {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(self.profiles.writings(of: "whisper", in: profile) == 1)
        await self.closed(phone)
    }
}
