import Contract
import Foundation
import LocalStack
import TestKit

@testable import WhisperClient

/// A whisperer for the listener's page: the client core's machine and keys on a connection of a test's own.
actor PageWhisperer {
    /// How the whisperer answers a knock.
    enum Admission: Sendable, Equatable {
        /// When the test says so.
        case byHand
        case passcode(String)
        case link

        fileprivate var word: String {
            switch self {
            case .byHand: "knock"
            case .passcode: "passcode"
            case .link: "link"
            }
        }
    }

    /// Somebody at the door.
    struct Knock: Sendable {
        var listener: PrincipalID
        var encPublicKey: Bytes32
        var name: String
        var passcode: String?
    }

    private static let patience = Duration.seconds(20)

    nonisolated let name: String
    nonisolated let conversation: String
    nonisolated let id: ConversationID
    /// In the fragment of the link.
    nonisolated let linkSecret: [UInt8]
    private let keys: ConversationKeys
    private let linkKeys: LinkKeys
    private let admission: Admission
    private let profile = newUUID()
    private var phone: Phone
    private var machine: WhispererMachine
    private var generation = 1
    private var isTranscribed = false
    private var tasks: [Task<Void, Never>] = []
    private(set) var knocks: [Knock] = []
    private var admitted: [PrincipalID: Bytes32] = [:]
    /// The server's frames that are not listed elsewhere, the newest last.
    private(set) var heard: [JSONFrame] = []
    private(set) var holds = false
    /// Lines get a signature that is another stream's.
    private var forges = false
    /// The content id of the newest stream, also after its end.
    var content: UUIDText { self.machine.content }

    /// A conversation that has not begun.
    init(
        _ conversation: String = "Story time", by name: String = "Alice", admission: Admission = .byHand,
        transcriptDays: Int = 0, gateway: Int = 1
    ) async throws {
        (self.conversation, self.name, self.admission) = (conversation, name, admission)
        self.keys = ConversationKeys(secret: SecretBytes(Keys.random(32)))
        self.id = self.keys.id
        self.linkSecret = Keys.random(16)
        self.linkKeys = LinkKeys(secret: SecretBytes(self.linkSecret))
        self.machine = WhispererMachine(conversation: self.keys.id, content: UUIDText(newUUID())!)
        self.phone = try await Cluster.phone(gateway: gateway)
        let body = Person.versions.with(["joinHash": Keys.random(32).base64])
        guard try await self.phone.http("PUT", "/profiles/\(self.profile)", body).status == 200 else {
            throw Failed(what: "no profile")
        }
        let info: Fields = ["conversation": conversation, "whisperer": name, "admission": admission.word]
        let sealed = SealedBytes(
            Array(info.json.text.utf8), key: self.linkKeys.infoKey, nonce: Keys.random(12),
            vouchingFor: LiveSeals.info(self.id))
        let create = self.named.with([
            "profileId": self.profile, "signPublicKey": self.keys.publicKeys.sign.bytes.base64,
            "encPublicKey": self.keys.publicKeys.box.bytes.base64, "linkVerifier": self.linkKeys.verifier.base64,
            "transcriptDays": transcriptDays,
        ]).with(self.signed(sealed, as: .create(profile: UUIDText(self.profile)!)))
        try await self.phone.ask("live_create", create).expecting("live_conversation")
        self.drive()
    }

    struct Failed: Error { var what: String }

    /// The conversation's link, with `name` in it if there is one.
    nonisolated func link(name: String? = nil) -> String {
        ListenLink(
            origin: Cluster.stack.publicURL, conversation: self.id, name: name, secret: SecretBytes(self.linkSecret)
        ).text
    }

    // MARK: Streams

    /// Begins to type, or goes on after `cut`; returns when it holds the stream.
    func start() async throws {
        self.phone.client.send("live_start", self.privileged(["contentId": "\(self.machine.content)"]))
        try await waitUntil("the stream begins", within: Self.patience) { self.holds }
    }

    /// Ends the stream. The next `start` begins another.
    func stop() async throws {
        self.phone.client.send("live_stop", self.privileged(["contentId": "\(self.machine.content)"]))
        try await waitUntil("the stream ends", within: Self.patience) { !self.holds }
        self.machine = WhispererMachine(conversation: self.id, content: UUIDText(newUUID())!)
    }

    /// The connection is gone.
    func cut() {
        self.machine.stopped()
        self.holds = false
        self.rest()
        self.phone.client.cut()
    }

    /// On a connection to this gateway, with the stream it had.
    func comeBack(gateway: Int) async throws {
        self.cut()
        try await waitUntil("the whisperer is back", within: .seconds(30), every: .milliseconds(200)) {
            do {
                try await self.reconnect(gateway)
                return true
            } catch {
                return false
            }
        }
        self.drive()
        try await self.start()
    }

    private func reconnect(_ gateway: Int) async throws {
        self.phone = try await Cluster.reconnected(self.phone, gateway: gateway)
        _ = try await self.phone.ask("fetch_pending").expecting("pending_messages")
    }

    func delete() { self.phone.client.send("live_delete", self.privileged()) }

    /// Nothing is done any more.
    func end() { self.cut() }

    // MARK: Typing

    /// The line under the hands now reads so; line ends in it complete lines.
    func types(_ text: String) throws { try self.machine.edited(to: text, at: .now) }

    func says(_ line: String) throws { try self.machine.interject(line) }

    func plays(_ cue: LiveCue) throws { try self.machine.play(cue) }

    /// Says a line whose signature does not fit; only the whisperer's own client can.
    func forges(_ line: String) async throws {
        try await waitUntil("all is out", within: Self.patience) { self.machine.isSettled }
        self.forges = true
        try self.says(line)
        try await waitUntil("the line is out", within: Self.patience) { self.machine.isSettled }
        self.forges = false
    }

    // MARK: Transcripts

    /// Returns when these lines, and all that were said before, can be read by whoever has a link.
    func stores(_ line: Int) async throws {
        try await waitUntil("line \(line) is stored", within: Self.patience) {
            self.heard("live_line_stored").contains { $0["lines"]?.elements.contains(.integer(Int64(line))) == true }
        }
    }

    /// A shared transcript.
    struct Share: Sendable {
        var id: String
        var secret: [UInt8]
        var link: String { Cluster.stack.publicURL + "/transcript/\(self.id)#\(Base64URL.encode(self.secret))" }
    }

    /// Gives away the lines of this stream, as far as they have been sealed by now or will be with the present key.
    func share() async throws -> Share {
        let secret = Keys.random(16)
        let keys = ShareKeys(secret: SecretBytes(secret))
        let lineKeys = Dictionary(
            uniqueKeysWithValues: (1...self.generation).map {
                ("\($0)", JSON.string(self.keys.contentKey(generation: $0).lineKey.bytes.base64))
            })
        let words: Fields = [
            "lineKeys": JSON.object(lineKeys), "conversation": self.conversation, "whisperer": self.name,
        ]
        let sealed = SealedBytes(
            Array(words.json.text.utf8), key: keys.sealKey, nonce: Keys.random(12),
            vouchingFor: LiveSeals.share(self.id, content: self.content))
        let body = Person.versions.with([
            "shareVerifier": keys.verifier.base64, "nonce": sealed.nonceText, "ciphertext": sealed.ciphertextText,
            "expiresInSeconds": 3_600,
        ])
        let answer = try await self.phone.http("POST", "/live/\(self.id)/transcripts/\(self.content)/shares", body)
        guard let id = answer.json["shareId"]?.string else { throw Failed(what: "no share") }
        return Share(id: id, secret: secret)
    }

    /// Rows for `calls.transcript_lines`, as if these lines had been said behind all others. The text of a line is its number.
    func rows(_ lines: ClosedRange<Int>) -> [String] {
        let key = self.keys.contentKey(generation: self.generation)
        return lines.map { line in
            let header = LivePacketHeader(
                conversation: self.id, position: LivePosition(epoch: 1, seq: Int64(1_000_000 + line)), kind: .line,
                line: line, generation: self.generation, to: nil)
            let packet = WhispererMachine.Packet(header: header, content: .line(LiveText("\(line)")!))
            let sealed = self.keys.seal(packet, content: self.content, with: key, nonce: Keys.random(12))
            let (nonce, ciphertext) = (Hexadecimal.text(sealed.nonce), Hexadecimal.text(sealed.ciphertext))
            return """
                ('\(self.id)', '\(self.content)', \(line), 1, \(1_000_000 + line), \(self.generation), \
                '\\x\(nonce)', '\\x\(ciphertext)')
                """
        }
    }

    // MARK: Listeners

    /// The next who waits at the door and is not answered yet.
    func knock() async throws -> Knock {
        try await waitUntil("a knock", within: Self.patience) { !self.knocks.isEmpty }
        return self.knocks.removeFirst()
    }

    func admit(_ knock: Knock) { self.grant([knock.listener: knock.encPublicKey]) }

    /// - Parameter note: words for the listener.
    func refuse(_ listener: PrincipalID, _ reason: String, note: String? = nil, box: Bytes32? = nil) {
        guard let key = box ?? self.admitted[listener] else { return }
        self.admitted[listener] = nil
        var words: Fields = [:]
        words["note"] = note
        let sealed = self.box(words, to: key, as: .refuse)
        let fields: Fields = ["to": "\(listener)", "reason": reason]
        self.phone.client.send(
            "live_refuse", self.privileged(fields).with(self.signed(sealed, as: .refuse(to: listener))))
    }

    /// Gives everybody who is left the key of the next generation, and seals with it.
    func rotate() async throws {
        self.generation += 1
        self.grant(self.admitted)
        try await waitUntil("the next generation is granted", within: Self.patience) {
            self.granted.contains(self.generation)
        }
        self.machine.generationChanged(to: self.generation)
    }

    private var granted: Set<Int> = []

    private func grant(_ listeners: [PrincipalID: Bytes32]) {
        let now = Timestamp(milliseconds: nowMilliseconds())
        let key = self.keys.contentKey(generation: self.generation).key.bytes.base64
        let grants = listeners.map { listener, encPublicKey in
            let sealed = self.box(["generation": self.generation, "key": key], to: encPublicKey, as: .grant)
            return self.signed(sealed, as: .grant(to: listener), at: now).without("from", "timestamp")
                .with(["to": "\(listener)"]).json
        }
        self.admitted.merge(listeners) { $1 }
        self.phone.client.send(
            "live_grant",
            self.privileged([
                "from": self.phone.id, "timestamp": now.milliseconds, "generation": self.generation,
                "grants": JSON.array(grants),
            ]))
    }

    private func knocked(_ payload: JSON) {
        guard let listener = payload["listener"]?.string.flatMap({ PrincipalID($0) }),
            let key = payload["encPublicKey"]?.string?.bytesOfBase64.flatMap({ Bytes32($0) })
        else { return }
        if payload["isKnown"] == .bool(true) { return self.grant([listener: key]) }
        guard let knock = payload["knock"], let timestamp = knock["timestamp"]?.integer,
            let nonce = knock["nonce"]?.string?.bytesOfBase64,
            let ciphertext = knock["ciphertext"]?.string?.bytesOfBase64,
            let plain = try? self.keys.pair.open(
                SealedBox(SealedBytes(nonce: nonce, ciphertext: ciphertext)),
                vouchingFor: LiveSeals.box(type: .knock, id: "\(self.id)")),
            let words = try? JSON(parsing: plain), let name = words["name"]?.string,
            let tag = words["tag"]?.string?.bytesOfBase64,
            self.linkKeys.isTag(tag, ofKnockBy: listener, on: self.id, at: Timestamp(milliseconds: timestamp))
        else { return self.refuse(listener, "declined", box: key) }
        let person = Knock(
            listener: listener, encPublicKey: key, name: name, passcode: words["passcode"]?.string)
        switch self.admission {
        case .link: self.admit(person)
        case .passcode(person.passcode): self.admit(person)
        case .passcode where person.passcode != nil: self.refuse(listener, "passcode", box: key)
        case .passcode, .byHand: self.knocks.append(person)
        }
    }

    // MARK: The connection

    private func drive() {
        let client = self.phone.client
        self.tasks = [
            Task { while let frame = await client.next() { self.hears(frame) } },
            Task {
                while !Task.isCancelled {
                    self.pump()
                    try? await Task.sleep(for: .milliseconds(5))
                }
            },
        ]
    }

    private func rest() {
        for task in self.tasks { task.cancel() }
        self.tasks = []
    }

    private func pump() {
        let time = Timestamp(milliseconds: nowMilliseconds())
        for packet in self.machine.due(at: .now, serverTime: time) {
            let header = packet.header
            let content = self.forges ? UUIDText(newUUID())! : self.machine.content
            let sealed = self.keys.seal(packet, content: content, nonce: Keys.random(12))
            var fields: Fields = [
                "epoch": header.position.epoch, "seq": header.position.seq, "kind": header.kind.rawValue,
                "line": header.line, "generation": header.generation, "nonce": sealed.nonceText,
                "ciphertext": sealed.ciphertextText,
            ]
            fields["to"] = header.to.map { "\($0)" }
            self.phone.client.send("live_packet", self.privileged(fields))
        }
    }

    private func hears(_ frame: JSONFrame) {
        let payload = frame.payload
        switch frame.type {
        case "live_knocked": self.knocked(payload)
        case "live_started":
            self.machine.started(
                .init(
                    epoch: payload["epoch"]?.integer ?? 0, generation: Int(payload["generation"]?.integer ?? 1),
                    line: Int(payload["line"]?.integer ?? 0), isTranscribed: self.isTranscribed), at: .now)
            self.holds = true
        case "live_stopped":
            self.machine.stopped()
            self.holds = false
        case "live_granted": self.granted.insert(Int(payload["generation"]?.integer ?? 0))
        case "live_wanted": self.wanted(payload)
        default: self.heard.append(frame)
        }
    }

    private func wanted(_ payload: JSON) {
        if payload["want"]?.string == "snapshot" { return self.machine.wanted(.snapshot, at: .now) }
        guard let listener = payload["listener"]?.string.flatMap({ PrincipalID($0) }) else { return }
        self.machine.wanted(
            .lines(
                for: listener, from: Int(payload["fromLine"]?.integer ?? 1),
                since: Timestamp(milliseconds: payload["since"]?.integer ?? 0)), at: .now)
    }

    /// Frames of this type that were heard.
    func heard(_ type: String) -> [JSON] { self.heard.filter { $0.type == type }.map(\.payload) }

    // MARK: Frames

    private var named: Fields { ["conversationId": "\(self.id)"] }

    private func privileged(_ fields: Fields = [:]) -> Fields { self.phone.privileges.with(self.named).with(fields) }

    private func box(_ words: Fields, to reader: Bytes32, as type: LiveSignature.FrameType) -> SealedBytes {
        // A listener's key that the server has taken is no weak one.
        try! SealedBox(
            Array(words.json.text.utf8), to: reader, ephemeral: SecretBytes(Keys.random(32)), nonce: Keys.random(12),
            vouchingFor: LiveSeals.box(type: type, id: "\(self.id)")
        ).sealed
    }

    private func signed(
        _ sealed: SealedBytes, as kind: LiveSignature, at time: Timestamp = Timestamp(milliseconds: nowMilliseconds())
    ) -> Fields {
        let from = PrincipalID(self.phone.id)!
        let seal = LiveSigned(sealed, as: kind, of: self.id, from: from, timestamp: time, signer: self.keys.pair)
        return [
            "from": self.phone.id, "timestamp": time.milliseconds, "nonce": sealed.nonceText,
            "ciphertext": sealed.ciphertextText, "sig": seal.signature.bytes.base64,
        ]
    }
}
