import ArgumentParser
import Contract
import WhisperClient

struct IDCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "id", abstract: "Show your Whisper ID.")

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let profile = try self.options.open()
        guard let id = try profile.store.whisperID() else {
            throw Problem(
                "The server has not seen this identity yet. Its Whisper ID will most likely be \(profile.keys.publicKeys.id(counter: 0)).")
        }
        print(id)
    }
}

struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a contact by Whisper ID, or give a known one a name.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Their Whisper ID, WSP-XXXX-XXXX-XXXX.") var id: String
    @Argument(help: "How you call them.") var name: String?

    func run() async throws {
        guard let id = WhisperID(self.id.uppercased()) else {
            throw Problem("\"\(self.id)\" is no Whisper ID. It looks like WSP-XXXX-XXXX-XXXX.")
        }
        if let name, name.isEmpty || name != TextWidth.harmless(name) || WhisperID(name.uppercased()) != nil {
            throw Problem("Choose another name.")
        }
        let client = try self.options.client(try self.options.open())
        let contact = try await running(client) {
            try await waitUntilOnline(client, within: .seconds(10))
            do throws(ContactError) {
                return try await client.addContact(id, name: self.name)
            } catch {
                throw Problem(describe(error, id))
            }
        }
        print("Added \(contact.shownName). Their keys fit the id and are kept. Try `whisper chat \(contact.name ?? "\(id)")`.")
    }
}

struct ContactsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "contacts", abstract: "List your contacts.")

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let store = try self.options.open().store
        let contacts = try store.contacts()
        guard !contacts.isEmpty else { return print("Nobody yet. Add somebody with `whisper add ID NAME`.") }
        let unread = try store.unreadCounts()
        let width = contacts.map { TextWidth.columns($0.name ?? "(no name)") }.max() ?? 0
        let style = Style.output
        for contact in contacts {
            let name = contact.name ?? "(no name)"
            let space = String(repeating: " ", count: width - TextWidth.columns(name))
            let news = unread[contact.id].map { style.green("  \($0) unread") } ?? ""
            print("\(style.bold(name))\(space)  \(contact.id)\(news)\(contact.isBanned ? style.red("  banned") : "")")
        }
    }
}
