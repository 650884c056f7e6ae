package import Contract
import FoundationEssentials

// Invitations that we make (contract §20.6).
extension Account {
    /// An invitation for one person.
    package struct Invitation: Sendable {
        package let token: InvitationToken
        package let expiresAt: Timestamp

        init?(_ body: [UInt8]) {
            struct Raw: Decodable {
                var token: String
                var expiresAt: Int64
            }
            guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)),
                let token = InvitationToken(raw.token)
            else { return nil }
            self.token = token
            self.expiresAt = Timestamp(milliseconds: raw.expiresAt)
        }
    }

    /// Asks the server for an invitation.
    /// - Parameter seconds: its life; `nil` for the usual one.
    /// - Throws: `.refused(.forbidden)` if the server lets people make none.
    package func invite(
        for seconds: Int64?, _ host: isolated some ServerHost
    ) async throws(InquiryError) -> Invitation {
        var body = Self.versioned()
        if let seconds { body.add("expiresInSeconds", seconds) }
        guard let invitation = Invitation(try await self.post("/invitations", body, host)) else {
            throw .refused(nil, retryAfter: nil)
        }
        return invitation
    }

    /// Ends an invitation, whoever has made it.
    package func uninvite(_ token: InvitationToken, _ host: isolated some ServerHost) async throws(InquiryError) {
        var body = Self.versioned()
        body.add("token", token.text)
        _ = try await self.post("/invitations/revoke", body, host)
    }

    private static func versioned() -> JSONWriter {
        var body = JSONWriter()
        body.add("protocolVersion", Int64(Version.protocolVersion))
        body.add("cryptoVersion", Int64(Version.cryptoVersion))
        return body
    }
}
