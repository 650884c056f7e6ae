package import Contract

/// The keys derived from the secret of a room's link (contract §15.2). The server never has the secret: it stores the
/// verifier, and sees the proof that a participant shows.
package struct RoomSecret: Sendable {
    package let secret: SecretBytes
    /// Proves that its sender has the link. 32 bytes.
    package let proof: [UInt8]

    /// - Parameter secret: 16 random bytes.
    package init(_ secret: SecretBytes) {
        precondition(secret.bytes.count == RoomLimits.linkSecretBytes)
        self.secret = secret
        self.proof = KeyDerivation.key(of: secret, info: LiveKeyNames.roomProof).bytes
    }

    package static func random() -> RoomSecret { RoomSecret(SecretBytes(Sodium.random(RoomLimits.linkSecretBytes))) }

    /// Stored by the server, to check the proof.
    package var verifier: [UInt8] { Sodium.sha256(self.proof) }
}

/// The keys between two participants. Both must derive the same ones without an exchange (contract §15.2, §19.23).
package struct PairKeys: Sendable {
    /// The other participant's keys.
    package let publicKeys: PublicKeys
    /// Both have the link's secret.
    package let isSalted: Bool
    private let secret: SecretBytes?

    /// - Parameters:
    ///   - secret: the secret of the link by which we joined or created the room. The server's word on that is ignored.
    ///   - vias: all ways by which the server has said so far that the other joined. One that implies the secret is
    ///     enough: a server that takes it back later wants us to leave the salt out.
    package init(secret: RoomSecret?, other keys: PublicKeys, vias: Set<RoomParticipant.Way>) {
        let otherHasSecret = vias.contains(.creator) || vias.contains(.link)
        self.publicKeys = keys
        self.isSalted = secret != nil && otherHasSecret
        self.secret = self.isSalted ? secret?.secret : nil
    }

    /// A signal in a BOX for the other participant, signed by us (contract §14.5).
    /// - Throws: `.weakKey` if the other's key is of low order.
    package func seal(
        _ content: SignalContent, in room: UUIDText, from own: PrincipalID, to peer: PrincipalID, at time: Timestamp,
        signer: KeyPair
    ) throws(KeyError) -> LiveSigned {
        let box = try SealedBox(
            content.bytes, to: self.publicKeys.box, ephemeral: SecretBytes(Sodium.random(LiveLimits.secretBytes)),
            nonce: Sodium.random(LiveLimits.nonceBytes), salt: self.secret, vouchingFor: LiveSeals.signal(in: room))
        var signal = LiveSigned(
            from: own, timestamp: time, nonce: box.sealed.nonce, ciphertext: box.sealed.ciphertext,
            signature: Bytes64(Array(repeating: 0, count: Limits.signatureBytes))!)
        signal.signature = Bytes64(signer.sign(RoomSignature.message(signal, to: peer, in: room)))!
        return signal
    }

    /// - Returns: `nil` if the other participant did not sign it, it is not for us, or its sealed kind differs from the
    ///   given one.
    package func open(
        _ signal: LiveSigned, _ kind: RoomSignalKind, in room: UUIDText, to own: PrincipalID, reader: KeyPair
    ) -> SignalContent? {
        let message = RoomSignature.message(signal, to: own, in: room)
        guard
            Sodium.verify(
                signal.signature.bytes, of: Sodium.sha256(message.bytes), publicKey: self.publicKeys.sign.bytes),
            let bytes = try? reader.open(
                SealedBox(SealedBytes(nonce: signal.nonce, ciphertext: signal.ciphertext)), salt: self.secret,
                vouchingFor: LiveSeals.signal(in: room))
        else { return nil }
        return SignalContent(bytes, kind: kind)
    }
}

/// The link that opens a room: `{origin}/join/{roomId}#{secret}` (contract §15.2). Its secret is the fragment, which no
/// browser sends.
package struct RoomLink: Sendable {
    /// Scheme, host and port: `https://whisper.example`.
    package let origin: String
    package let room: UUIDText
    package let secret: SecretBytes

    private static let folder = "/join/"

    /// - Parameter secret: 16 random bytes.
    package init(origin: String, room: UUIDText, secret: SecretBytes) {
        precondition(secret.bytes.count == RoomLimits.linkSecretBytes)
        self.origin = origin
        self.room = room
        self.secret = secret
    }

    /// - Returns: `nil` if the text is no such link.
    package init?(_ text: String) {
        let halves = text.split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, let secret = Base64URL.decode(halves[1]), secret.count == RoomLimits.linkSecretBytes,
            let scheme = ["https://", "http://"].first(where: { halves[0].hasPrefix($0) })
        else { return nil }
        let rest = halves[0].dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/"), slash != rest.startIndex, rest[slash...].hasPrefix(Self.folder),
            let room = UUIDText(String(rest[slash...].dropFirst(Self.folder.count))), room.upperCase == 0
        else { return nil }
        self.init(origin: scheme + rest[..<slash], room: room, secret: SecretBytes(secret))
    }

    /// The whole link, with its secret: for the user's eyes and clipboard, never for a log.
    package var text: String { self.origin + Self.folder + "\(self.room)#" + Base64URL.encode(self.secret.bytes) }
}
