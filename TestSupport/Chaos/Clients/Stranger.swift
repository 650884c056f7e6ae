import TestKit

/// Somebody who does to a cluster what a stranger can, bit after bit, in an order that the seed decides. Nothing is
/// promised to it; what is promised to all others holds meanwhile. It has an address of its own, and goes past
/// whatever is done to others' links.
actor Stranger {
    private let port: Int
    private let address: String
    private let victims: [String]
    private let ledger: Ledger
    private let signer = OddSigner()
    private var random: SeededGenerator
    private var phone: Phone?
    private var file: String?
    /// Its own profile, with a conversation whose lines are kept.
    private var stream: StrangerStream?
    /// Connections that it keeps, and what it reads slowly. The oldest go first.
    private var open: [OpenConnection] = []
    private(set) var acts = 0

    /// Longest wait for an answer: much fails around it.
    private static let timeout = Duration.seconds(3)
    /// Between two acts, in milliseconds.
    private static let pauses = 100...600
    private static let openMax = 60
    private static let silentAtOnce = 30
    private static let downloadsAtOnce = 6
    private static let fileBytes = 1_000_000
    private static let framesAtOnce = 30
    private static let largeBytes = 256 * 1_024
    private static let roomsAtOnce = 10
    private static let guestsAtOnce = 3

    private enum Tool: CaseIterable {
        case silence, foreignTokens, foreignTokensOverHTTP, failedProofs, forgeries, mail, largeMail, twoConnections
        case groups, reports, backup, typing, nonsense, binary, tooLong, cutFrame, slowDownloads
        case documents, evidence, lines, rooms, knocks
    }

    /// - Parameters:
    ///   - port: of the balancer's public origin.
    ///   - victims: the crowd.
    init(number: Int, seed: UInt64, at port: Int, victims: [String], _ ledger: Ledger) {
        self.port = port
        self.address = "127.66.\(number / 250).\(1 + number % 250)"
        self.victims = victims
        self.ledger = ledger
        self.random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
    }

    /// Until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            // A request that is refused or does not come through is given up.
            try? await self.act(Tool.allCases.randomElement(using: &self.random)!)
            try? await Task.sleep(for: .milliseconds(Int.random(in: Self.pauses, using: &self.random)))
        }
        self.open = []
        self.phone?.client.cut()
    }

    private func act(_ tool: Tool) async throws {
        let phone = try await self.present()
        let victim = self.victims.randomElement(using: &self.random)!
        switch tool {
        case .silence:
            self.keep(
                (0..<Self.silentAtOnce).compactMap { _ in try? OpenConnection(to: self.port, from: self.address) })
        case .foreignTokens:
            let token = Keys.random(16).hexadecimal
            let foreign = Phone(client: phone.client, person: phone.person, id: phone.id, token: token)
            self.say(Self.framesAtOnce, of: "fetch_pending", on: foreign) { _ in [:] }
        case .foreignTokensOverHTTP:
            for path in ["/users/\(victim)/keys", "/calls/ringing", "/backup/contacts"] {
                var call = HTTPCall(
                    "GET", self.origin + path, headers: ["Authorization": "Bearer \(Keys.random(16).hexadecimal)"])
                call.from = self.address
                call.timeout = 3
                _ = try await call.answer()
            }
        case .failedProofs:
            self.say(Self.framesAtOnce, of: "register_proof", on: phone) { _ in
                let challenge: Fields = ["challengeId": newUUID(), "challenge": Keys.random(32).base64]
                return phone.person.proof(of: challenge.json)
            }
        case .forgeries:
            let torsion = Torsion.oneOfEachOrder.randomElement(using: &self.random)!
            self.say(Self.framesAtOnce, of: "send_message", on: phone) { _ in
                self.message(to: victim, from: phone, torsion)
            }
        case .mail:
            self.say(Self.framesAtOnce, of: "send_message", on: phone) { _ in self.message(to: victim, from: phone) }
        case .largeMail:
            self.say(2, of: "send_message", on: phone) { _ in
                self.message(to: victim, from: phone, bytes: Self.largeBytes)
            }
        case .twoConnections:
            let other = phone.moved(to: try await self.connect())
            for phone in [other, phone, other] {
                self.say(Self.framesAtOnce, of: "send_message", on: phone) { _ in self.message(to: victim, from: phone)
                }
            }
            self.phone = other
        case .groups:
            let members = Array(self.victims.shuffled(using: &self.random).prefix(5))
            self.say(2, of: "group_create", on: phone) { _ in ["title": "Join us", "memberIds": members] }
        case .reports:
            self.say(5, of: "report", on: phone) { _ in ["targetId": victim, "reason": "spam", "note": "no reason"] }
        case .backup:
            let backup: Fields = ["nonce": Keys.random(24).base64, "ciphertext": Keys.random(200_000).base64]
            _ = try await phone.http("PUT", "/backup/contacts", Person.versions.with(backup), at: self.origin)
        case .typing: self.say(Self.framesAtOnce, of: "typing", on: phone) { _ in ["to": victim, "isTyping": true] }
        case .nonsense: phone.client.send(texts: Array(repeating: #"{"type":"ping"}"#, count: Self.framesAtOnce))
        case .binary: phone.client.send(raw: ClientFraming.frame(.binary, [1, 2, 3]))
        case .tooLong: phone.client.send(raw: ClientFraming.frame(.text, [UInt8](repeating: 0x20, count: 600_000)))
        case .cutFrame:
            phone.client.send(
                raw: Array(ClientFraming.frame(.text, [UInt8](repeating: 0x20, count: 1_000)).prefix(500)))
            phone.client.cut()
        case .slowDownloads: try await self.downloadSlowly(phone)
        case .documents:
            let stream = try await self.ownStream(phone)
            for path in stream.documents {
                var call = HTTPCall(
                    "PUT", self.origin + path,
                    headers: [
                        "Authorization": "Bearer \(phone.token)", "Content-Type": "application/json",
                        "If-None-Match": "*",
                    ], body: Array(stream.fullDocument.json.text.utf8))
                (call.from, call.timeout) = (self.address, 3)
                _ = try await call.answer()
            }
        case .evidence:
            // About messages that were never sent.
            self.say(2, of: "report", on: phone) { _ in
                let letter = phone.message(to: victim, bytes: Self.largeBytes) { $0["msgType"] = "file" }
                return ["targetId": victim, "reason": "abuse", "evidence": letter.json]
            }
        case .lines:
            var stream = try await self.ownStream(phone)
            for packet in stream.takes() + stream.lines(Self.framesAtOnce) {
                self.say(1, of: packet.type, on: phone) { _ in packet.fields }
            }
            self.stream = stream
        case .rooms:
            self.say(Self.roomsAtOnce, of: "room_create", on: phone) { _ in
                [
                    "roomId": newUUID(), "signPublicKey": phone.person.keys.signPublicKey.base64,
                    "encPublicKey": phone.person.keys.encPublicKey.base64, "linkVerifier": Keys.random(32).base64,
                ]
            }
        case .knocks:
            let stream = try await self.ownStream(phone)
            for _ in 0..<Self.guestsAtOnce { try await self.knock(at: stream) }
        }
        self.acts += 1
    }

    // MARK: Doing

    private var origin: String { "http://127.0.0.1:\(self.port)" }

    private func connect() async throws -> TestClient {
        try await TestClient.connect(to: "ws://127.0.0.1:\(self.port)/ws", from: self.address, timeout: Self.timeout)
    }

    /// It comes back whenever it has been thrown out.
    private func present() async throws -> Phone {
        if let phone, phone.client.ending == nil { return phone }
        let client = try await self.connect()
        if let phone {
            self.phone = phone.moved(to: client)
        } else {
            let phone = try await self.signer.logIn(on: client)
            self.ledger.isStranger(phone.id)
            self.phone = phone
        }
        return self.phone!
    }

    /// In one write. Nobody waits for answers.
    private func say(_ count: Int, of type: String, on phone: Phone, _ fields: (Int) -> Fields) {
        phone.client.send(
            texts: (0..<count).map { TestClient.text(type, phone.privileges.with(fields($0)), requestID: "\($0)") })
    }

    private func message(
        to victim: String, from phone: Phone, _ torsion: [UInt8]? = nil, bytes: Int = 40
    ) -> Fields {
        let message = phone.message(to: victim, bytes: bytes) { $0["msgType"] = "file" }
        let digest = Phone.digest(of: message)
        let signature = self.signer.sign(digest, adding: torsion)
        if !self.signer.fits(signature, digest) {
            self.ledger.forged(Letter(message["messageId"]!.json.string!, to: victim))
        }
        return message.with(["sig": signature.base64])
    }

    private func ownStream(_ phone: Phone) async throws -> StrangerStream {
        if let stream { return stream }
        let stream = StrangerStream(of: phone)
        let profile = Person.versions.with(["joinHash": Keys.random(32).base64])
        _ = try await phone.http("PUT", "/profiles/\(stream.profile)", profile, at: self.origin)
        self.say(1, of: "live_create", on: phone) { _ in stream.create }
        self.stream = stream
        return stream
    }

    /// As a browser that nobody knows, and that goes at once.
    private func knock(at stream: StrangerStream) async throws {
        let (client, keys) = (try await self.connect(), Keys())
        defer { client.cut() }
        let own: Fields = ["signPublicKey": keys.signPublicKey.base64, "encPublicKey": keys.encPublicKey.base64]
        let challenge = try await client.ask("guest_begin", Person.versions.with(own)).payload
        let proof: Fields = [
            "challengeId": challenge["challengeId"]?.string ?? "",
            "signature": keys.sign(challenge["challenge"]?.string?.bytesOfBase64 ?? []).base64,
        ]
        let ack = try await client.ask("guest_proof", Person.versions.with(proof)).payload
        guard let id = ack["guestId"]?.string, let token = ack["guestToken"]?.string else { return }
        let knock = stream.knock(from: id, by: keys).with(own).with(["guestToken": token])
        _ = try await client.ask("live_knock", Person.versions.with(knock))
    }

    private func downloadSlowly(_ phone: Phone) async throws {
        if self.file == nil {
            let upload: Fields = ["contentType": "image/jpeg", "sizeBytes": Self.fileBytes]
            let presign = try await phone.http(
                "POST", "/attachments/presign", upload.with(["purpose": "message_attachment"]), at: self.origin)
            guard let url = presign.json["uploadUrl"]?.string else { return }
            guard try await Phone.put(Keys.random(Self.fileBytes), to: url).status == 200 else { return }
            self.file = presign.json["objectKey"]?.string
        }
        guard let file = self.file else { return }
        let answer = try await phone.http("GET", "/attachments/\(file)/download", at: self.origin)
        guard let url = answer.json["downloadUrl"]?.string else { return }
        var call = HTTPCall("GET", url)
        call.from = self.address
        self.keep((0..<Self.downloadsAtOnce).compactMap { _ in try? call.stalled(after: 0, receiveBuffer: 4_096) })
    }

    private func keep(_ connections: [OpenConnection]) { self.open = (self.open + connections).suffix(Self.openMax) }
}

extension [UInt8] {
    /// Two digits each.
    fileprivate var hexadecimal: String {
        self.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
