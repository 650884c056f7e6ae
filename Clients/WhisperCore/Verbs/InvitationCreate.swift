import Contract
import WhisperClient

extension Verb {
    private static let life = TypedField.integer(
        "expiresInSeconds", Limits.invitationLifeSeconds,
        about: "How long somebody may come in with it. Default: 7 days."
    ).optional
    private static let name = TypedField.text(
        "name", 1...ContactLink.nameScalarsMax,
        about: "What the link calls us, who invite. Without it the link says no name, but our Whisper ID."
    ).optional
    private static let form = TypedField<ContactLink.Form>.choice(
        "form",
        about:
            "`app`: `whisper://invite/…`, which Whisper opens. `web`: `https://…/invite#…`, which a browser opens. Default: `app`."
    ).optional

    static let invitationCreate = Verb(
        "invitation_create", of: "contacts",
        about:
            "Makes an invitation, with which one person may register, and finds us. `text` is the link; the host may draw it as a QR code. The server says how many we make in a day, which may be none: `forbidden`.",
        [Self.life.field, Self.form.field, Self.name.field], type: "invitation",
        [
            Field("text", .text(1...InvitationLink.charactersMax), about: "ASCII."),
            Field("token", .text(InvitationToken.characters), about: "The link's token, for `invitation_revoke`."),
            Field("expiresAt", .timestamp),
        ],
        errors: [.noIdentity, .offline, .unreachable, .forbidden, .tooMany, .server, .store],
        samples: (
            #"{"expiresInSeconds":86400}"#,
            #"{"type":"invitation","text":"whisper://invite/chat.example#AAECAwQFBgcICQoLDA0ODw&add=WSP-AAAA-AAAA-AAAA&v=1&f=AAAAAAAAAAAAAAAAAAAAAA","token":"AAECAwQFBgcICQoLDA0ODw","expiresAt":1730604800000}"#
        ),
        .server { opened, parameters, json in
            let life = try parameters[Self.life]
            let (form, name) = (try parameters[Self.form] ?? .app, try parameters[Self.name])
            do {
                let invitation = try await opened.with { try await $0.account.invite(for: life, $0) }
                let inviter = try opened.ownLink(named: name)
                let link = InvitationLink(invitation.token, server: opened.serverAddress, inviter: inviter)
                json.add("text", link.text(form))
                json.add("token", invitation.token.text)
                json.add("expiresAt", invitation.expiresAt)
            } catch let error as InquiryError where error == .refused(.forbidden, retryAfter: nil) {
                throw CoreError(.forbidden)
            }
        })
}
