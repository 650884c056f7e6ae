import Contract

/// The frames about live conversations that this client writes (contract §14.6 to §14.10).
enum LiveFrame {
    struct Create: ClientPayload {
        static let type = "live_create"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var profileId: String
        var signPublicKey: String
        var encPublicKey: String
        var linkVerifier: String
        var transcriptDays: Int
        var from: String
        var timestamp: Int64
        var nonce: String
        var ciphertext: String
        var sig: String

        /// - Parameter info: signed with the conversation's key.
        init(
            _ keys: ConversationKeys, link: LinkKeys, profile: UUIDText, transcriptDays: Int, info: SignedSeal,
            token: String
        ) {
            self.sessionToken = token
            self.conversationId = "\(keys.id)"
            self.profileId = "\(profile)"
            self.signPublicKey = text(keys.publicKeys.sign.bytes)
            self.encPublicKey = text(keys.publicKeys.box.bytes)
            self.linkVerifier = text(link.verifier)
            self.transcriptDays = transcriptDays
            self.from = "\(info.from)"
            self.timestamp = info.timestamp.milliseconds
            self.nonce = info.sealed.nonceText
            self.ciphertext = info.sealed.ciphertextText
            self.sig = text(info.signature)
        }
    }

    struct Knock: ClientPayload {
        static let type = "live_knock"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var linkProof: String
        var signPublicKey: String
        var encPublicKey: String
        var from: String
        var timestamp: Int64
        var nonce: String
        var ciphertext: String
        var sig: String

        /// - Parameters:
        ///   - knock: signed with the listener's own key.
        ///   - keys: of the listener.
        init(
            _ conversation: ConversationID, link: LinkKeys, keys: PublicKeys, knock: SignedSeal, token: String
        ) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.linkProof = text(link.proof)
            self.signPublicKey = text(keys.sign.bytes)
            self.encPublicKey = text(keys.box.bytes)
            self.from = "\(knock.from)"
            self.timestamp = knock.timestamp.milliseconds
            self.nonce = knock.sealed.nonceText
            self.ciphertext = knock.sealed.ciphertextText
            self.sig = text(knock.signature)
        }
    }

    struct Grant: ClientPayload {
        struct One: Encodable, Sendable {
            var to: String
            var nonce: String
            var ciphertext: String
            var sig: String
        }

        static let type = "live_grant"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var from: String
        var generation: Int
        var timestamp: Int64
        var grants: [One]

        /// - Parameter grants: each signed with the conversation's key, by the same device at the same time.
        init(
            _ conversation: ConversationID, generation: Int, from: WhisperID, timestamp: Timestamp,
            grants: [(to: PrincipalID, seal: SignedSeal)], token: String
        ) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.from = "\(from)"
            self.generation = generation
            self.timestamp = timestamp.milliseconds
            self.grants = grants.map { grant in
                One(
                    to: "\(grant.to)", nonce: grant.seal.sealed.nonceText,
                    ciphertext: grant.seal.sealed.ciphertextText, sig: text(grant.seal.signature))
            }
        }
    }

    struct Refuse: ClientPayload {
        static let type = "live_refuse"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var to: String
        var reason: String
        var from: String
        var timestamp: Int64
        var nonce: String
        var ciphertext: String
        var sig: String

        init(
            _ conversation: ConversationID, to listener: PrincipalID, reason: RefusalReason, refusal: SignedSeal,
            token: String
        ) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.to = "\(listener)"
            self.reason = reason.rawValue
            self.from = "\(refusal.from)"
            self.timestamp = refusal.timestamp.milliseconds
            self.nonce = refusal.sealed.nonceText
            self.ciphertext = refusal.sealed.ciphertextText
            self.sig = text(refusal.signature)
        }
    }

    struct Update: ClientPayload {
        struct Info: Encodable, Sendable {
            var nonce: String
            var ciphertext: String
        }

        static let type = "live_update"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var linkVerifier: String
        var transcriptDays: Int
        var info: Info
        var from: String
        var timestamp: Int64
        var sig: String

        /// - Parameter info: signed with the conversation's key.
        init(
            _ conversation: ConversationID, link: LinkKeys, transcriptDays: Int, info: SignedSeal, token: String
        ) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.linkVerifier = text(link.verifier)
            self.transcriptDays = transcriptDays
            self.info = Info(nonce: info.sealed.nonceText, ciphertext: info.sealed.ciphertextText)
            self.from = "\(info.from)"
            self.timestamp = info.timestamp.milliseconds
            self.sig = text(info.signature)
        }
    }

    struct Delete: ClientPayload {
        static let type = "live_delete"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String

        init(_ conversation: ConversationID, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
        }
    }

    /// All conversations of a profile.
    struct List: ClientPayload {
        static let type = "live_list"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var profileId: String

        init(_ profile: UUIDText, token: String) {
            self.sessionToken = token
            self.profileId = "\(profile)"
        }
    }

    struct Start: ClientPayload {
        static let type = "live_start"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var contentId: String

        init(_ conversation: ConversationID, content: UUIDText, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.contentId = "\(content)"
        }
    }

    struct Stop: ClientPayload {
        static let type = "live_stop"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var contentId: String

        init(_ conversation: ConversationID, content: UUIDText, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.contentId = "\(content)"
        }
    }

    struct Join: ClientPayload {
        struct Point: Encodable, Sendable {
            var contentId: String
            var epoch: Int64
            var seq: Int64
            var line: Int
        }

        static let type = "live_join"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var after: Point?

        init(_ conversation: ConversationID, after: ListenerMachine.After?, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.after = after.map { after in
                Point(
                    contentId: "\(after.content)", epoch: after.position.epoch, seq: after.position.seq,
                    line: after.line)
            }
        }
    }

    struct Roster: ClientPayload {
        static let type = "live_roster"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String

        init(_ conversation: ConversationID, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
        }
    }

    struct Leave: ClientPayload {
        static let type = "live_leave"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String

        init(_ conversation: ConversationID, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
        }
    }

    struct Resync: ClientPayload {
        static let type = "live_resync"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var epoch: Int64
        var seq: Int64
        var line: Int

        init(_ conversation: ConversationID, _ position: LivePosition, line: Int, token: String) {
            self.sessionToken = token
            self.conversationId = "\(conversation)"
            self.epoch = position.epoch
            self.seq = position.seq
            self.line = line
        }
    }

    struct Packet: ClientPayload {
        static let type = "live_packet"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var conversationId: String
        var epoch: Int64
        var seq: Int64
        var kind: String
        var line: Int
        var generation: Int
        var to: String?
        var nonce: String
        var ciphertext: String

        init(_ header: LivePacketHeader, _ sealed: SealedBytes, token: String) {
            self.sessionToken = token
            self.conversationId = "\(header.conversation)"
            self.epoch = header.position.epoch
            self.seq = header.position.seq
            self.kind = header.kind.rawValue
            self.line = header.line
            self.generation = header.generation
            self.to = header.to.map { "\($0)" }
            self.nonce = sealed.nonceText
            self.ciphertext = sealed.ciphertextText
        }
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
}

/// Why a whisperer sends a listener away (contract §14.7).
package enum RefusalReason: String, Sendable, CaseIterable {
    case declined
    /// The passcode was wrong.
    case passcode
    case removed
    /// The listener is told that it was removed, and cannot knock again.
    case blocked
}
