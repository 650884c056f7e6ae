import Foundation
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// The terminal client as people type it.
    @Suite struct Terminal {
        @Test func twoPeopleMeetWriteAndOneComesBackWithTwelveWords() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let (alice, bob, again) = (
                Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "again")
            )
            let begun = try await alice.types("init", "--server", Typist.server)
            let words = try Self.words(in: begun)
            // They are not for one look alone, and nobody says so.
            let phrase = folder.path + "/home/alice/phrase"
            #expect(begun.contains(phrase) && !begun.contains("not shown again"))
            let kept = FileManager.default.contents(atPath: phrase).map { String(decoding: $0, as: UTF8.self) }
            #expect(kept?.split(whereSeparator: \.isWhitespace).map(String.init) == words)
            let aliceID = try Self.id(in: try await alice.types("id"))
            let bobID = try Self.id(in: try await bob.types("init", "--server", Typist.server))

            #expect(try await alice.types("add", bobID, "bob").contains("Added bob."))
            #expect(try await alice.types("send", "bob", "Is this thing on?").contains("✓ sent"))
            #expect(try await bob.types("inbox").contains("Is this thing on?"))
            #expect(try await bob.types("inbox").contains("Nothing new."))
            let drawn = try await alice.types("link", "--qr").split(separator: "\n")
            #expect(drawn[0].contains(aliceID) && drawn.count > 10 && drawn.dropFirst().allSatisfy { $0.contains("█") })
            #expect(
                try await bob.types("add", aliceID, "alice", "--scanned", fails: true).contains("vouches for no keys"))
            let added = try await bob.types("add", String(drawn[0]), "alice", "--scanned")
            #expect(added.contains("Added alice.") && added.contains("match this link"))
            #expect(try await bob.types("contacts").contains("verified by scan"))
            // From standard input; it waits at the server until she asks.
            #expect(try await bob.types("send", "alice", input: "It is.\n").contains("✓ sent"))
            #expect(try await alice.types("inbox").contains("It is."))

            let listed = try await alice.types("contacts", "--json").split(separator: "\n")
            #expect(try listed.map { try JSON(parsing: Array($0.utf8))["whisperId"]?.string } == [bobID])
            _ = try await bob.types("send", "alice", "For programs.")
            let unread = try await alice.types("inbox", "--json").split(separator: "\n")
            #expect(try unread.map { try JSON(parsing: Array($0.utf8))["text"]?.string } == ["For programs."])
            #expect(try await alice.types("inbox").contains("Nothing new."))
            #expect(try await alice.types("outbox", "--json") == "")

            let back = try await again.types(
                "restore", "--server", Typist.server, input: words.joined(separator: " ") + "\n")
            #expect(try Self.id(in: back) == aliceID)
            #expect(back.contains("1 contact is back."))
            #expect(try await again.types("contacts").contains("bob"))
            #expect(try await bob.types("send", "alice", "Still you?").contains("✓ sent"))
            #expect(try await again.types("inbox").contains("Still you?"))
        }

        /// A ban is called a ban, with its end. Written messages wait until their author decides otherwise.
        @Test func aBannedPersonIsToldSoAndDecidesWhatIsSentAfterwards() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let (alice, bob) = (Typist(folder, "alice"), Typist(folder, "bob"))
            let aliceID = try Self.id(in: try await alice.types("init", "--server", Typist.server))
            let bobID = try Self.id(in: try await bob.types("init", "--server", Typist.server))
            _ = try await bob.types("add", aliceID, "alice")
            let end = Int64(Date().timeIntervalSince1970 * 1_000) + 86_400_000 * 3
            try await Operators.post("/admin/ban", ["whisperId": bobID, "reason": "a test", "expiresAt": end])
                .expectSuccess()
            let words = "banned from the server, until 20"
            let contact = #"{"whisperId":"\#(aliceID)"}"#
            for command in [
                ["send", "alice", "Hello?"], ["add", aliceID], ["room", "list"], ["do", "contact_add", contact],
            ] {
                let said = try await bob.types(command, fails: true)
                #expect(said.contains(words) && !said.contains("Can't reach"), "\(command): \(said)")
            }
            #expect(try await bob.types("inbox").contains(words))
            #expect(try await bob.types("outbox").contains("1 to alice"))

            try await Operators.post("/admin/unban", ["whisperId": bobID, "reason": "a test"]).expectSuccess()
            let kept = "kept apart because of a ban"
            #expect(try await bob.types("inbox").contains(kept))
            #expect(try await bob.types("send", "alice", "Again.", fails: true).contains(kept))
            #expect(try await alice.types("inbox").contains("Nothing new."))
            #expect(try await bob.types("outbox", "resume").contains("All is sent."))
            // A stranger, whom nothing tells that she has read it.
            let read = try await alice.types("inbox")
            #expect(read.contains("(a stranger): Hello?") && read.contains("whisper accept \(bobID)"), "\(read)")
            func states() async throws -> [String] {
                _ = try await bob.types("inbox")
                let chat = try await bob.types("do", "chat_get", #"{"chat":"\#(aliceID)"}"#)
                return try JSON(parsing: Array(chat.utf8))["messages"]?.elements.compactMap { $0["state"]?.string }
                    ?? []
            }
            try await waitUntil("Alice has them", within: .seconds(30)) {
                try await states() == ["delivered", "delivered"]
            }
            #expect(try await alice.types("accept", bobID).contains("accepted."))
            _ = try await alice.types("inbox")
            try await waitUntil("Bob is told that she has read them", within: .seconds(30)) {
                try await states() == ["read", "read"]
            }
        }

        /// Each command that needs the server, whatever it would have done there.
        @Test func everyCommandTellsABannedPersonUntilWhen() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let (alice, bob, again) = (Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "again"))
            let aliceID = try Self.id(in: try await alice.types("init", "--server", Typist.server))
            let begun = try await bob.types("init", "--server", Typist.server)
            let (bobID, phrase) = (try Self.id(in: begun), try Self.words(in: begun).joined(separator: " "))
            _ = try await bob.types("add", aliceID, "alice")
            _ = try await bob.types("whisper", "talk", input: "Hello\n")
            let heard = try await alice.types("whisper", "talk", input: "Hello\n")
            let link = try #require(heard.firstMatch(of: #/http\S+\/listen\/\S+/#)).0
            let end = Int64(Date().timeIntervalSince1970 * 1_000) + 86_400_000 * 3
            try await Operators.post("/admin/ban", ["whisperId": bobID, "reason": "a test", "expiresAt": end])
                .expectSuccess()
            let words = "banned from the server, until \(Self.day(end))"
            let (id, token) = (newUUID(), "AAAAAAAAAAAAAAAAAAAAAA")
            let commands = [
                ["send", "alice", "Hello?"], ["add", aliceID], ["invite"], ["uninvite", token],
                ["export", folder.path + "/held.json"], ["leave", "--confirm", bobID],
                ["listen", String(link), "--name", "Bob", "--once"], ["whisper", "talk"], ["whisper", "other"],
                ["room", "create"], ["room", "join", id], ["room", "list"], ["room", "leave", id],
                ["room", "close", id], ["room", "code", id], ["room", "poke", id], ["room", "remove", id, aliceID],
                ["conversation", "list"], ["conversation", "update", "talk", "--title", "Talk"],
                ["conversation", "transcripts", "talk"], ["conversation", "delete-transcript", "talk", id],
                ["conversation", "share", "talk", id], ["conversation", "unshare", "talk", id],
                ["conversation", "delete", "talk"], ["outbox", "resume"], ["do", "room_list"],
                ["do", "contact_add", #"{"whisperId":"\#(aliceID)"}"#],
            ]
            for command in commands {
                let said = try await bob.types(command, input: "Hello?\n", fails: true)
                #expect(said.contains(words) && !said.contains("Can't reach"), "\(command): \(said)")
            }
            let back = try await again.types("restore", "--server", Typist.server, input: phrase + "\n")
            #expect(back.contains(words), "\(back)")
            #expect(try await bob.types("inbox").contains(words))
        }

        /// The day that people here read.
        private static func day(_ milliseconds: Int64) -> String {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.dateFormat = "yyyy-MM-dd"
            return formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
        }

        /// Words and passphrase together are the identity.
        @Test func aPassphraseBesideTheWordsIsReadAndNeverShown() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let begun = try await Typist(folder, "alice").types(
                "init", "--server", Typist.server, "--passphrase", input: "correct horse\n")
            let id = try Self.id(in: begun)
            let words = try Self.words(in: begun).joined(separator: " ")
            #expect(begun.contains("Nothing checks a passphrase") && !begun.contains("correct horse"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/home/alice/phrase"))
            #expect(try Self.id(in: try await Typist(folder, "alice").types("id")) == id)
            for (name, passphrase, isSame) in [("same", "correct horse", true), ("other", "Correct horse", false)] {
                let back = try await Typist(folder, name).types(
                    "restore", "--server", Typist.server, "--passphrase", input: "\(words)\n\(passphrase)\n")
                #expect((try Self.id(in: back) == id) == isSame && back.contains("nothing checks it"))
            }
            let without = try await Typist(folder, "none").types(
                "restore", "--server", Typist.server, input: "\(words)\ncorrect horse\n")
            #expect(try Self.id(in: without) != id)
            let refused = try await Typist(folder, "odd").types(
                "init", "--server", Typist.server, "--passphrase", input: "pässword\n", fails: true)
            #expect(refused.contains("Nothing was made."))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/home/odd"))
        }

        /// Nothing is done before the own id was confirmed; then the words are worth nothing, and others are told that nobody is there.
        @Test func whoeverLeavesConfirmsItAndNeverComesBack() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let (alice, bob, again) = (Typist(folder, "alice"), Typist(folder, "bob"), Typist(folder, "again"))
            let words = try Self.words(in: try await alice.types("init", "--server", Typist.server))
            let aliceID = try Self.id(in: try await alice.types("id"))
            let bobID = try Self.id(in: try await bob.types("init", "--server", Typist.server))
            _ = try await alice.types("add", bobID, "bob")
            #expect(try await alice.types("send", "bob", "Farewell.").contains("✓ sent"))
            let carol = Typist(folder, "carol")
            let carolID = try Self.id(in: try await carol.types("init", "--server", Typist.server))
            _ = try await carol.types("add", aliceID, "alice")

            for (arguments, input, complaint) in [
                (["--confirm", bobID], "", "another identity"), ([], "none\n", "not its last four"),
                ([], "", "not its last four"),
            ] {
                let said = try await alice.types(["leave"] + arguments, input: input, fails: true)
                #expect(said.contains(complaint) && said.contains("Nothing was done."), "\(said)")
            }
            let exported = folder.path + "/held.json"
            #expect(try await alice.types("export", exported).contains(exported))
            let held = try JSON(parsing: Array(try #require(FileManager.default.contents(atPath: exported))))
            #expect(held["whisperId"]?.string == aliceID && held["peers"]?.elements.isEmpty == false)
            #expect(!(try await alice.types("export", exported, fails: true)).isEmpty)
            let foreign = #"{"confirm":"\#(bobID)"}"#
            #expect(try await alice.types("do", "account_delete", foreign, fails: true).contains("confirm"))
            #expect(try await alice.types("send", "bob", "Not yet.").contains("✓ sent"))

            let left = try await alice.types("leave", "--withdraw", input: aliceID.suffix(4).lowercased() + "\n")
            let erasure = try #require(left.firstMatch(of: /erasure ([0-9a-f-]{36})/), "\(left)").1
            #expect(
                try await Cluster.database(
                    "SELECT sent_mail, by FROM auth.erasures WHERE erasure_id = '\(erasure)'") == "withdraw|person")
            // What is on the device stays, and no keys of it open the door.
            #expect(try await alice.types("contacts").contains("bob"))
            #expect(try await alice.types("leave", "--confirm", aliceID).contains("erased for good before"))
            let back = try await again.types(
                "restore", "--server", Typist.server, input: words.joined(separator: " ") + "\n", fails: true)
            #expect(back.contains("erased for good"), "\(back)")
            #expect(!(try await bob.types("add", aliceID, "alice", fails: true)).isEmpty)
            // As after an answer that was lost.
            #expect(try await alice.types("leave", "--wipe", "--confirm", aliceID).contains("are deleted"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/alice").isEmpty)
            // With `--withdraw` also what waits goes, 90 s after the decision. The clock of the data is moved.
            _ = try await Cluster.database(
                "UPDATE auth.erasures SET decided_at = decided_at - interval '100 s' WHERE erasure_id = '\(erasure)'")
            try await waitUntil("her mail is withdrawn", within: .seconds(60)) {
                try await Cluster.database(
                    "SELECT count(*) FROM router.mailbox WHERE auth.whisper_id_text(sender) = '\(aliceID)'") == "0"
            }
            #expect(try await bob.types("inbox").contains("Nothing new."))
            // People who have pinned her see that she has gone. A wipe leaves no file.
            #expect(!(try await carol.types("send", "alice", "Are you there?", fails: true)).isEmpty)
            #expect(try await carol.types("contacts").contains("no longer here"))
            let wiped = try await carol.types("leave", "--wipe", "--confirm", carolID)
            #expect(wiped.contains("are deleted"), "\(wiped)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/carol").isEmpty)
        }

        /// At terminals, which pipes are not.
        @Test func aFileGoesFromTerminalToTerminal() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let program = "\(Cluster.stack.configuration.programs)/whisper"
            let output = try await Command(
                "/usr/bin/python3",
                ["\(CoreLibraryTests.here)/terminals.py", program, folder.path, Typist.server]
            ).output(name: "terminals")
            let line = try #require(output.split(separator: "\n").last, "\(output)")
            #expect(try JSON(parsing: Array(line.utf8))["bytes"]?.integer == 300_000)
        }

        /// The password database names another folder.
        @Test func profilesAreInHomeUnlessToldOtherwise() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let dora = Typist(folder, "dora", environment: ["HOME": folder.path + "/dora"])
            _ = try await dora.types("init", "--server", Typist.server)
            #expect(FileManager.default.fileExists(atPath: folder.path + "/dora/.whisper/dora/phrase"))
            let both = ["HOME": folder.path + "/nowhere", "WHISPER_HOME": folder.path + "/dora/.whisper"]
            #expect(try await Typist(folder, "dora", environment: both).types("id").contains("WSP-"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/nowhere"))
        }

        @Test func wordsThatAreNoneAreNamed() async throws {
            let folder = try TemporaryFolder(named: "terminal")
            defer { folder.remove() }
            let carol = Typist(folder, "carol")
            for (words, complaint) in [
                ("abandon abandon", "2 words"),
                (Array(repeating: "abandon", count: 12).joined(separator: " "), "one is wrong"),
                (Array(repeating: "abandom", count: 12).joined(separator: " "), "\"abandom\""),
            ] {
                #expect(
                    try await carol.types("restore", "--server", Typist.server, input: words + "\n", fails: true)
                        .contains(complaint))
            }
        }

        private static func words(in text: String) throws -> [String] {
            let pairs = text.matches(of: /\b(\d{1,2}) ([a-z]{3,8})\b/).map { (Int($0.1)!, String($0.2)) }.sorted {
                $0.0 < $1.0
            }
            try #require(pairs.map(\.0) == Array(1...12), "\(text)")
            return pairs.map(\.1)
        }

        private static func id(in text: String) throws -> String {
            String(try #require(text.firstMatch(of: /WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}/), "\(text)").0)
        }
    }
}

/// Somebody with a profile.
struct Typist {
    static var server: String { "ws://127.0.0.1:\(Cluster.stack.ports.public)" }

    private let folder: TemporaryFolder
    private let profile: String
    private let environment: [String: String]

    /// - Parameter environment: where profiles are; a folder of the test if not given.
    init(_ folder: TemporaryFolder, _ profile: String, environment: [String: String]? = nil) {
        self.folder = folder
        self.profile = profile
        self.environment = environment ?? ["WHISPER_HOME": folder.path + "/home"]
    }

    /// - Parameters:
    ///   - input: what standard input says, and then ends.
    ///   - fails: the program is to end with another status than 0.
    /// - Returns: what was printed.
    func types(
        _ words: String..., input: String = "", fails: Bool = false
    ) async throws -> String {
        try await self.types(words, input: input, fails: fails)
    }

    /// - Parameter command: and its arguments.
    func types(_ command: [String], input: String = "", fails: Bool = false) async throws -> String {
        let words = self.folder.path + "/\(newUUID())"
        try input.write(toFile: words, atomically: true, encoding: .utf8)
        let program = "\(Cluster.stack.configuration.programs)/whisper"
        let status = fails ? "! \"$0\" \"$@\"" : "\"$0\" \"$@\""
        return try await Command(
            "/bin/sh", ["-c", status + " < '\(words)'", program] + command + ["--profile", self.profile],
            environment: self.environment
        ).output(name: "whisper \(command[0])")
    }
}
