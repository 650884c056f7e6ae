import Contract
import WhisperClient

/// The thing that a link opens.
enum LinkKind: String, CaseIterable, Sendable { case add, invite, profile, listen, room, transcript }

extension Verb {
    private static let text = TypedField.text("text", 1...1_000)

    static let linkRead = Verb(
        "link_read", of: "contacts",
        about:
            "Says what a link opens, without asking anybody. `add` is for `contact_add`, `invite` for `identity_create`, `profile` for `profile_join`, `listen` for `live_listen`, `room` for `room_join`; a `transcript` is read in a browser.",
        [Self.text.field], type: "linkRead",
        [
            Field("kind", .choice(LinkKind.allCases.map(\.rawValue))),
            Field("server", .text(1...300), .optional, about: "Host and port, if the link names them."),
            Field("isOtherServer", .bool, about: "Whether it is of another server than ours."),
            Field("whisperId", .whisperID, .optional, about: "With `add`."),
            Field(
                "name", .text(1...ContactLink.nameScalarsMax), .optional,
                about:
                    "With `add`: how the link calls the person. Nobody vouches for it. With `listen`: the name in the link."
            ),
            Field("add", .text(1...ContactLink.charactersMax), .optional, about: "With `invite`: adds the inviter."),
            Field("isOurs", .bool, about: "Whether it adds ourselves."),
            Field("conversationId", .uuid, .optional, about: "With `listen`."),
            Field("roomId", .uuid, .optional, about: "With `room`."),
            Field("shareId", .uuid, .optional, about: "With `transcript`."),
        ], errors: [.noIdentity, .newerLink],
        samples: (
            #"{"text":"whisper://add/WSP-AAAA-AAAA-AAAA?v=1&o=chat.example&f=AAAAAAAAAAAAAAAAAAAAAA&n=Ann"}"#,
            #"{"type":"linkRead","kind":"add","server":"chat.example","isOtherServer":false,"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isOurs":false}"#
        ),
        .read { opened, parameters, json in
            let link: Link
            do { link = try Link(try parameters[Self.text]) } catch let fault as ContactLink.Fault {
                var error = CoreError(of: fault)
                error.field = "text"
                throw error
            }
            json.add("kind", link.kind.rawValue)
            json.add("server", link.server?.hostAndPort)
            json.add("isOtherServer", link.server.map { !$0.isSamePlace(as: opened.serverAddress) } ?? false)
            var isOurs = false
            switch link {
            case .contact(let link):
                json.add("whisperId", link.id)
                json.add("name", link.name)
                isOurs = try link.id == opened.store.settings.whisperID()
            case .conversation(let link):
                json.add("name", link.name)
                json.add("conversationId", link.conversation.uuid)
            case .room(let link): json.add("roomId", link.room)
            case .transcript(let id, _): json.add("shareId", id)
            case .invitation(_, let inviter): json.add("add", inviter?.text(.app))
            case .profile: break
            }
            json.add("isOurs", isOurs)
        })
}

extension Link {
    fileprivate var kind: LinkKind {
        switch self {
        case .contact: .add
        case .invitation: .invite
        case .profile: .profile
        case .conversation: .listen
        case .room: .room
        case .transcript: .transcript
        }
    }
}
