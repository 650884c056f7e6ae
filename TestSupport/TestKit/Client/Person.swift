import Foundation

/// An identity and the device it uses: what a client keeps in its secure storage.
package struct Person: Sendable {
    package var keys: Keys
    package var device: String
    package var platform: String

    package init(keys: Keys = Keys(), device: String = newUUID(), platform: String = "ios") {
        self.keys = keys
        self.device = device
        self.platform = platform
    }

    /// Contract §2: V.
    package static let versions: Fields = ["protocolVersion": 1, "cryptoVersion": 1]

    /// The same seed phrase typed into another phone.
    package func onAnotherDevice() -> Person { Person(keys: self.keys, platform: "android") }

    package func begin(as whisperID: String? = nil) -> Fields {
        var fields = Self.versions.with(["deviceId": self.device, "platform": self.platform])
        fields["whisperId"] = whisperID
        return fields
    }

    /// - Parameter challenge: the payload of `register_challenge`.
    package func proof(of challenge: JSON, as whisperID: String? = nil) -> Fields {
        var fields = Self.versions.with([
            "challengeId": challenge["challengeId"]?.string ?? "", "deviceId": self.device, "platform": self.platform,
            "encPublicKey": self.keys.encPublicKey.base64, "signPublicKey": self.keys.signPublicKey.base64,
            "signature": self.keys.sign(challenge["challenge"]?.string?.bytesOfBase64 ?? []).base64,
        ])
        fields["whisperId"] = whisperID
        return fields
    }

    /// The whole login on an open connection.
    /// - Throws: `Missing`; `Unexpected` with whatever is not the `register_ack`.
    package func logIn(
        on client: TestClient, as whisperID: String? = nil, tokens: Fields = [:]
    ) async throws -> Phone {
        let challenge = try await client.ask("register_begin", self.begin(as: whisperID)).expecting(
            "register_challenge")
        let ack = try await client.ask(
            "register_proof", self.proof(of: challenge.payload, as: whisperID).with(tokens)
        ).expecting("register_ack")
        guard let id = ack.payload["whisperId"]?.string, let token = ack.payload["sessionToken"]?.string else {
            throw Unexpected(frame: ack)
        }
        return Phone(client: client, person: self, id: id, token: token)
    }
}

/// Another frame than the script expects.
package struct Unexpected: Error, CustomStringConvertible {
    package var frame: JSONFrame

    package init(frame: JSONFrame) { self.frame = frame }

    package var description: String { "unexpected: \(self.frame)" }
}

extension JSONFrame {
    /// - Throws: `Unexpected` if it is of another type.
    @discardableResult
    package func expecting(_ type: String) throws -> JSONFrame {
        guard self.type == type else { throw Unexpected(frame: self) }
        return self
    }
}

extension Fields {
    package func with(_ others: Fields) -> Fields { self.merging(others) { $1 } }

    package func without(_ names: String...) -> Fields { self.filter { !names.contains($0.key) } }
}

/// A random UUID, version 4, in lower case.
package func newUUID() -> String { UUID().uuidString.lowercased() }
