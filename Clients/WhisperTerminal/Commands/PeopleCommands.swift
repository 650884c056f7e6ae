import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct IDCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "id", abstract: "Show your Whisper ID.")

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let identity = try await self.options.talk(connects: false) { core in try await core.identity() }
        guard let identity else { throw self.options.problem(.missing) }
        guard identity.isKnown else {
            throw Problem(
                "The server has not seen this identity yet. Its Whisper ID will most likely be \(identity.id).")
        }
        print(identity.id)
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
        if let name, name.isEmpty || name != harmless(name) || WhisperID(name.uppercased()) != nil {
            throw Problem("Choose another name.")
        }
        let (contact, trouble) = try await self.options.talk { core -> (Contact, String?) in
            let events = core.events()
            try await waitUntilOnline(core.events(), within: .seconds(10))
            do {
                let contact = try await core.add(id, name: self.name)
                return (contact, try await Self.waitForBackup(core, events))
            } catch let refusal as CoreClient.Refusal {
                throw Problem(refusal.words(ofAdding: id))
            }
        }
        print(
            "Added \(contact.shownName). Their keys fit the id and are kept. Try `whisper chat \(contact.name ?? "\(id)")`."
        )
        if let trouble { print(Style.output.yellow(trouble)) }
    }

    /// Gives the backup a moment. If that is too short, it goes with the next command that connects.
    /// - Returns: what the person should know.
    private static func waitForBackup(
        _ core: CoreClient, _ events: AsyncStream<ClientEvent>
    ) async throws -> String? {
        while try await !core.isBackedUp() {
            let news = await first(in: events, within: .seconds(3)) { event -> BackupNews? in
                if case .backup(let news) = event { news } else { nil }
            }
            guard let news else { return nil }
            if let words = describe(news) { return words }
        }
        return nil
    }
}

struct ContactsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contacts", abstract: "List your contacts.",
        discussion: "Who only wrote first is not in the backup of your contacts until you answer or `whisper add` them."
    )

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let (contacts, unread, suspicious) = try await self.options.talk(connects: false) { core in
            (try await core.contacts(), try await core.unreadCounts(), try await core.suspiciousCounts())
        }
        guard !contacts.isEmpty else { return print("Nobody yet. Add somebody with `whisper add ID NAME`.") }
        // Names may have come from another client, with the backup.
        let names = contacts.map { harmless($0.name ?? "(no name)") }
        let width = names.map { TextWidth.columns($0) }.max() ?? 0
        let style = Style.output
        for (contact, name) in zip(contacts, names) {
            let space = String(repeating: " ", count: width - TextWidth.columns(name))
            let news = unread[contact.id].map { style.green("  \($0) unread") } ?? ""
            func doubts(_ reason: Suspicion.Reason, _ words: String) -> String {
                suspicious[Suspicion(sender: contact.id, reason: reason)].map { style.red("  \($0) \(words)") } ?? ""
            }
            let doubts = doubts(.unverified, "not verified") + doubts(.stale, "too old")
            let banned = contact.isBanned ? style.red("  banned") : ""
            let stranger = contact.isStranger ? style.dim("  wrote first") : ""
            print("\(style.bold(name))\(space)  \(contact.id)\(news)\(doubts)\(banned)\(stranger)")
        }
    }
}
