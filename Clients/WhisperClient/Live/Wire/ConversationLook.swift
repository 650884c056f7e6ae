package import Contract
import FoundationEssentials

/// The answer of `POST /live/{CID}/look`, opened and checked: a link's preview of its conversation before a listener
/// connects (contract §14.6).
package struct ConversationLook: Sendable, Equatable {
    package var publicKeys: PublicKeys
    package var info: ConversationInfo
    package var state: LiveStreamState
    /// Whether lines are kept. Listeners see this before they join.
    package var isTranscribed: Bool

    static func path(_ conversation: ConversationID) -> String { "/live/\(conversation)/look" }

    static func body(_ link: LinkKeys) -> [UInt8] {
        struct Body: Encodable {
            var protocolVersion = Version.protocolVersion
            var cryptoVersion = Version.cryptoVersion
            var linkProof: String
        }
        let proof = String(decoding: Base64.encode(link.proof), as: UTF8.self)
        // Our own plain values: encoding them cannot fail.
        return try! Array(JSONEncoder().encode(Body(linkProof: proof)))
    }
}

extension ConversationLook {
    /// - Returns: `nil` if the keys do not belong to the id, or the link's secret does not open the conversation's
    ///   info.
    init?(_ body: [UInt8], of conversation: ConversationID, link: LinkKeys) {
        struct Raw: Decodable {
            var signPublicKey: String
            var encPublicKey: String
            var nonce: String
            var ciphertext: String
            var state: String
            var isTranscribed: Bool
        }
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)),
            let sign = Base64.decode(raw.signPublicKey).flatMap({ Bytes32($0) }),
            let box = Base64.decode(raw.encPublicKey).flatMap({ Bytes32($0) }),
            let nonce = Base64.decode(raw.nonce), let ciphertext = Base64.decode(raw.ciphertext),
            let state = LiveStreamState(rawValue: raw.state)
        else { return nil }
        self.publicKeys = PublicKeys(sign: sign, box: box)
        let sealed = SealedBytes(nonce: nonce, ciphertext: ciphertext)
        guard self.publicKeys.belong(to: conversation),
            let info = ConversationInfo(sealed, of: conversation, link: link)
        else { return nil }
        self.info = info
        self.state = state
        self.isTranscribed = raw.isTranscribed
    }
}

/// How knocks are decided (contract §14.7). Only the whisperer's client enforces it.
package enum Admission: String, Codable, Sendable, CaseIterable {
    /// The whisperer decides about every listener.
    case knock
    /// Every listener with the passcode is admitted.
    case passcode
    /// Every listener with the link is admitted.
    case link
}

/// Names and admission of a conversation, sealed with the link's secret (contract §14.6).
package struct ConversationInfo: Codable, Sendable, Equatable {
    package var conversation: String
    package var whisperer: String
    package var admission: Admission

    package init(conversation: String, whisperer: String, admission: Admission) {
        self.conversation = conversation
        self.whisperer = whisperer
        self.admission = admission
    }

    func sealed(for conversation: ConversationID, link: LinkKeys, nonce: [UInt8]) -> SealedBytes {
        // Our own plain values: encoding them cannot fail.
        let bytes = try! Array(JSONEncoder().encode(self))
        return SealedBytes(bytes, key: link.infoKey, nonce: nonce, vouchingFor: LiveSeals.info(conversation))
    }

    init?(_ sealed: SealedBytes, of conversation: ConversationID, link: LinkKeys) {
        guard let bytes = sealed.open(key: link.infoKey, vouchingFor: LiveSeals.info(conversation)),
            let info = try? JSONDecoder().decode(Self.self, from: Data(bytes)), isName(info.conversation),
            isName(info.whisperer)
        else { return nil }
        self = info
    }
}

/// Whether a text may be a name inside sealed JSON: 1 to 64 scalars without control characters (contract §14.2).
package func isName(_ text: String) -> Bool {
    LiveLimits.nameScalars.contains(text.unicodeScalars.count)
        && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
}
