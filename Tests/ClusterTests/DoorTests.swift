import LocalStack
import TestKit
import Testing

/// The door of registration, and how people hear of it (contract §20.6). No other test may register meanwhile.
@Suite(.serialized, .cluster()) struct DoorTests {
    @Test func somebodyNewComesInWithAnInvitationAndOnlyOnce() async throws {
        let folder = try TemporaryFolder(named: "doors")
        defer { folder.remove() }
        let (alice, bob, carol) = (Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "carol"))
        _ = try await carol.types("init", "--server", Typist.server)
        try await self.behind("invited") {
            let token = try #require(
                try await Operators.tool("invite", "--uses", "1").split(separator: "\n").first.map(String.init))
            let server = try await HTTPCall("GET", Cluster.stack.publicURL + "/server").answer()
            #expect(server.status == 200 && server.json["registration"]?.string == "invited", "\(server)")
            let needed = try await alice.types("init", "--server", Typist.server, fails: true)
            #expect(needed.contains("by invitation only") && !needed.contains("Can't reach"), "\(needed)")
            // The words are on the screen already, so the same identity is tried again.
            let words = try await alice.types("init", "--invitation", token)
            #expect(words.contains("Your Whisper ID is"), "\(words)")
            #expect(try await alice.types("id").contains("WSP-"))

            let link = "http://\(Typist.server.dropFirst("ws://".count))/invite#\(token)"
            let used = try await bob.types("init", "--invitation", link, fails: true)
            #expect(used.contains("unknown, expired, revoked or used up"), "\(used)")
            let again = try await bob.types("inbox")
            #expect(again.contains("used up") && !again.contains("Can't reach"), "\(again)")
            #expect(try await carol.types("init", "--invitation", token, fails: true).contains("exists already"))
        }
        try await self.behind("closed") {
            let closed = try await bob.types("inbox")
            #expect(closed.contains("takes nobody new"), "\(closed)")
            #expect(try await alice.types("inbox").contains("Nothing new."))
        }
    }

    /// A wrong address is not for ever: the same identity is tried again with another, until a server knows it.
    @Test func anIdentityOfAWrongAddressIsTriedAgain() async throws {
        let folder = try TemporaryFolder(named: "address")
        defer { folder.remove() }
        let alice = Typist(folder, "alice")
        let away = try await alice.types("init", "--server", "ws://127.0.0.1:\(LoopbackPort.free())")
        let likely = try #require(away.firstMatch(of: #/WSP-[A-Z0-9-]{14}/#)).0
        #expect(away.contains("whisper init --server ADDRESS"), "\(away)")
        let known = try await alice.types("init", "--server", Typist.server)
        #expect(known.contains("Your Whisper ID is \(likely)"), "\(known)")
        let taken = try await alice.types("init", "--server", Typist.server, fails: true)
        #expect(taken.contains("exists already"), "\(taken)")
    }

    private func behind(_ mode: String, _ body: () async throws -> Void) async throws {
        try await Operators.tool("registration", mode, "--reason", "a test")
        do {
            try await body()
        } catch {
            try await Operators.tool("registration", "default")
            throw error
        }
        try await Operators.tool("registration", "default")
    }
}
