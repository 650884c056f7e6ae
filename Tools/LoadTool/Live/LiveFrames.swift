import Contract

/// The keys of one conversation, and the frames that make it and let listeners in (contract §14.5 to §14.8). Seals hold
/// random bytes: the server opens none.
struct LiveFrames {
    let id: ConversationID
    /// The content id of its first stream.
    let content = UUIDText.random()
    private let profile: UUIDText
    private let transcriptDays: Int
    private let keys = SigningKeys()
    private let proof = SigningKeys.random(LiveLimits.secretBytes)

    /// - Parameter transcriptDays: how long lines are kept; 0: they are not.
    init(profile: UUIDText, transcriptDays: Int = 0) {
        self.profile = profile
        self.transcriptDays = transcriptDays
        self.id = ConversationID.derived(
            signPublicKey: self.keys.publicKey, encPublicKey: self.keys.boxPublicKey, sha256: SigningKeys.sha256)
    }

    func create(by whisperer: Client) -> LiveCreate {
        LiveCreate(
            self.id, of: self.profile, signPublicKey: self.keys.sign, encPublicKey: self.keys.box,
            linkVerifier: Bytes32(SigningKeys.sha256(self.proof))!, transcriptDays: self.transcriptDays,
            info: self.seal(.create(profile: self.profile), from: whisperer, by: self.keys))
    }

    func start() -> LiveStart { LiveStart(self.id, content: self.content) }

    func knock(by guest: Client) -> LiveKnock {
        LiveKnock(
            self.id, linkProof: Bytes32(self.proof)!, signPublicKey: guest.keys.sign, encPublicKey: guest.keys.box,
            knock: self.seal(.knock, from: guest, by: guest.keys))
    }

    /// Lets one listener in.
    func grant(_ listener: PrincipalID, by whisperer: Client) -> LiveGrant {
        let seal = self.seal(.grant(to: listener), from: whisperer, by: self.keys)
        return LiveGrant(
            self.id, from: seal.from, generation: 1, timestamp: seal.timestamp, grants: [.init(to: listener, seal)])
    }

    /// - Parameter position: what the listener has heard; `nil`: nothing.
    func join(after position: LivePosition? = nil) -> LiveJoin {
        LiveJoin(self.id, after: position.map { LivePoint(content: self.content, position: $0, line: 0) })
    }

    private static let sealedBytes = 96

    private func seal(_ kind: LiveSignature, from sender: Client, by keys: SigningKeys) -> LiveSigned {
        var seal = LiveSigned(
            from: sender.id, timestamp: .now, nonce: SigningKeys.random(LiveLimits.nonceBytes),
            ciphertext: SigningKeys.random(Self.sealedBytes), signature: Bytes64())
        seal.signature = Bytes64(keys.sign(SigningKeys.sha256(seal.message(kind, of: self.id).bytes)))!
        return seal
    }
}

extension Client {
    /// The id of a registered identity; else of a guest.
    var id: PrincipalID {
        PrincipalID(self.whisperID)
            ?? .guest(
                GuestID.derived(
                    signPublicKey: self.keys.publicKey, encPublicKey: self.keys.boxPublicKey,
                    sha256: SigningKeys.sha256))
    }

    func text(_ frame: any ClientFrame) -> [UInt8] {
        frame.text(requestID: nil, token: self.whisperID.isEmpty ? .guest(self.token) : .session(self.token))
    }

    var guestBegin: GuestBegin { GuestBegin(signPublicKey: self.keys.sign, encPublicKey: self.keys.box) }

    /// - Returns: `nil` if this is no challenge for guests.
    func guestProof(_ challenge: FrameBytes) -> GuestProof? {
        guard let id = challenge.text(#""challengeId":""#).flatMap({ UUIDText($0) }),
            let bytes = challenge.text(#""challenge":""#).flatMap({ Base64.decode($0) }),
            bytes.starts(with: "whisper-guest-v1".utf8)
        else { return nil }
        return GuestProof(challengeID: id, signature: Bytes64(self.keys.sign(bytes))!)
    }
}

extension SigningKeys {
    var sign: Bytes32 { Bytes32(self.publicKey)! }
    var box: Bytes32 { Bytes32(self.boxPublicKey)! }
}

func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
