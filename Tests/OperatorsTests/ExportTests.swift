import AuthTestKit
import ClusterContract
import Contract
import Foundation
import HTTPAccess
import OperatorsCore
import Testing

/// Records about one identity, as the person gets it and as operators do (contract §20.5).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ExportTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)

    /// The document as a body, so that its schema judges it.
    private struct Held: HTTPBody {
        static let schema = ExportOperations.held
        init(_ payload: Payload) {}
    }

    private struct HeldOfGuest: HTTPBody {
        static let schema = ExportOperations.heldOfGuest
        init(_ payload: Payload) {}
    }

    private func wish(_ id: WhisperID) -> String { #"{"whisperId":"\#(id)","reason":"asked by letter"}"# }

    @Test func personAndOperatorGetTheSameDocument() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let (login, other) = (try await bench.login(self.alice), try await bench.login(self.bob))
            try await self.addHoldings(bench)
            let own = try await HTTPBench(bench).get("/account/export", token: login.token)
            #expect(own.status == 200, "\(own.text)")
            #expect(own.headers[.contentDisposition] == "attachment; filename=\"\(self.alice.id()).json\"")
            #expect(own.headers[.cacheControl] == "no-store")
            _ = try JSONBody.read(Held.self, in: Array(own.text.utf8))

            let admin = try HTTPBench(admin: bench)
            let theirs = try await admin.post("/admin/exports", self.wish(self.alice.id()))
            #expect(theirs.status == 200 && theirs.headers[.contentDisposition]?.hasPrefix("attachment") == true)
            func timeless(_ text: String) -> String { text.replacing(/"exportedAt": \d+/, with: "") }
            #expect(timeless(theirs.text) == timeless(own.text))

            // One of each kind is hers.
            var lists = own.json.compactMapValues { ($0 as? [Any])?.count }
            #expect(lists.removeValue(forKey: "erasable") == KeptRecord.all.count { $0.erased != nil })
            #expect(own.json["isTruncated"] as? Bool == false)
            #expect(lists.count == 21)
            #expect(lists.filter { $0.value != ($0.key == "peers" ? 2 : 1) }.isEmpty, "\(lists)")
            for name in ["backup", "push", "waiting", "ban"] { #expect(own.json[name] is [String: Any], "\(name)") }
            let counts = ["reportsAbout", "groupEventsWaiting", "grantsSigned", "transcriptBytes"]
            #expect(counts.map { own.json[$0] as? Int } == [1, 1, 1, 9])
            // Others' texts and keys, and what opens a session, hers too: as text, and as columns of bytes are shown.
            let hidden =
                ["secret of bob", "group secret"].map { Array($0.utf8) }
                + [self.bob.signPublicKey, self.bob.encPublicKey].map(\.bytes)
                + [login, other].map(\.session.tokenHash.bytes)
            let forms = hidden.flatMap { bytes in
                [bytes, Base64.encode(bytes), Array(Hexadecimal.text(bytes).utf8)].map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
            for form in forms + [login.token, other.token] { #expect(!own.text.contains(form), "\(form)") }
        }
    }

    @Test func somebodyWithoutRecordsGetsEmptyLists() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let login = try await bench.login(self.alice)
            let answer = try await HTTPBench(bench).get("/account/export", token: login.token)
            #expect(answer.status == 200)
            _ = try JSONBody.read(Held.self, in: Array(answer.text.utf8))
            #expect((answer.json["devices"] as? [Any])?.count == 1 && (answer.json["mail"] as? [Any])?.isEmpty == true)
            #expect(answer.json["backup"] == nil && answer.json["push"] == nil)
        }
    }

    /// A part that is missing would make a document that seems whole. The database has worked for it, so it counts.
    @Test func anExportIsWholeOrIsNotGiven() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            let http = HTTPBench(bench)
            #expect(try await http.get("/account/export", token: login.token).is(500, .internalError))
            try await bench.addServices()
            #expect(try await http.get("/account/export", token: login.token).status == 200)
            #expect(try await http.get("/account/export", token: login.token).is(429, .rateLimited))
        }
    }

    @Test func callsAtOnceGetNoMoreThanTwo() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let login = try await bench.login(self.alice)
            let http = HTTPBench(bench)
            let given = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await http.get("/account/export", token: login.token).status } }
                return try await group.reduce(into: 0) { count, status in if status == 200 { count += 1 } }
            }
            #expect((1...2).contains(given))
            for _ in given..<2 { #expect(try await http.get("/account/export", token: login.token).status == 200) }
            #expect(try await http.get("/account/export", token: login.token).is(429, .rateLimited))
        }
    }

    @Test func aListThatWasCutSaysSo() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let login = try await bench.login(self.alice)
            func add(_ peers: ClosedRange<Int>) async throws -> [String: Any] {
                try await bench.sql(
                    """
                    INSERT INTO router.peers SELECT \(self.alice.id().bits), number, now()
                    FROM generate_series(\(peers.lowerBound), \(peers.upperBound)) AS number
                    """)
                return try await HTTPBench(bench).get("/account/export", token: login.token).json
            }
            let most = Limits.exportEntriesMax
            #expect(try await add(1...most - 1)["isTruncated"] as? Bool == false)
            let cut = try await add(most...most + 1)
            #expect(cut["isTruncated"] as? Bool == true && (cut["peers"] as? [Any])?.count == most)
        }
    }

    @Test func aPersonGetsTwoADay() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let (login, other) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let http = HTTPBench(bench)
            for _ in 0..<2 { #expect(try await http.get("/account/export", token: login.token).status == 200) }
            let third = try await http.get("/account/export", token: login.token)
            #expect(third.is(429, .rateLimited))
            let wait = try #require(third.headers[.retryAfter].flatMap { Int($0) })
            #expect((43_000...43_200).contains(wait))
            #expect(try await http.get("/account/export", token: other.token).status == 200)
            #expect(try await http.get("/account/export", token: "x").is(401, .notRegistered))
        }
    }

    /// The cache may not have heard of a newer login.
    @Test func anEndedSessionGetsNothing() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let login = try await bench.login(self.alice)
            try await bench.sql("UPDATE auth.identities SET epoch = epoch + 1")
            #expect(
                try await HTTPBench(bench).get("/account/export", token: login.token).is(401, .notRegistered))
        }
    }

    @Test func operatorsGetTenAnHourAndEachIsRecorded() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            _ = try await bench.login(self.alice)
            let http = try HTTPBench(admin: bench)
            let (path, id) = ("/admin/exports", self.alice.id())
            #expect(try await http.post(path, self.wish(id), token: HTTPBench.viewerToken).is(403, .forbidden))
            #expect(try await http.post(path, #"{"whisperId":"\#(id)"}"#).is(400, .invalidPayload))
            #expect(try await http.post(path, self.wish(self.bob.id())).is(404, .notFound))
            for _ in 0..<9 { #expect(try await http.post(path, self.wish(id)).status == 200) }
            #expect(try await http.post(path, self.wish(id)).is(429, .rateLimited))
            #expect(
                try await bench.sql(
                    """
                    SELECT string_agg(concat_ws(' ', result, target, note), ', ' ORDER BY number)
                    FROM (SELECT * FROM auth.audit_events WHERE action = 'createExport' ORDER BY number LIMIT 4) AS first
                    """)
                    == "FORBIDDEN, INVALID_PAYLOAD, NOT_FOUND, ok \(id) asked by letter")
        }
    }

    @Test func aGuestsRecordsAreGivenByItsID() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            _ = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            try await self.addHoldings(bench)
            let (http, path, id) = (try HTTPBench(admin: bench), "/admin/exports", self.alice.guestID)
            let wish = #"{"guestId":"\#(id)","reason":"asked by letter"}"#
            #expect(try await http.post(path, wish).is(404, .notFound))
            let proof = try await bench.prove(self.alice)
            // Records of her identity are not the guest's.
            try await bench.sql(
                """
                UPDATE calls.listeners SET is_guest = true, listener = (SELECT guest_id FROM auth.guests)
                WHERE conversation_id = (SELECT conversation_id FROM calls.listeners LIMIT 1);
                INSERT INTO calls.room_barred (room_id, is_guest, participant, code)
                SELECT room_id, true, guest_id, '123456' FROM calls.rooms, auth.guests;
                """)
            #expect(try await http.post("/admin/ban", #"{"guestId":"\#(id)","reason":"spam"}"#).status == 200)
            let answer = try await http.post(path, wish)
            #expect(answer.status == 200 && answer.json["guestId"] as? String == "\(id)", "\(answer.text)")
            _ = try JSONBody.read(HeldOfGuest.self, in: Array(answer.text.utf8))
            let lists = answer.json.compactMapValues { ($0 as? [Any])?.count }
            #expect(lists["listens"] == 1 && lists["roomsBarred"] == 1 && lists["rooms"] == 0)
            #expect((answer.json["ban"] as? [String: Any])?["reason"] as? String == "spam")
            #expect(!answer.text.contains(proof.token))
            let both = #"{"guestId":"\#(id)","whisperId":"\#(self.alice.id())","reason":"x"}"#
            #expect(try await http.post(path, both).is(400, .invalidPayload))
        }
    }

    @Test func theConsoleGivesTheFile() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            _ = try await bench.login(self.alice)
            let http = try HTTPBench(admin: bench)
            let viewer = try await ConsoleBrowser(http, token: HTTPBench.viewerToken)
            let `operator` = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            let page = "/console/people?id=\(self.alice.id())"
            #expect(try await !viewer.get(page).text.contains("id=\"export\""))
            #expect(try await `operator`.get(page).text.contains("id=\"export\""))
            let answer = try await `operator`.submit(
                "/console/exports", ["whisperId": "\(self.alice.id())", "reason": "asked"])
            #expect(answer.status == 200 && answer.json["whisperId"] as? String == "\(self.alice.id())")
            #expect(answer.headers[.contentDisposition]?.hasPrefix("attachment") == true)
        }
    }

    // MARK: -

    /// For alice one of each kind; for bob what must not be in her document.
    private func addHoldings(_ bench: AuthBench) async throws {
        let (alice, bob) = (self.alice.id().bits, self.bob.id().bits)
        let key = "'\\x\(String(repeating: "ab", count: 32))'"
        try await bench.sql(
            """
            INSERT INTO auth.invitations (
                invitation_id, token_hash, uses_left, uses_max, expires_at, created_at, by_identity, inviter)
            VALUES (gen_random_uuid(), sha256('a'), 0, 1, now(), now(), true, \(alice)),
                (gen_random_uuid(), sha256('b'), 1, 1, now(), now(), true, \(bob)),
                (gen_random_uuid(), sha256('c'), 1, 1, now(), now(), false, NULL);
            INSERT INTO auth.bans (whisper_id, reason, created_at) VALUES (\(alice), 'spam', now());
            INSERT INTO auth.contact_backups (whisper_id, nonce, ciphertext, revision, updated_at)
            SELECT \(alice), decode(repeat('00', 24), 'hex'), decode(repeat('ff', 300), 'hex'), 1, now();
            WITH made AS (INSERT INTO auth.profiles (profile_id, join_hash) VALUES (gen_random_uuid(), \(key))
                RETURNING profile_id), document AS (
                INSERT INTO auth.profile_documents (profile_id, name, version, nonce, ciphertext, updated_at)
                SELECT profile_id, 'user', 1, decode(repeat('00', 12), 'hex'), 'group secret', now() FROM made)
            INSERT INTO auth.profile_members SELECT profile_id, who, now()
            FROM made, unnest(ARRAY[\(alice)::bigint, \(bob)]) AS who;
            INSERT INTO auth.reports (id, reporter, target, reason, note, status, created_at) VALUES
                (gen_random_uuid(), \(alice), \(bob), 'spam', 'he writes too much', 'open', now()),
                (gen_random_uuid(), \(bob), \(alice), 'abuse', 'secret of bob', 'open', now());
            INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload)
            VALUES (\(alice), 1, \(bob), gen_random_uuid(), now(), 0, 'secret of bob'),
                (\(bob), 2, \(alice), gen_random_uuid(), now(), 0, '');
            INSERT INTO router.outcomes (sender, number, kind, id_case, message_id, recipient, at, created_at)
            VALUES (\(alice), 3, 2, 0, gen_random_uuid(), \(bob), 1730000000000, now());
            INSERT INTO router.peers VALUES (\(alice), \(bob), now()), (\(bob), \(alice), now());
            WITH made AS (INSERT INTO router.groups VALUES (gen_random_uuid(), 'a choir', \(bob), 1, now(), now())
                RETURNING group_id), news AS (
                INSERT INTO router.group_news SELECT \(alice), group_id, 1, 4, now() FROM made)
            INSERT INTO router.group_members (group_id, member, role, joined_at)
            SELECT group_id, member, role, now()
            FROM made, (VALUES (\(alice)::bigint, 1::smallint), (\(bob), 0::smallint)) AS members (member, role);
            INSERT INTO router.group_quotas VALUES (\(alice), ARRAY[now()]), (\(bob), ARRAY[now()]);
            INSERT INTO push.recipients (recipient, tried_at, provider, result, wake_id)
            VALUES (\(alice), now(), 'apns', 'sent', gen_random_uuid());
            INSERT INTO push.dead_letters (at, recipient, wake_id, kind, provider, reason, tries)
            SELECT now(), who, gen_random_uuid(), 'mail', 'apns', 'gone', 3
            FROM unnest(ARRAY[\(alice)::bigint, \(bob)]) AS who;
            INSERT INTO attachments.attachments (
                object_key, uploader, size_bytes, content_type, class, created_at, expires_at)
            VALUES ('mine', \(alice), 10, 'image/png', 0, now(), now()), ('his', \(bob), 20, 'image/png', 0, now(), now());
            INSERT INTO attachments.links (attachment, recipient, message_id, linked_at)
            SELECT number, CASE WHEN uploader = \(alice) THEN \(bob) ELSE \(alice) END, gen_random_uuid(), now()
            FROM attachments.attachments;
            """)
        try await self.addLiveHoldings(bench, alice, bob, key: key)
    }

    private func addLiveHoldings(_ bench: AuthBench, _ alice: UInt64, _ bob: UInt64, key: String) async throws {
        let stored = "lpad(to_hex(\(alice)::bigint), 32, '0')::uuid"
        try await bench.sql(
            """
            INSERT INTO calls.calls (
                wake_id, share, call_id, id_case, caller, callee, is_video, started_at, rings_until, is_woken)
            VALUES (gen_random_uuid(), 0, gen_random_uuid(), 0, \(bob), \(alice), false, now(), now(), false);
            WITH made AS (
                INSERT INTO calls.conversations (conversation_id, share, profile_id, creator, sign_key, enc_key,
                    link_verifier, info_nonce, info, transcript_days, created_at, updated_at, generation, epoch, used_at)
                SELECT gen_random_uuid(), 0, gen_random_uuid(), who, \(key), \(key), \(key), '', 'group secret', 0, now(),
                    now(), 0, 0, now()
                FROM unnest(ARRAY[\(alice)::bigint, \(bob)]) AS who RETURNING conversation_id, creator, profile_id)
            INSERT INTO calls.kept_bytes SELECT profile_id, creator, 9 FROM made;
            INSERT INTO calls.streams (conversation_id, content_id, state, holder, is_transcribed, started_at, changed_at)
            SELECT conversation_id, gen_random_uuid(), 'ended', creator, true, now(), now() FROM calls.conversations;
            INSERT INTO calls.transcripts (conversation_id, content_id, last_line, lines, bytes, identity)
            SELECT conversation_id, content_id, 1, 1, 9, holder FROM calls.streams;
            INSERT INTO calls.transcript_shares (
                share_id, conversation_id, content_id, verifier, nonce, ciphertext, expires_at, identity)
            SELECT gen_random_uuid(), conversation_id, content_id, \(key), '', '', now(), identity FROM calls.transcripts;
            INSERT INTO calls.listeners (
                conversation_id, is_guest, listener, status, sign_key, enc_key, since, seen_at, grant_from)
            SELECT conversation_id, false, lpad(to_hex(\(alice) + \(bob) - creator), 32, '0')::uuid, 'admitted', \(key),
                \(key), now(), now(), creator FROM calls.conversations;
            WITH made AS (
                INSERT INTO calls.rooms (room_id, share, creator_is_guest, creator, host_is_guest, host, participants_max,
                    is_locked, revision, next_seat, was_accepted, created_at, connected_at, expires_at)
                VALUES (gen_random_uuid(), 0, false, \(stored), false, \(stored), 8, false, 1, 2, true, now(), now(), now())
                RETURNING room_id), barred AS (
                INSERT INTO calls.room_barred (room_id, is_guest, participant, code)
                SELECT room_id, false, \(stored), '123456' FROM made)
            INSERT INTO calls.room_participants (
                room_id, is_guest, participant, seat, via, sign_key, enc_key, joined_at)
            SELECT room_id, false, \(stored), 1, 'creator', \(key), \(key), now() FROM made;
            """)
    }
}
