/// `docs/vectors`, as any client or server may read them.
struct KeyVectors: Decodable {
    struct Identity: Decodable {
        struct ID: Decodable {
            var counter: UInt8
            var whisperId: String
        }
        var mnemonic, seed, encSeed, signSeed, contactsKey, signPublicKey, encPublicKey: String
        var whisperIds: [ID]
    }
    var identities: [Identity]
    var weakEncPublicKeys: [String]
}

struct SignatureVectors: Decodable {
    struct Message: Decodable {
        var messageType, messageId, from, toOrGroupId: String
        var timestamp: Int64
        var nonce, ciphertext, canonical, digest, signPublicKey, sig: String
    }
    struct Challenge: Decodable {
        var challenge, signPublicKey, sig: String
    }
    struct Forgery: Decodable {
        var why, digest, signPublicKey, sig: String
    }
    var messages: [Message]
    var challenges: [Challenge]
    var foreignChallenges: [String]
    var forgeries: [Forgery]
}

struct BoxVectors: Decodable {
    struct Box: Decodable {
        var writer, reader, nonce, plain, sealed: String
    }
    struct Secretbox: Decodable {
        var key, nonce, plain, sealed: String
    }
    var boxes: [Box]
    var secretboxes: [Secretbox]
}

struct WakeVectors: Decodable {
    struct Tag: Decodable {
        var wakeSecret, wakeId, tag: String
    }
    var tags: [Tag]
}

struct FormVectors: Decodable {
    struct Form: Decodable {
        var name, frame, expect: String
        var field: String?
    }
    struct Check: Decodable {
        var name, session, signPublicKey, frame, expect: String
        var serverTime: Int64
    }
    var forms: [Form]
    var checks: [Check]
}
