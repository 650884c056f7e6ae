package import ClusterContract
package import Contract
import ServerCrypto

extension AuthBench {
    /// Asks for the challenge of an erasure.
    package func erasureChallenge(
        _ session: Session, connection: UInt64 = 1
    ) async throws -> (id: String, bytes: [UInt8]) {
        let reply = try await self.send(
            "account_delete_begin", Self.privileged, connection: connection, session: session
        ).reply("account_delete_challenge")
        return (reply["challengeId"] as! String, Base64.decode(reply["challenge"] as! String)!)
    }

    /// Signs an erasure and sends it.
    /// - Parameters:
    ///   - id: named in the frame and in the statement; the session's own if `nil`.
    ///   - changed: changes the statement before it is signed.
    package func erase(
        _ somebody: TestIdentity, _ session: Session, _ challenge: (id: String, bytes: [UInt8]),
        as id: WhisperID? = nil,
        sentMail: AccountDelete.SentMail = .keep, connection: UInt64 = 1, changed: ([UInt8]) -> [UInt8] = { $0 }
    ) async -> Answer {
        let id = id ?? session.caller.identity
        let statement = AccountDelete.statement(
            challengeID: UUIDText(challenge.id)!, whisperID: id, sentMail: sentMail, challenge: challenge.bytes)
        let signature = base64(somebody.sign(SHA256.hash(changed(statement)).bytes))
        return await self.send(
            "account_delete",
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"\#(challenge.id)","whisperId":"\#(id)","sentMail":"\#(sentMail.rawValue)","signature":"\#(signature)"}"#,
            connection: connection, session: session)
    }

    /// Begins and signs.
    package func leave(_ somebody: TestIdentity, _ session: Session) async throws -> Answer {
        await self.erase(somebody, session, try await self.erasureChallenge(session))
    }
}
