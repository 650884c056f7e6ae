import LocalStack
import TestKit

/// Things that are stored before anything happens, and have days to live. For an absent client: a message, a receipt
/// and a group event. A file that belongs to the message, and one that no message points to yet. A backup, a ban, and
/// the sessions of all. No run is long enough for one of them to expire.
struct Keepsakes: Sendable {
    /// Away until the end.
    private let alice: Phone
    private let bob: Phone
    private let banned: Phone
    private let sent: String
    private let waiting: String
    private let group: String
    private let linked: String
    private let unlinked: String
    private let stack: LocalStack
    private let ledger: Ledger

    private static let bytes = 3_000
    private static let banMilliseconds: Int64 = 86_400_000
    /// For each thing that is looked for. Services have just lost what Redis kept for them.
    private static let timeout = Duration.seconds(10)

    static func lay(on stack: LocalStack, _ ledger: Ledger) async throws -> Keepsakes {
        func phone() async throws -> Phone {
            try await Person().logIn(on: try await TestClient.connect(to: stack.endpoint))
        }
        let (alice, bob, banned) = (try await phone(), try await phone(), try await phone())
        let origin = stack.publicURL
        let backup: Fields = ["nonce": Keys.random(24).base64, "ciphertext": Keys.random(Self.bytes).base64]
        try Self.expect(try await bob.http("PUT", "/backup/contacts", Person.versions.with(backup), at: origin))

        let sent = try await alice.text(bob)
        alice.client.cut()
        try await waitUntil("nobody is there to be told", within: Self.timeout) { !alice.client.isConnected }
        _ = try await bob.received(sent)
        bob.acknowledge(sent, from: alice.id)
        let linked = try await Self.upload(by: bob, at: origin)
        let unlinked = try await Self.upload(by: bob, at: origin)
        let letter = bob.message(to: alice.id) { $0["msgType"] = "image" }
            .with(["attachment": Phone.attachment(linked, bytes: Self.bytes).json])
        try await bob.send(letter).expecting("message_accepted")
        let event = try await bob.ask("group_create", ["title": "Keepsakes", "memberIds": [alice.id]])
            .expecting("group_event")
        bob.client.cut()

        let end = nowMilliseconds() + Self.banMilliseconds
        let ban: Fields = ["whisperId": banned.id, "reason": "chaos", "expiresAt": end]
        let headers = ["Authorization": "Bearer \(stack.configuration.adminToken)", "Content-Type": "application/json"]
        let body = Array(ban.json.text.utf8)
        try Self.expect(try await HTTPCall("POST", stack.opsURL + "/admin/ban", headers: headers, body: body).answer())
        return Keepsakes(
            alice: alice, bob: bob, banned: banned, sent: sent, waiting: letter["messageId"]!.json.string!,
            group: event.payload["group"]?["groupId"]?.string ?? "", linked: linked, unlinked: unlinked, stack: stack,
            ledger: ledger)
    }

    private struct Refused: Error {
        var answer: HTTPCall.Answer
    }

    private static func expect(_ answer: HTTPCall.Answer) throws {
        guard answer.status == 200 else { throw Refused(answer: answer) }
    }

    private static func upload(by phone: Phone, at origin: String) async throws -> String {
        let fields: Fields = ["contentType": "image/jpeg", "sizeBytes": Self.bytes, "purpose": "message_attachment"]
        let presign = try await phone.http("POST", "/attachments/presign", fields, at: origin)
        guard let url = presign.json["uploadUrl"]?.string, let key = presign.json["objectKey"]?.string else {
            throw Refused(answer: presign)
        }
        try Self.expect(try await Phone.put(Keys.random(Self.bytes), to: url))
        return key
    }

    // MARK: Looking

    /// Remarks whatever is not there any more.
    func look() async {
        await self.look(for: "a receipt that waited") {
            let alice = try await self.back(self.alice)
            _ = try await alice.fetch()
            _ = try await alice.client.next("message_delivered") { $0.payload.id == self.sent }
            return true
        }
        await self.look(for: "news of a group that waited") {
            let list = try await self.back(self.alice).ask("group_list").expecting("groups").payload["groups"]
            return list?.elements.contains { $0["groupId"]?.string == self.group } ?? false
        }
        await self.look(for: "a message that waited") {
            try await self.back(self.alice).pending().contains { $0.id == self.waiting }
        }
        await self.look(for: "the file of a message that waited") { try await self.has(self.alice, self.linked) }
        await self.look(for: "a file that no message points to yet") { try await self.has(self.bob, self.unlinked) }
        await self.look(for: "a backup") {
            try await self.bob.http("GET", "/backup/contacts", at: self.stack.publicURL).status == 200
        }
        await self.look(for: "a ban") {
            let client = try await TestClient.connect(to: self.stack.endpoint)
            let begin = self.banned.person.begin(as: self.banned.id)
            return try await client.ask("register_begin", begin).errorCode == "USER_BANNED"
        }
    }

    private func look(for what: String, _ isThere: () async throws -> Bool) async {
        var last = "it is not there"
        do {
            try await waitUntil(what, within: Self.timeout, every: .seconds(1)) {
                do {
                    return try await isThere()
                } catch {
                    last = "\(error)"
                    return false
                }
            }
        } catch {
            self.ledger.remark("deleted before its time: \(what); \(last)")
        }
    }

    private func back(_ phone: Phone) async throws -> Phone {
        phone.moved(to: try await TestClient.connect(to: self.stack.endpoint))
    }

    private func has(_ phone: Phone, _ key: String) async throws -> Bool {
        let answer = try await phone.http("GET", "/attachments/\(key)/download", at: self.stack.publicURL)
        guard let url = answer.json["downloadUrl"]?.string else { return false }
        return try await HTTPCall("GET", url).answer().body.count == Self.bytes
    }
}
