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

    /// The first attempts fail, and both write at once.
    @Test func aLostRaceIsMergedAndWrittenAgain() async throws {
        let (phone, tablet) = try await self.pair()
        try await self.alike(phone, tablet)
        for round in 1...3 {
            for host in [phone, tablet] {
                try await host.perform(#"favorite_set {"name":"round \#(round)","text":"x"}"#)
            }
            for host in [phone, tablet] { try await host.perform("disconnect") }
            for host in [phone, tablet] { try await host.online() }
        }
        try await self.alike(phone, tablet)
        #expect(try await phone.perform("favorite_list")["favorites"]?.elements.count == 6)
        await self.closed(phone, tablet)
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
        await self.closed(phone, tablet)
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
