import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// Where the servers hold something that names a person. Each column and each kind of key is classed here.
extension CalmCluster {
    @Suite struct PersonalData {
        /// A migration that adds a column without a class fails here.
        @Test func everyColumnIsClassed() async throws {
            let columns = Set(try await DataMap.columns().map(\.name))
            #expect(columns.count > 200)
            let classed = DataMap.naming.union(DataMap.others)
            #expect(DataMap.naming.isDisjoint(with: DataMap.others))
            #expect(
                columns.subtracting(classed).isEmpty, "neither named nor ruled out: \(columns.subtracting(classed))")
            #expect(classed.subtracting(columns).isEmpty, "no such columns: \(classed.subtracting(columns))")
        }

        /// Each table that names a person is in the export, or ruled out with a reason (contract §20.5).
        @Test func everyTableThatNamesAPersonIsInTheExportOrRuledOut() async throws {
            let tables = Set(DataMap.naming.map(DataMap.table(of:)))
            let ruledOut = Set(DataMap.notExported.keys)
            #expect(ruledOut.isSubset(of: tables))
            for schema in ["auth", "router", "push", "attachments", "calls"] {
                let text = try await Cluster.database(
                    "SELECT prosrc FROM pg_proc WHERE oid = '\(schema).held_about(bigint, bigint)'::regprocedure")
                for table in tables where table.hasPrefix(schema + ".") {
                    #expect(text.contains(try Regex("\(table)\\b")) != ruledOut.contains(table), "\(table)")
                }
            }
        }

        /// Each table, and each kind of key that may name a person, has a time (contract §20.9).
        @Test func everyTableAndKeyIsInARowOfRetention() async throws {
            let tables = Set(try await DataMap.columns().map { DataMap.table(of: $0.name) })
            let places = Set(KeptRecord.all.flatMap(\.places))
            #expect(tables == places.filter { !$0.hasPrefix("redis:") })
            #expect(DataMap.namingKeys.isSubset(of: places.map { String($0.trimmingPrefix("redis:")) }))
        }

        /// One person who does what people do. A search for the id, the keys, the device and the tokens, in each form in which they
        /// could stand, finds them in columns and keys that are classed so, and in no other.
        @Test func aPersonIsFoundWhereTheMapSaysAndNowhereElse() async throws {
            let bob = try await Cluster.phone(gateway: 2)
            var alice = try await Cluster.phone(gateway: 1)
            let (pushToken, wakeSecret) = ("push-\(newUUID())", Keys.random(16))
            try await alice.ask("update_tokens", ["pushToken": pushToken, "wakeSecret": wakeSecret.base64])
                .expecting("tokens_updated")
            let first = alice.token
            let refreshed = try await alice.ask("session_refresh").expecting("session_refresh_ack")
            alice.token = try #require(refreshed.payload["sessionToken"]?.string)

            try await Self.writes(alice, bob)
            try await Self.keepsThings(alice)
            try await Self.talks(alice, bob)
            let person = try DataMap.Traces(
                of: alice, tokens: [first, alice.token], pushToken: pushToken, wakeSecret: wakeSecret)
            // Her client has them, and the server hears so later.
            try await waitUntil("no news of groups waits for her", within: .seconds(30)) {
                try await Cluster.database("SELECT count(*) FROM router.group_news WHERE member = \(person.number)")
                    == "0"
            }
            try await Self.export(of: alice, among: [bob], without: [wakeSecret])
            var columns = try await DataMap.search(person)
            let keys = try await DataMap.searchRedis(person)

            alice.client.cut()
            let letter = try await bob.text(alice)
            try await waitUntil("mail waits for her", within: .seconds(30)) {
                try await Cluster.database("SELECT count(*) FROM router.mailbox WHERE message_id = '\(letter)'") == "1"
            }
            try await waitUntil("push knows her", within: .seconds(30)) {
                try await Cluster.database("SELECT count(*) FROM push.recipients WHERE recipient = \(person.number)")
                    == "1"
            }
            try await Operators.ban(alice)
            columns.formUnion(try await DataMap.search(person))

            let strays = columns.subtracting(DataMap.naming)
            #expect(strays.isEmpty, "classed as naming nobody: \(strays.sorted())")
            let missed = DataMap.naming.subtracting(DataMap.unreached).subtracting(columns)
            #expect(missed.isEmpty, "the search is blind to \(missed.sorted())")
            #expect(keys.isSubset(of: DataMap.namingKeys), "\(keys.sorted())")
            // Keys of rates end by themselves, perhaps before the search.
            #expect(keys.isSuperset(of: ["session", "presence"]), "\(keys.sorted())")
        }

        /// An operator gets the same as she. Nothing of it is anybody else's key, device or words, or one of these secrets.
        static func export(of alice: Phone, among others: [Phone], without secrets: [[UInt8]]) async throws {
            let own = try await alice.http("GET", "/account/export")
            try #require(own.status == 200)
            let (document, text) = (own.json, own.json.text)
            for other in others {
                let keys = [other.person.keys.signPublicKey, other.person.keys.encPublicKey]
                for foreign in keys.map(\.base64) + [other.person.device] {
                    #expect(!text.contains(foreign))
                }
            }
            for secret in secrets {
                #expect(!text.contains(secret.base64) && !text.contains(DataMap.Traces.hex(secret)))
            }
            for list in [
                "peers", "groups", "files", "filesReceived", "reportsMade", "profiles", "conversations", "rooms",
            ] {
                #expect(document[list]?.elements.isEmpty == false, "\(list)")
            }
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let wish = ["export", alice.id, "--reason", "a test", "--output", file]
            try await Operators.tool(wish)
            let theirs = try JSON(parsing: Array(try #require(FileManager.default.contents(atPath: file))))
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            // A file that is there stays.
            await #expect(throws: (any Error).self) { try await Operators.tool(wish) }
            #expect(FileManager.default.fileExists(atPath: file))
            func timeless(_ text: String) -> String { text.replacing(/"exportedAt":\s*\d+/, with: "") }
            #expect(timeless(theirs.text) == timeless(text))
        }

        static func writes(_ alice: Phone, _ bob: Phone) async throws {
            let heard = try await bob.text(alice)
            _ = try await alice.received(heard)
            alice.acknowledge(heard, from: bob.id)
            let evidence = try await bob.received(try await alice.text(bob)).payload
            let carol = try await Cluster.phone()
            carol.client.cut()
            try await alice.text(carol)
            try await alice.ask("group_create", ["title": "A choir", "memberIds": [bob.id]]).expecting("group_event")
            try await bob.ask("report", ["targetId": alice.id, "reason": "spam", "evidence": evidence])
                .expecting("report_ack")
            try await alice.ask("report", ["targetId": bob.id, "reason": "spam"]).expecting("report_ack")
            for (sender, recipient) in [(alice, bob), (bob, alice)] {
                let key = try await sender.upload(Keys.random(1_000))
                try await sender.send(sender.letter(to: recipient, with: key, bytes: 1_000))
                    .expecting("message_accepted")
            }
        }

        static func keepsThings(_ alice: Phone) async throws {
            let backup: Fields = Person.versions.with([
                "nonce": Keys.random(24).base64, "ciphertext": Keys.random(500).base64,
            ])
            try await alice.http("PUT", "/backup/contacts", backup).expecting(200)
            let profile = newUUID()
            try await alice.http(
                "PUT", "/profiles/\(profile)", Person.versions.with(["joinHash": Keys.random(32).base64])
            ).expecting(200)
            let live = Conversation(profile: profile)
            try await alice.ask("live_create", live.create(by: alice.id)).expecting("live_conversation")
            try await alice.ask("live_start", live.named.with(["contentId": newUUID()])).expecting("live_started")
        }

        static func talks(_ alice: Phone, _ bob: Phone) async throws {
            try await alice.ask("room_create", Room().create(alice.person.keys)).expecting("room_joined")
            let call = newUUID()
            alice.client.send(
                "call_initiate", alice.callFields("call_initiate", call, to: bob.id, ["isVideo": false]),
                requestID: "ring")
            try await bob.gets("call_incoming", call)
        }
    }
}

/// Columns and keys, and the search for a person in them.
enum DataMap {
    /// Columns that hold a person's id, key, device, token or secret, or a text or frame with one of them in it, by table.
    static let naming = Self.names([
        "attachments.attachments": "uploader", "attachments.links": "recipient",
        "auth.audit_events": "target note", "auth.bans": "whisper_id reason", "auth.contact_backups": "whisper_id",
        "auth.devices": "whisper_id device_id push_token voip_token wake_secret",
        "auth.erasures": "whisper_id guest_id",
        "auth.guest_bans": "guest_id reason",
        "auth.guests": "guest_id sign_key enc_key token_hash replaced_hash",
        "auth.identities": "whisper_id sign_key enc_key", "auth.invitations": "inviter",
        "auth.profile_members": "whisper_id",
        "auth.reports": "reporter target note evidence review_note",
        "auth.sessions": "token_hash whisper_id device_id predecessor", "calls.calls": "caller callee",
        "calls.conversations": "creator last_holder", "calls.kept_bytes": "identity", "calls.lines": "identity",
        "calls.listeners": "listener sign_key enc_key grant_from", "calls.parcels": "payload",
        "calls.rings": "identity",
        "calls.room_barred": "participant", "calls.room_participants": "participant sign_key enc_key",
        "calls.rooms": "creator host", "calls.streams": "holder", "calls.transcript_shares": "identity",
        "calls.transcripts": "identity", "push.dead_letters": "recipient", "push.recipients": "recipient",
        "router.full_mailboxes": "recipient", "router.group_events": "payload", "router.group_members": "member",
        "router.group_news": "member", "router.group_quotas": "identity", "router.groups": "owner",
        "router.ledger": "sender recipient", "router.mailbox": "recipient sender payload",
        "router.outcomes": "sender recipient", "router.peers": "identity peer",
    ])

    /// Columns that name nobody. Sealed bytes are among them: the server cannot read them.
    static let others = Self.names([
        "attachments.attachments":
            "number object_key size_bytes content_type class state upload_id created_at expires_at uploaded_at check_at claimed_until of_stranger",
        "attachments.links": "attachment message_id linked_at acknowledged_at fetched_at",
        "attachments.stranger_bytes": "store bytes counted_at", "auth.audit_events": "number at actor action result",
        "auth.bans": "number created_at expires_at", "auth.console_sessions": "id_hash role_mark ends_at",
        "auth.contact_backups": "nonce ciphertext revision updated_at size_bytes of_stranger",
        "auth.devices": "platform client updated_at",
        "auth.erasures": "erasure_id number sent_mail by decided_at done finished_at",
        "auth.guest_bans": "number created_at expires_at",
        "auth.guests": "epoch expires_at is_banned seen_at",
        "auth.identities": "epoch is_banned created_at seen_on rate_class",
        "auth.inactivity": "is_only days since counted_at",
        // Nobody is told who has come in with an invitation.
        "auth.invitations":
            "invitation_id number token_hash uses_left uses_max expires_at revoked_at label created_at by_identity rate_class",
        "auth.profile_documents": "profile_id name version nonce ciphertext updated_at size_bytes of_strangers",
        "auth.profile_members": "profile_id joined_at", "auth.profiles": "profile_id join_hash touched_at",
        "auth.registration": "is_only mode changed_at",
        "auth.reports": "id number reason status created_at reviewed_at evidence_verified of_stranger size_bytes",
        "auth.sessions": "platform epoch expires_at dies_at refresh_nonce",
        "auth.stranger_bytes": "store bytes counted_at",
        // A digest of an id or a key: it fits nobody who does not know them already.
        "auth.tombstones": "mark day",
        "calls.calls":
            "wake_id share call_id id_case is_video started_at rings_until reached_at answered_at ended_at end_reason ended_by is_woken answer_mark end_mark",
        // The keys are the conversation's own.
        "calls.conversations":
            "conversation_id share profile_id sign_key enc_key link_verifier info_nonce info transcript_days created_at updated_at generation epoch used_at",
        "calls.kept_bytes": "profile_id bytes", "calls.lines": "wake_id is_answered seen_at",
        "calls.listeners":
            "conversation_id is_guest status since knock_at knock_nonce knock knock_sig expires_at generation grant_at grant_nonce grant_box grant_sig joined_content joined_at seen_at refusal refusal_nonce",
        "calls.parcels": "wake_id number side kind", "calls.relay_keys": "starts_at key", "calls.rings": "wake_id",
        "calls.room_barred": "room_id is_guest code barred_at",
        "calls.room_codes": "code room_id pin_salt pin_hash wrong_pins expires_at retired_at",
        // A digest of an address.
        "calls.room_misses": "missed_at origin",
        "calls.room_participants":
            "room_id is_guest seat via joined_code joined_at node connection away_since is_leaving",
        "calls.rooms":
            "room_id share creator_is_guest host_is_guest participants_max is_locked revision next_seat was_accepted link_verifier created_at connected_at expires_at",
        "calls.stranger_bytes": "store bytes counted_at",
        "calls.streams":
            "conversation_id content_id state node connection is_transcribed started_at changed_at transcript_days expires_at",
        "calls.transcript_lines": "conversation_id content_id line epoch seq generation nonce ciphertext stored_at",
        "calls.transcript_shares": "share_id conversation_id content_id verifier nonce ciphertext expires_at",
        "calls.transcripts": "conversation_id content_id last_line lines bytes profile_id counted",
        "push.dead_letters": "number at wake_id kind provider reason tries",
        "push.recipients": "tried_at provider result wake_id sent_at woke_at unanswered failures due_at",
        "router.full_mailboxes": "messages bytes fill seen_at",
        "router.group_events": "group_id revision node question created_at",
        "router.group_members": "group_id role joined_at added_by_stranger raised",
        "router.group_news": "group_id revision number created_at", "router.group_quotas": "additions",
        "router.groups": "group_id title revision created_at updated_at",
        "router.ledger":
            "message_id number accepted_at id_case status group_id status_at delivered_at day",
        "router.ledger_days": "day", "router.mailbox": "number message_id accepted_at id_case segment",
        "router.outcomes": "number kind id_case message_id at created_at group_id segment",
        "router.peers": "last_sent_at", "router.stranger_bytes": "store bytes counted_at",
    ])

    static func table(of column: String) -> String { String(column[..<column.lastIndex(of: ".")!]) }

    /// Tables that name a person and are not in an export.
    static let notExported = [
        "auth.audit_events": "what operators did", "auth.erasures": "whoever has one is nobody any more",
        "auth.guests": "a guest has no identity", "auth.guest_bans": "a guest has no identity",
        "calls.lines": "part of a call, which is listed", "calls.parcels": "part of a call, which is listed",
        "calls.rings": "part of a call, which is listed",
        "router.full_mailboxes": "how full a mailbox is follows from what waits",
        "router.group_events": "members of a group", "router.ledger": "kept by message, and by nothing else",
    ]

    /// Columns that the script of the test does not fill with this person, or not for long.
    static let unreached = Self.names([
        "auth.audit_events": "note", "auth.bans": "reason", "auth.devices": "voip_token",
        "auth.erasures": "whisper_id guest_id", "auth.guest_bans": "guest_id reason",
        "auth.guests": "guest_id sign_key enc_key token_hash replaced_hash",
        // NULL where INVITATIONS_KEEP is not set.
        "auth.invitations": "inviter", "auth.reports": "note review_note",
        "calls.calls": "callee", "calls.kept_bytes": "identity",
        "calls.listeners": "listener sign_key enc_key grant_from", "calls.parcels": "payload",
        "calls.rings": "identity", "calls.room_barred": "participant", "calls.transcript_shares": "identity",
        "calls.transcripts": "identity", "push.dead_letters": "recipient", "router.full_mailboxes": "recipient",
        "router.group_news": "member", "router.group_quotas": "identity", "router.outcomes": "sender recipient",
    ])

    /// Beginnings of keys in Redis whose name or value may hold one of them.
    static let namingKeys: Set<String> = [
        "auth", "call", "callwake", "calls", "challenge", "engaged", "groups", "guest", "live", "mailbox", "presence",
        "ratelimit", "rejected-tokens", "rooms", "session", "wakes",
    ]

    private static func names(_ tables: [String: String]) -> Set<String> {
        Set(tables.flatMap { table, columns in columns.split(separator: " ").map { "\(table).\($0)" } })
    }

    // MARK: Searching

    /// Forms in which a person could stand somewhere.
    struct Traces {
        let number: Int64
        /// In texts, numbers and UUIDs.
        let texts: [String]
        /// In bytes.
        let bytes: [[UInt8]]

        init(of phone: Phone, tokens: [String], pushToken: String, wakeSecret: [UInt8]? = nil) throws {
            let bits = try #require(WhisperID(phone.id)).bits
            self.number = Int64(bitPattern: bits)
            let big = withUnsafeBytes(of: bits.bigEndian) { Array($0) }
            let (sign, enc) = (phone.person.keys.signPublicKey, phone.person.keys.encPublicKey)
            let hashes = tokens.map { Keys.sha256(Array($0.utf8)) }
            let uuid = Self.hex(big)
            self.texts =
                [
                    phone.id, phone.id.replacing("-", with: ""), "\(self.number)", phone.person.device, pushToken,
                    "00000000-0000-0000-\(uuid.prefix(4))-\(uuid.dropFirst(4))",
                ]
                + ([sign, enc] + [wakeSecret].compactMap(\.self)).flatMap {
                    [$0.base64, Base64URL.encode($0), Self.hex($0)]
                }
            self.bytes =
                [big, big.reversed(), sign, enc] + [wakeSecret].compactMap(\.self) + hashes
                + self.texts.filter { $0.utf8.count >= 12 }.map { Array($0.utf8) }
        }

        /// Forms of any of them.
        init(joining people: [Traces]) {
            self.number = 0
            self.texts = people.flatMap(\.texts)
            self.bytes = people.flatMap(\.bytes)
        }

        init(of guest: GuestClient, _ keys: Keys) {
            // No column of numbers names a guest.
            self.number = -1
            let uuid = String(guest.id.dropFirst(4))
            let (sign, enc) = (keys.signPublicKey, keys.encPublicKey)
            var parts = [Substring]()
            var rest = uuid[...]
            for length in [8, 4, 4, 4, 12] {
                parts.append(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            self.texts =
                [guest.id, uuid, parts.joined(separator: "-")]
                + [sign, enc].flatMap { [$0.base64, Base64URL.encode($0), Self.hex($0)] }
            self.bytes =
                [sign, enc, Keys.sha256(Array(guest.token.utf8))]
                + [stride(from: 0, to: 32, by: 2).map { UInt8(uuid.dropFirst($0).prefix(2), radix: 16)! }]
                + self.texts.map { Array($0.utf8) }
        }

        static func hex(_ bytes: [UInt8]) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    /// Columns of the services' tables, partitions as their table, and whether they hold bytes.
    static func columns() async throws -> [(name: String, isBytes: Bool)] {
        try await Cluster.database(
            """
            SELECT n.nspname || '.' || c.relname || '.' || a.attname || ' ' || (a.atttypid = 'bytea'::regtype)
            FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('auth', 'router', 'push', 'attachments', 'calls') AND c.relkind IN ('r', 'p')
                AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'migrations'
            """
        ).split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return (String(words[0]), words[1] == "true")
        }
    }

    static func search(_ person: Traces) async throws -> Set<String> {
        let copies = try await Self.columns().map { column in
            let parts = column.name.split(separator: ".")
            let shown = column.isBytes ? "encode(\(parts[2]), 'hex')" : "lower(\(parts[2])::text)"
            return "COPY (SELECT '\(column.name)', \(shown) FROM \(parts[0]).\(parts[1])) TO STDOUT"
        }
        let lines = try await Self.lines(
            with: person.texts.map { $0.lowercased() } + person.bytes.map(Traces.hex),
            of: Cluster.stack.postgres.psql(copies, database: "whisper"))
        return Set(lines.map { String($0.prefix { $0 != "\t" }) })
    }

    /// The lines in which one of the forms stands. There may be more of both than a statement or a command takes.
    private static func lines(with forms: [String], of program: Command) async throws -> [Substring] {
        let folder = try TemporaryFolder(named: "forms")
        defer { folder.remove() }
        try forms.joined(separator: "\n").write(toFile: folder.path + "/forms", atomically: false, encoding: .utf8)
        // grep's status is 1 if there is none.
        let script = #""$@" | LC_ALL=C grep -aFf forms || [ "${PIPESTATUS[*]}" = "0 1" ]"#
        return try await Command(
            "/bin/bash", ["-euo", "pipefail", "-c", script, "lines", program.program] + program.arguments,
            folder: folder.path
        ).output(name: "lines").split(separator: "\n")
    }

    /// - Returns: the beginnings of the keys with the person in their name or value.
    static func searchRedis(_ person: Traces) async throws -> Set<String> {
        let program = Command(
            "/usr/bin/redis-cli", ["-e", "-p", "\(Cluster.stack.ports.redis)", "--no-raw", "EVAL", Self.allKeys, "0"])
        var found: Set<String> = []
        for line in try await Self.lines(with: person.texts + person.bytes.map(Self.shown), of: program) {
            // 12) "string session:…\x00…"
            let words = line.drop { $0 != "\"" }.dropFirst().split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { continue }
            found.insert(words[1].prefix { $0 != ":" && $0 != "{" }.description)
        }
        return found
    }

    /// The type, name and content of each key.
    private static let allKeys = """
        local all = {}
        for _, key in ipairs(redis.call('KEYS', '*')) do
            local kind, parts = redis.call('TYPE', key).ok, {}
            assert(kind == 'string' or kind == 'stream', 'a ' .. kind .. ': ' .. key)
            if kind == 'string' then parts = {redis.call('GET', key) or ''} end
            if kind == 'stream' then
                for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do parts[#parts + 1] = table.concat(entry[2], '\\0') end
            end
            all[#all + 1] = kind .. ' ' .. key .. '\\0' .. table.concat(parts, '\\0')
        end
        return all
        """

    /// Bytes as `redis-cli` prints them.
    private static func shown(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            switch byte {
            case UInt8(ascii: "\\"), UInt8(ascii: "\""): "\\" + String(UnicodeScalar(byte))
            case 7: "\\a"
            case 8: "\\b"
            case 9: "\\t"
            case 10: "\\n"
            case 13: "\\r"
            case 32...126: String(UnicodeScalar(byte))
            default: "\\x" + Traces.hex([byte])
            }
        }.joined()
    }
}
