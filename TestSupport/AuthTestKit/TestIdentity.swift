import CSodium
package import Contract
import ServerCrypto

/// Somebody with keys, and the device that they use.
package struct TestIdentity {
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package var device: UUIDText = .random()
    package var platform = Platform.ios
    private let signSecretKey: [UInt8]

    /// The same keys for the same seeds.
    package init(_ seed: UInt8, encSeed: UInt8? = nil) {
        self.init(
            seed: [UInt8](repeating: seed, count: 32), encSeed: [UInt8](repeating: encSeed ?? seed, count: 32))
    }

    /// One of many.
    package init(number: UInt32) {
        let seed = withUnsafeBytes(of: number.bigEndian) { Array($0) } + [UInt8](repeating: 9, count: 28)
        self.init(seed: seed, encSeed: seed)
    }

    private init(seed: [UInt8], encSeed: [UInt8]) {
        precondition(sodium_init() >= 0)
        var (publicKey, secretKey) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
        crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, seed)
        self.signPublicKey = Bytes32(publicKey)!
        self.signSecretKey = secretKey
        crypto_scalarmult_curve25519_base(&publicKey, encSeed)
        self.encPublicKey = Bytes32(publicKey)!
    }

    /// The same person with a new phone.
    package func withNewDevice() -> TestIdentity {
        var other = self
        other.device = .random()
        return other
    }

    package func id(counter: UInt8 = 0) -> WhisperID {
        WhisperID.derived(
            signPublicKey: self.signPublicKey.bytes, encPublicKey: self.encPublicKey.bytes, counter: counter
        ) { SHA256.hash($0).bytes }
    }

    package func sign(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), self.signSecretKey)
        return signature
    }

    package func begin(as id: WhisperID? = nil) -> String {
        let whisperID = id.map { #","whisperId":"\#($0)""# } ?? ""
        return
            #"{"protocolVersion":1,"cryptoVersion":1,"deviceId":"\#(self.device)","platform":"\#(self.platform.rawValue)"\#(whisperID)}"#
    }

    /// - Parameter more: further fields, each with a comma before it.
    package func proof(
        _ challengeID: String, signing challenge: [UInt8], as id: WhisperID? = nil, more: String = ""
    ) -> String {
        let whisperID = id.map { #","whisperId":"\#($0)""# } ?? ""
        return
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"\#(challengeID)","deviceId":"\#(self.device)","platform":"\#(self.platform.rawValue)","encPublicKey":"\#(base64(self.encPublicKey.bytes))","signPublicKey":"\#(base64(self.signPublicKey.bytes))","signature":"\#(base64(self.sign(challenge)))"\#(whisperID)\#(more)}"#
    }
}

package func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }

package func frame<T>(_ definition: FrameDefinition, _ json: String, _ make: (Payload) throws -> T) throws -> T {
    try make(FrameDecoder.payload(bare: Array(json.utf8), schema: definition.schema))
}
