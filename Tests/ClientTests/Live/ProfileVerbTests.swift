import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Profiles of several devices as verbs, against a server in memory (contract §14.4).
@Suite(.timeLimit(.minutes(2))) struct ProfileVerbTests {
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
        #expect(
            seen?["documents"]?[0]?["name"]?.string == "whisper" && seen?["documents"]?[0]?["version"]?.integer == 3)
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

    @Test func withoutAServerNothingIsShared() async throws {
        let ann = try await self.hosts.offline("ann")
        for verb in [
            "profile_share", "profile_get", "profile_leave", #"profile_remove {"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"profile_join {"link":"\#(Shapes.sampleProfileLink)"}"#,
        ] {
            #expect(try await ann.refusalOfServer(verb) == "offline", "\(verb)")
        }
        await ann.core.close()
    }
}
