package import Contract

/// Any link that people of Whisper pass on, told apart without asking anybody.
package enum Link {
    case contact(ContactLink)
    case invitation(ServerAddress, inviter: ContactLink?)
    case profile
    case conversation(ListenLink)
    case room(RoomLink)
    case transcript(id: UUIDText, origin: String)

    /// - Throws: `.malformed` for what is no link of these.
    package init(_ text: String) throws(ContactLink.Fault) {
        if ProfileLink(text) != nil {
            self = .profile
        } else if let link = ListenLink(text) {
            self = .conversation(link)
        } else if let link = RoomLink(text) {
            self = .room(link)
        } else if let link = InvitationLink(text), let server = link.server {
            self = .invitation(server, inviter: link.inviter)
        } else if let (id, origin) = TranscriptShare.place(of: text) {
            self = .transcript(id: id, origin: origin)
        } else {
            self = .contact(try ContactLink(text))
        }
    }

    /// The server that the link is of. `nil` if it names none.
    package var server: ServerAddress? {
        switch self {
        case .contact(let link): link.server
        case .invitation(let server, _): server
        case .profile: nil
        case .conversation(let link): ServerAddress(link.origin)
        case .room(let link): ServerAddress(link.origin)
        case .transcript(_, let origin): ServerAddress(origin)
        }
    }
}
