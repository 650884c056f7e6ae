import Contract
import TerminalText
import WhisperClient

/// The other side of a chat.
enum ChatPartner: Sendable {
    case person(Contact)
    /// The title is empty while it is not known.
    case group(id: String, title: String)

    var place: Conversation {
        switch self {
        case .person(let contact): .direct(contact.id)
        case .group(let id, _): .group(Conversation.key(ofGroup: id))
        }
    }

    /// The name that the person here gave, or the title. A group without a title has its id.
    var shownName: String {
        switch self {
        case .person(let contact): contact.shownName
        case .group(let id, let title): title.isEmpty ? id : title
        }
    }

    /// For a sentence about it.
    var spokenName: String {
        switch self {
        case .person: harmlessLine(self.shownName)
        case .group: "“\(harmlessLine(self.shownName))”"
        }
    }

    /// - Parameter wanted: in lower case.
    fileprivate func isCalled(_ wanted: String) -> Bool {
        self.shownName.lowercased() == wanted || self.place.name.lowercased() == wanted
    }
}

/// Finds somebody by name or Whisper ID.
func find(_ person: String, in contacts: [Contact]) throws -> Contact {
    let partner = try find(person, among: contacts.map { .person($0) }, "contacts")
    guard case .person(let contact) = partner else { preconditionFailure("only persons were looked through") }
    return contact
}

/// Finds a person, or a group by its title or id.
func findChat(_ name: String, _ core: CoreClient) async throws -> ChatPartner {
    let groups = try await core.groups().map { ChatPartner.group(id: $0.id, title: $0.title) }
    let partners = try await core.contacts().map { ChatPartner.person($0) } + groups
    return try find(name, among: partners, groups.isEmpty ? "contacts" : "contacts and groups")
}

/// - Parameter crowd: how `partners` are called.
private func find(_ name: String, among partners: [ChatPartner], _ crowd: String) throws -> ChatPartner {
    let wanted = name.lowercased()
    let called = partners.filter { $0.isCalled(wanted) }
    let near = called.isEmpty ? partners.filter { $0.shownName.lowercased().hasPrefix(wanted) } : called
    if near.count == 1 { return near[0] }
    if near.count > 1 {
        // Two groups may have one title: then their ids tell them apart.
        let names = near.map { called.isEmpty ? $0.spokenName : "\($0.spokenName) (\($0.place.name))" }
        throw Problem("\"\(name)\" could be \(names.joined(separator: " or ")).")
    }
    if let id = WhisperID(name.uppercased()) {
        throw Problem("\(id) is not among your contacts. Add them with `whisper add \(id) NAME`.")
    }
    throw Problem("Nobody called \"\(name)\" is among your \(crowd). `whisper contacts` lists them.")
}
