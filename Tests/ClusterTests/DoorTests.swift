import Contract
import LocalStack
import TestKit
import Testing

/// The door of registration, and how people hear of it (contract §20.6). No other test may register meanwhile.
@Suite(
    .serialized,
    .cluster {
        $0.environment[.auth] = ["INACTIVE_DAYS": "90", "INVITATIONS_PER_DAY": "2", "INVITATIONS_KEEP": "true"]
    })
struct DoorTests {
    @Test func somebodyNewComesInWithAnInvitationAndOnlyOnce() async throws {
        let folder = try TemporaryFolder(named: "doors")
        defer { folder.remove() }
        let (alice, bob, carol) = (Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "carol"))
        _ = try await carol.types("init", "--server", Typist.server)
        try await self.behind("invited") {
            let lines = try await Operators.tool("invite", "--uses", "1", "--host", "chat.example.org:8443")
                .split(separator: "\n").map(String.init)
            let token = try #require(lines.first)
            #expect(lines.contains { $0.hasSuffix("https://chat.example.org:8443/invite#\(token)") }, "\(lines)")
            #expect(lines.contains { $0.hasSuffix("'whisper://invite/chat.example.org:8443#\(token)'") }, "\(lines)")
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

    @Test func aServerThatHasMovedIsFoundByTheSameIdentity() async throws {
        let folder = try TemporaryFolder(named: "moved")
        defer { folder.remove() }
        let alice = Typist(folder, "alice")
        _ = try await alice.types("init", "--server", Typist.server)
        let id = try await alice.types("id")
        #expect(try await alice.types("server").contains(Typist.server))
        let moved = Typist.server.replacing("127.0.0.1", with: "localhost")
        #expect(try await alice.types("server", "--server", moved).contains("You are online there."))
        #expect(try await alice.types("server").contains(moved))
        #expect(try await alice.types("id") == id)
        #expect(try await alice.types("inbox").contains("Nothing new."))
        // A text that is no address changes nothing. An address at which nobody answers is kept, and can be changed again.
        let wrong = try await alice.types("server", "--server", "chat.example", fails: true)
        #expect(wrong.contains("is no server address"), "\(wrong)")
        let nobody = "ws://127.0.0.1:\(LoopbackPort.free())"
        let away = try await alice.types("server", "--server", nobody, fails: true)
        #expect(away.contains("It was \(moved)."), "\(away)")
        #expect(try await alice.types("server", "--server", Typist.server).contains("You are online there."))
    }

    @Test func aPersonInvitesAnotherAndRevokesTheNext() async throws {
        let folder = try TemporaryFolder(named: "inviting")
        defer { folder.remove() }
        let (alice, bob, carol) = (Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "carol"))
        _ = try await alice.types("init", "--server", Typist.server)
        func invite() async throws -> String {
            let lines = try await alice.types("invite", "--days", "1", "--web", "--name", "Al").split(separator: "\n")
            return String(try #require(lines.first { $0.contains("/invite#") }))
        }
        try await self.behind("invited") {
            let words = try await bob.types("init", "--invitation", try await invite())
            #expect(words.contains("Your Whisper ID is"), "\(words)")
            // He finds who invited him.
            let add = try #require(words.firstMatch(of: #/Al \(WSP[^)]*\) invited you.*\nwhisper add '([^']+)'/#)).1
            _ = try await bob.types("add", String(add), "alice")
            #expect(try await bob.types("contacts").contains("alice"))
            let second = try await invite()
            #expect(try await bob.types("uninvite", second).contains("Nobody can register"))
            let refused = try await carol.types("init", "--invitation", second, fails: true)
            #expect(refused.contains("unknown, expired, revoked or used up"), "\(refused)")
            let third = try await alice.types("invite", fails: true)
            #expect(third.contains("as many invitations as the server allows"), "\(third)")
            let listed = try await Operators.tool("invitations")
            #expect(listed.contains("made by a person"), "\(listed)")
        }
        let server = try await HTTPCall("GET", Cluster.stack.publicURL + "/server").answer()
        #expect(server.json["invitationsKept"] == .bool(true))
        #expect(server.json["retention"]?["inactiveDays"]?.integer == 90)
    }

    /// Nobody has asked for this erasure. It comes to its end in every service.
    @Test func anIdentityThatIsAwayIsErased() async throws {
        let alice = try await Cluster.phone(gateway: 1)
        let bob = try await Cluster.phone(gateway: 2)
        let letter = try await alice.text(bob)
        _ = try await bob.received(letter)
        bob.acknowledge(letter, from: alice.id)
        let number = try #require(WhisperID(alice.id)).bits
        try await waitUntil("the receipt is honoured", within: .seconds(30)) {
            try await Cluster.database("SELECT count(*) FROM router.mailbox WHERE message_id = '\(letter)'") == "0"
        }
        try await waitUntil("auth counts", within: .seconds(90)) {
            try await Cluster.database("SELECT count(*) FROM auth.inactivity WHERE days = 90") == "1"
        }
        _ = try await Cluster.database(
            """
            UPDATE auth.identities SET seen_on = seen_on - 92 WHERE whisper_id = \(number);
            UPDATE auth.inactivity SET since = since - interval '1 day'
            """)
        func erasure(_ condition: String) async throws -> Bool {
            try await Cluster.database("SELECT count(*) FROM auth.erasures WHERE by = 'retention' AND \(condition)")
                == "1"
        }
        try await waitUntil("auth sweeps", within: .seconds(120)) { try await erasure("whisper_id = \(number)") }
        #expect(try await alice.client.end().code == 4001)
        try await CalmCluster.Leaving.isErased(alice.person)
        // The clock of the data is moved: of the second pass, and of the ledger's walk.
        for (time, end) in [
            ("100 seconds", "done @> array_remove(auth.erasure_parts(), 'ledger')"),
            ("24 hours", "finished_at IS NOT NULL"),
        ] {
            _ = try await Cluster.database(
                "UPDATE auth.erasures SET decided_at = decided_at - interval '\(time)' WHERE by = 'retention'")
            try await waitUntil(end, within: .seconds(120)) { try await erasure(end) }
        }
        #expect(
            try await Cluster.database(
                "SELECT count(*) FROM router.peers WHERE identity = \(number) OR peer = \(number)")
                == "0")
    }

    /// Auth is killed while people come in with one invitation. All come in, and each is counted once, also whoever has registered without
    /// an answer.
    @Test func aKillOfAuthLosesNoUseAndCountsNoneTwice() async throws {
        let count = 60
        try await self.behind("invited") {
            let invited = try await Operators.tool("invite", "--uses", "\(count)")
            let token = try #require(invited.split(separator: "\n").first.map(String.init))
            func left() async throws -> String {
                try await Cluster.database("SELECT uses_left FROM auth.invitations ORDER BY number DESC LIMIT 1")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    let before = try await left()
                    for number in 0..<(count / 4) {
                        group.addTask {
                            // Not a wait: the moment of the race.
                            try await Task.sleep(for: .milliseconds(20 * number))
                            try await Self.comesIn(Person(), with: token)
                        }
                    }
                    try await waitUntil("somebody has come in", within: .seconds(30), every: .milliseconds(5)) {
                        try await left() != before
                    }
                    try await Cluster.stack.restart(.auth(1))
                }
                try await group.waitForAll()
            }
            #expect(try await left() == "0")
            let late = await #expect(throws: Unexpected.self) {
                _ = try await Person().logIn(on: Cluster.client(gateway: 1), tokens: ["invitation": token])
            }
            #expect(late?.frame.payload["reason"]?.string == "invitationInvalid")
        }
    }

    /// Tries until the server lets the person in. A refusal that is not the fault of a process that has died fails.
    private static func comesIn(_ person: Person, with invitation: String) async throws {
        try await waitUntil("somebody is let in", within: .seconds(60)) {
            do {
                _ = try await person.logIn(on: Cluster.client(gateway: 1), tokens: ["invitation": invitation])
                return true
            } catch let refusal as Unexpected {
                guard ["INTERNAL_ERROR", "AUTH_FAILED"].contains(refusal.frame.errorCode) else { throw refusal }
                // The challenge went with the process.
                #expect(refusal.frame.payload["reason"] == nil, "\(refusal)")
                return false
            } catch is Missing {
                return false
            }
        }
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
