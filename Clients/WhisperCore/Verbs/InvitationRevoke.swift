import Contract
import WhisperClient

extension Verb {
    private static let text = TypedField.text(
        "text", 1...1_000, about: "The invitation's link or token, as `invitation_create` gave it.")

    static let invitationRevoke = Verb(
        "invitation_revoke", of: "contacts",
        about:
            "Ends an invitation, whoever has made it. Identities that came with it stay. The server does not say whether there was one.",
        [Self.text.field], type: "invitationRevoked",
        errors: [.noIdentity, .invalidField, .otherServer, .offline, .unreachable, .tooMany, .server, .store],
        samples: (
            #"{"text":"AAECAwQFBgcICQoLDA0ODw"}"#, #"{"type":"invitationRevoked"}"#
        ),
        .server { opened, parameters, _ in
            guard let link = InvitationLink(try parameters[Self.text]) else {
                throw CoreError(.invalidField, "is no invitation", field: "text")
            }
            if let server = link.server, !server.isSamePlace(as: opened.serverAddress) {
                throw CoreError(.otherServer, field: "text")
            }
            try await opened.with { try await $0.account.uninvite(link.token, $0) }
        })
}
