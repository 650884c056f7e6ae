import Foundation
import LocalStack

/// A self-signed certificate for `localhost`, and the keys that providers would have given out, made anew in a folder.
package struct PeerIdentity: Sendable {
    package let folder: String
    /// PEM; trusting it is trusting the peers.
    package var certificate: String { self.folder + "/peer.pem" }
    package var key: String { self.folder + "/peer.key" }
    /// The signing keys: APNs' .p8, the VAPID key, and Google's service account.
    package var apnsKey: String { self.folder + "/apns.p8" }
    package var vapidKey: String { self.folder + "/vapid.pem" }
    package var account: String { self.folder + "/account.json" }
    /// PEM of the public halves.
    package let apnsPublic: String
    package let vapidPublic: String
    package let accountPublic: String
    private let accountPrivate: String

    package static let email = "push@whisper-test.iam.gserviceaccount.com"
    package static let project = "whisper-test"

    /// - Parameter folder: exists.
    package init(folder: String) throws {
        self.folder = folder
        func openssl(_ arguments: String) throws -> String {
            let words = arguments.split(separator: " ").map(String.init)
            let made = try Run("/usr/bin/openssl", words, in: folder, withErrors: false)
            guard made.status == 0 else { throw Failed(arguments: arguments) }
            return made.output
        }
        _ = try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout peer.key -out peer.pem -days 2 "
                + "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1")
        _ = try openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out apns.p8")
        _ = try openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out vapid.pem")
        self.accountPrivate = try openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048")
        try self.accountPrivate.write(toFile: folder + "/account.pem", atomically: true, encoding: .utf8)
        self.apnsPublic = try openssl("pkey -in apns.p8 -pubout")
        self.vapidPublic = try openssl("pkey -in vapid.pem -pubout")
        self.accountPublic = try openssl("pkey -in account.pem -pubout")
    }

    package struct Failed: Error {
        var arguments: String
    }

    /// Writes the account's file as Google words it.
    package func writeAccount(tokenURL: String) throws {
        let file = [
            "type": "service_account", "project_id": Self.project, "private_key_id": "1",
            "private_key": self.accountPrivate, "client_email": Self.email, "client_id": "1", "token_uri": tokenURL,
        ]
        try JSONSerialization.data(withJSONObject: file).write(to: URL(filePath: self.account))
    }
}
