import Contract

/// The keys of one conversation, and the frames that make it and let listeners in (contract §14.5 to §14.8). Seals hold
/// chance: the server opens none.
struct LiveFrames {
    let id: ConversationID
    /// Of its first stream.
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

    func create(by whisperer: Client) -> String {
        let verifier = base64(SigningKeys.sha256(self.proof))
        let seal = self.seal(.create(profile: self.profile), from: whisperer.whisperID, by: self.keys)
        return self.frame(
            "live_create", whisperer.session,
            #""profileId":"\#(self.profile)",\#(self.keys.members),"linkVerifier":"\#(verifier)","#
                + #""transcriptDays":\#(self.transcriptDays),"#
                + seal.whole(from: whisperer.whisperID))
    }

    func start(by whisperer: Client) -> String {
        self.frame("live_start", whisperer.session, #""contentId":"\#(self.content)""#)
    }

    func knock(by guest: Client) -> String {
        let seal = self.seal(.knock, from: guest.guestID, by: guest.keys)
        return self.frame(
            "live_knock", guest.guest,
            #""linkProof":"\#(base64(self.proof))",\#(guest.keys.members),"# + seal.whole(from: guest.guestID))
    }

    /// Lets one listener in.
    func grant(_ listener: PrincipalID, by whisperer: Client) -> String {
        let seal = self.seal(.grant(to: listener), from: whisperer.whisperID, by: self.keys)
        return self.frame(
            "live_grant", whisperer.session,
            #""from":"\#(whisperer.whisperID)","timestamp":\#(seal.timestamp.milliseconds),"generation":1,"#
                + #""grants":[{"to":"\#(listener)",\#(seal.members)}]"#)
    }

    /// - Parameter position: what the listener has heard; `nil`: nothing.
    func join(by guest: Client, after position: LivePosition? = nil) -> String {
        let after = position.map {
            #""after":{"contentId":"\#(self.content)","epoch":\#($0.epoch),"seq":\#($0.seq),"line":0}"#
        }
        return self.frame("live_join", guest.guest, after)
    }

    private func frame(_ type: String, _ token: String, _ rest: String?) -> String {
        #"{"type":"\#(type)","payload":{"protocolVersion":1,"cryptoVersion":1,\#(token),"conversationId":"\#(self.id)""#
            + (rest.map { "," + $0 } ?? "") + "}}"
    }

    // MARK: Signed seals

    private struct Seal {
        let timestamp: Timestamp
        let nonce: String
        let ciphertext: String
        let signature: String

        var members: String {
            #""nonce":"\#(self.nonce)","ciphertext":"\#(self.ciphertext)","sig":"\#(self.signature)""#
        }

        func whole(from: String) -> String {
            #""from":"\#(from)","timestamp":\#(self.timestamp.milliseconds),\#(self.members)"#
        }
    }

    private static let sealedBytes = 96

    private func seal(_ kind: LiveSignature, from: String, by keys: SigningKeys) -> Seal {
        guard let sender = PrincipalID(from) else { preconditionFailure("the server named no sender") }
        let (nonce, ciphertext) = (
            base64(SigningKeys.random(LiveLimits.nonceBytes)), base64(SigningKeys.random(Self.sealedBytes))
        )
        let now = Timestamp.now
        let message = kind.message(of: self.id, from: sender, timestamp: now, nonce: nonce, ciphertext: ciphertext)
        return Seal(
            timestamp: now, nonce: nonce, ciphertext: ciphertext,
            signature: base64(keys.sign(SigningKeys.sha256(message.bytes))))
    }
}

extension Client {
    /// Of a client that is a guest.
    var guestID: String {
        GuestID.derived(
            signPublicKey: self.keys.publicKey, encPublicKey: self.keys.boxPublicKey, sha256: SigningKeys.sha256
        ).description
    }

    fileprivate var session: String { #""sessionToken":"\#(self.token)""# }
    fileprivate var guest: String { #""guestToken":"\#(self.token)""# }

    var guestBegin: String {
        #"{"type":"guest_begin","payload":{"protocolVersion":1,"cryptoVersion":1,\#(self.keys.members)}}"#
    }

    /// - Returns: `nil` if this is no challenge for guests.
    func guestProof(_ challenge: FrameBytes) -> String? {
        guard let id = challenge.text(#""challengeId":""#),
            let bytes = challenge.text(#""challenge":""#).flatMap({ Base64.decode($0) }),
            bytes.starts(with: "whisper-guest-v1".utf8)
        else { return nil }
        return #"{"type":"guest_proof","payload":{"protocolVersion":1,"cryptoVersion":1,"challengeId":"\#(id)","#
            + #""signature":"\#(base64(self.keys.sign(bytes)))"}}"#
    }
}

extension SigningKeys {
    fileprivate var members: String {
        #""signPublicKey":"\#(base64(self.publicKey))","encPublicKey":"\#(base64(self.boxPublicKey))""#
    }
}

func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
