import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Profiles of several devices as verbs, against a server in memory (contract §14.4).
@Suite(.timeLimit(.minutes(20))) struct ProfileVerbTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    private func members(_ profile: JSON?) -> [String] {
        (profile?["members"]?.elements ?? []).compactMap { $0["whisperId"]?.string }
    }

    @Test func devicesJoinAProfileAndLeaveIt() async throws {
        let (phone, tablet) = (try await self.hosts.online("phone"), try await self.hosts.online("tablet"))
        let (phoneID, tabletID) = (try await phone.id, try await tablet.id)
        #expect(try await phone.refusalOfServer("profile_get") == "notFound")
        let shared = try await phone.ask("profile_share")["profile"]
        #expect(self.members(shared) == [phoneID])
        let link = try #require(shared?["link"]?.string)
        #expect(link == "whisper://profile/\(shared?["profileId"]?.string ?? "")#\(link.suffix(43))")
        // With another secret, or somewhere else, nobody joins.
        let other = String(link.dropLast(43)) + String(repeating: "A", count: 43)
        #expect(try await tablet.refusalOfServer(#"profile_join {"link":"\#(other)"}"#) == "forbidden")
        for broken in ["x", String(link.dropLast()), link.replacing("whisper", with: "https"), link + "#"] {
            #expect(try await tablet.refusalOfServer(#"profile_join {"link":"\#(broken)"}"#) == "invalidField link")
        }

        let join = #"profile_join {"link":"\#(link)"}"#
        try await tablet.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)
        #expect(try await tablet.refusalOfServer(join) == "inUse")
        #expect(try await tablet.refusalOfServer("profile_leave") == "inUse")
        let third = try await self.hosts.online("laptop")
        let thirdID = try await third.id
        for _ in 1...2 {
            let joined = try await third.ask(join)["profile"]
            #expect(joined?["link"]?.string == link && self.members(joined) == [phoneID, thirdID])
        }
        let seen = try await phone.ask("profile_get")["profile"]
        #expect(self.members(seen) == [phoneID, thirdID])
        #expect(try await phone.refusalOfServer(#"profile_remove {"whisperId":"\#(phoneID)"}"#) == "toSelf whisperId")
        try await phone.ask(#"profile_remove {"whisperId":"\#(tabletID)"}"#)
        try await third.ask("profile_leave")
        #expect(self.members(try await phone.ask("profile_get")["profile"]) == [phoneID])
        // Another profile is drawn.
        #expect(try await third.refusalOfServer("profile_get") == "notFound")
        let drawn = try await third.ask("profile_share")["profile"]
        #expect(drawn?["link"]?.string != link && self.members(drawn) == [thirdID])
        for host in [phone, tablet, third] { await host.core.close() }
    }

    @Test func theOthersHearWhatADeviceHasChanged() async throws {
        let (phone, tablet) = try await self.pair()
        let id = try #require(try await phone.ask("profile_get")["profile"]?["profileId"]?.string)
        let joined = try await phone.next("profileChanged")
        #expect(joined["profileId"]?.string == id && joined["change"]?.string == "members" && joined["name"] == nil)
        try await tablet.ask(#"profile_write {"name":"settings","version":0,"content":"dark"}"#)
        let written = try await phone.next("profileChanged")
        #expect(written["change"]?.string == "document" && written["name"]?.string == "settings")
        #expect(written["version"]?.integer == 1)
        // It does not say so of profiles that are not ours.
        let stranger = try await self.hosts.online("stranger")
        self.hosts.server.tell(
            "profile_changed", #"{"profileId":"\#(id)","change":"members"}"#, to: try await stranger.id)
        try await stranger.ask("profile_share")
        #expect(!stranger.hasSeen("profileChanged"))
        try await tablet.ask("profile_leave")
        #expect(try await phone.next("profileChanged")["change"]?.string == "members")
        for host in [phone, tablet, stranger] { await host.core.close() }
    }

    @Test func devicesLeaveDocumentsForEachOther() async throws {
        let (phone, tablet) = try await self.pair()
        let read = #"profile_read {"name":"favorites"}"#
        func write(_ version: Int, _ content: String) -> String {
            #"profile_write {"name":"favorites","version":\#(version),"content":"\#(content)"}"#
        }
        #expect(try await phone.refusalOfServer(read) == "notFound")
        #expect(try await phone.ask(write(0, "first"))["version"]?.integer == 1)
        // It was not read here.
        #expect(try await tablet.refusalOfServer(write(0, "blind")) == "changed")
        #expect(try await tablet.refusalOfServer(write(1, "blind")) == "changed")
        let first = try await tablet.ask(read)
        #expect(first["content"]?.string == "first" && first["version"]?.integer == 1)
        #expect(try await tablet.ask(write(1, "second"))["version"]?.integer == 2)
        // Another device was faster.
        #expect(try await phone.refusalOfServer(write(1, "late")) == "changed")
        #expect(try await phone.ask(read)["content"]?.string == "second")
        #expect(try await phone.ask(write(2, "third"))["version"]?.integer == 3)
        let seen = try await tablet.ask("profile_get")["profile"]?["documents"]
        #expect(seen?[0]?["name"]?.string == "favorites" && seen?[0]?["version"]?.integer == 3)
        for host in [phone, tablet] { await host.core.close() }
    }

    /// As long as the server keeps them, however a host escapes them.
    @Test func aDocumentMayBeAsLongAsTheServerKeepsIt() async throws {
        let (phone, tablet) = try await self.pair()
        func written(_ content: String, over version: Int) -> String {
            #"profile_write {"name":"user","version":\#(version),"content":"\#(content)"}"#
        }
        // Counter and tag, and what stands around the content.
        let room =
            Limits.profileDocumentBytesMax - 16 - #"{"content":"","counter":}"#.utf8.count - "\(Int64.max)".utf8.count
        let longest = String(repeating: "x", count: room)
        try await phone.ask(written(longest, over: 0))
        #expect(try await tablet.ask(#"profile_read {"name":"user"}"#)["content"]?.string == longest)
        #expect(try await tablet.refusalOfServer(written(longest + "x", over: 1)) == "tooLong")
        let quotes = String(repeating: #"\""#, count: room / 2)
        try await tablet.ask(written(quotes, over: 1))
        #expect(try await phone.ask(#"profile_read {"name":"user"}"#)["content"]?.string?.count == room / 2)
        // Beyond what the server would keep, no command is read.
        let most = String(repeating: "x", count: Limits.profileDocumentBytesMax + 1)
        #expect(try await phone.refusal(written(most, over: 2)) == "invalidField content")
        for host in [phone, tablet] { await host.core.close() }
    }

    /// The server reads no longer body (`AuthLimits.profileDocumentBodyBytesMax`).
    @Test func theLargestDocumentIsNoLongerThanItsBase64() {
        let sealed = SealedBytes(
            nonce: [UInt8](repeating: 0xFF, count: LiveLimits.nonceBytes),
            ciphertext: [UInt8](repeating: 0xFF, count: Limits.profileDocumentBytesMax))
        let base64 = (Limits.profileDocumentBytesMax + 2) / 3 * 4
        #expect(DocumentBody.encode(sealed).count <= base64 + 4_096)
    }

    @Test func aCommandHoldsTheLargestDocument() {
        let frame = #"profile_write {"name":"favorites","version":9223372036854775807,"content":""}"#.utf8.count
        let base64 = (Limits.profileDocumentBytesMax + 2) / 3 * 4
        #expect(CoreLimits.commandBytesMax >= base64 + frame)
        #expect(CoreLimits.commandBytesMax >= 2 * Limits.profileDocumentBytesMax)
        #expect(CoreLimits.textBytesMax < CoreLimits.commandBytesMax)
    }

    /// The server can neither read documents, nor give out earlier ones, nor one for another.
    @Test func theServerCannotGoBack() async throws {
        let (phone, tablet) = try await self.pair()
        let id = try #require(try await phone.ask("profile_get")["profile"]?["profileId"]?.string)
        let read = #"profile_read {"name":"user"}"#
        for version in 0...1 {
            try await phone.ask(#"profile_write {"name":"user","version":\#(version),"content":"name \#(version)"}"#)
        }
        try await tablet.ask(read)
        for version in [3, 2, 1] {
            self.hosts.server.profiles.giveOut(0, as: version, of: "user", in: id)
            for host in [phone, tablet] { #expect(try await host.refusalOfServer(read) == "outdated") }
        }
        // It is not written over.
        for version in [1, 2, 3] {
            let write = #"profile_write {"name":"user","version":\#(version),"content":"x"}"#
            #expect(try await tablet.refusalOfServer(write) == "changed")
        }
        self.hosts.server.profiles.giveOut(1, as: 2, of: "user", in: id)
        #expect(try await tablet.ask(read)["content"]?.string == "name 1")
        self.hosts.server.profiles.copy("user", as: "listen", in: id)
        #expect(try await phone.refusalOfServer(#"profile_read {"name":"listen"}"#) == "unreadable")
        for host in [phone, tablet] { await host.core.close() }
    }

    /// A removed device neither joins again nor reads. Another device does when it has the new link.
    @Test func aRenewedProfileIsClosedToWhoeverWasTakenOut() async throws {
        let (phone, tablet) = try await self.pair()
        let lost = try await self.hosts.online("lost")
        let join = #"profile_join {"link":"\#(try await self.link(of: phone))"}"#
        try await lost.ask(join)
        let read = #"profile_read {"name":"user"}"#
        try await phone.ask(#"profile_write {"name":"user","version":0,"content":"ann"}"#)
        try await lost.ask(read)
        // The answer to the document's writing is lost, twice. The secret stays the same.
        self.hosts.server.profiles.refuseWritings(2)
        let removed = try await phone.ask(#"profile_remove {"whisperId":"\#(try await lost.id)"}"#)
        #expect(removed["whisperId"] != nil && removed["link"] == nil)
        #expect(try await lost.refusalOfServer(join) == "forbidden")
        #expect(try await phone.refusalOfServer("profile_renew") == "server")
        #expect(try await phone.ask(read)["content"]?.string == "ann")
        let renewed = try await phone.ask("profile_renew")["profile"]
        let link = try #require(renewed?["link"]?.string)
        #expect(try await lost.refusalOfServer(join) == "forbidden")
        #expect(try await self.link(of: phone) == link && !join.contains(link))

        #expect(try await tablet.refusalOfServer(read) == "unreadable")
        // Nor does it open again by a device that has not heard of the new link.
        try await tablet.ask("profile_share")
        #expect(try await lost.refusalOfServer(join) == "forbidden")
        try await tablet.ask(#"profile_join {"link":"\#(link)"}"#)
        let seen = try await tablet.ask(read)
        #expect(seen["content"]?.string == "ann" && seen["version"]?.integer == 2)
        try await tablet.ask(#"profile_write {"name":"user","version":2,"content":"anna"}"#)
        #expect(try await phone.ask(read)["content"]?.string == "anna")
        for host in [phone, tablet, lost] { await host.core.close() }
    }

    /// Without a further verb: the removed device neither joins by the link that it knows nor opens what is there.
    @Test func aRemovedDeviceCannotJoinAgain() async throws {
        let (phone, tablet) = try await self.pair()
        let link = try await self.link(of: phone)
        try await phone.ask(#"profile_write {"name":"user","version":0,"content":"ann"}"#)
        let removed = try await phone.ask(#"profile_remove {"whisperId":"\#(try await tablet.id)"}"#)
        #expect(try await tablet.refusalOfServer(#"profile_join {"link":"\#(link)"}"#) == "forbidden")
        let renewed = try #require(removed["link"]?.string)
        #expect(try await self.link(of: phone) == renewed && renewed != link)
        try await tablet.ask(#"profile_join {"link":"\#(renewed)"}"#)
        #expect(try await tablet.ask(#"profile_read {"name":"user"}"#)["content"]?.string == "ann")
        for host in [phone, tablet] { await host.core.close() }
    }

    private func link(of host: CoreHost) async throws -> String {
        try #require(try await host.ask("profile_get")["profile"]?["link"]?.string)
    }

    /// Two devices of one profile.
    private func pair() async throws -> (CoreHost, CoreHost) {
        let (phone, tablet) = (try await self.hosts.online("phone"), try await self.hosts.online("tablet"))
        // The documents are these hosts' own.
        for host in [phone, tablet] { try await host.perform(#"settings_set {"profiles":"host"}"#) }
        let link = try #require(try await phone.ask("profile_share")["profile"]?["link"]?.string)
        try await tablet.ask(#"profile_join {"link":"\#(link)"}"#)
        return (phone, tablet)
    }

    @Test func withoutAServerNothingIsShared() async throws {
        let ann = try await self.hosts.offline("ann")
        try await ann.perform(#"settings_set {"profiles":"host"}"#)
        for verb in [
            "profile_share", "profile_get", "profile_leave", #"profile_read {"name":"user"}"#,
            #"profile_write {"name":"user","version":0,"content":""}"#,
            #"profile_remove {"whisperId":"WSP-AAAA-AAAA-AAAA"}"#, #"profile_repair {"name":"user"}"#,
            #"profile_join {"link":"\#(Shapes.sampleProfileLink)"}"#,
        ] {
            #expect(try await ann.refusalOfServer(verb) == "offline", "\(verb)")
        }
        await ann.core.close()
    }
}
