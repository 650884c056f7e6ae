import ArgumentParser
import Contract
import TerminalText
import WhisperClient
import WhisperCore

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

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Show the link by which others add you.",
        discussion: "It names your server and vouches for your keys. Anybody may have it.")

    @OptionGroup var options: ProfileOptions
    @Option(help: "What the link calls you. Without it the link has no name.") var name: String?
    @Flag(help: "A link that a browser opens.") var web = false
    @Flag(help: "Draw it as a QR code, too.") var qr = false

    func run() async throws {
        let link = try await self.options.talk(connects: false) { core in
            do { return try await core.link(name: self.name, form: self.web ? .web : .app) } catch let refusal
                as CoreClient.Refusal where refusal.code == CoreError.Code.offline.rawValue
            {
                throw Problem("The server has not seen this identity yet. Run `whisper chat` or `whisper inbox` once.")
            }
        }
        print(link)
        if self.qr { for line in QRCode(link)?.lines(.output) ?? [] { print(line) } }
    }
}

struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a contact by Whisper ID or link, or give a known one a name.",
        discussion:
            "`whisper link` shows your own link. The name in a link is what its writer chose: nobody vouches for it.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Their Whisper ID, WSP-XXXX-XXXX-XXXX, or their link.") var person: String
    @Argument(help: "How you call them.") var name: String?
    @Flag(help: "The link was read off their own screen: it verifies them.") var scanned = false

    /// Somebody who is to be added.
    private enum Newcomer {
        case id(WhisperID)
        case link(String)

        init?(_ text: String) {
            if let id = WhisperID(text.uppercased()) {
                self = .id(id)
            } else if text.contains(":") {
                self = .link(text)
            } else {
                return nil
            }
        }

        var spoken: String {
            switch self {
            case .id(let id): "\(id)"
            case .link: "the link"
            }
        }
    }

    func run() async throws {
        guard let newcomer = Newcomer(self.person) else {
            throw Problem(
                "\"\(harmlessLine(self.person))\" is no Whisper ID and no link. An ID looks like WSP-XXXX-XXXX-XXXX.")
        }
        if let name, name.isEmpty || name != harmless(name) || WhisperID(name.uppercased()) != nil {
            throw Problem("Choose another name.")
        }
        if self.scanned, case .id = newcomer { throw Problem("An ID vouches for no keys. Scan their link.") }
        let (contact, trouble) = try await self.options.talk { core -> (Contact, String?) in
            let events = core.events()
            try await waitUntilOnline(core.events(), within: .seconds(10))
            do {
                let contact =
                    switch newcomer {
                    case .id(let id): try await core.add(id, name: self.name)
                    case .link(let link):
                        try await core.add(link: link, source: self.scanned ? "scan" : nil, name: self.name)
                    }
                return (contact, try await Self.waitForBackup(core, events))
            } catch let refusal as CoreClient.Refusal {
                throw Problem(refusal.words(ofAdding: newcomer.spoken))
            }
        }
        print(
            "Added \(harmlessLine(contact.shownName)). Their keys match this \(contact.verification == nil ? "ID" : "link") (saved). Try `whisper chat \(contact.name.map { harmlessLine($0) } ?? "\(contact.id)")`."
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
    @OptionGroup var list: ListOptions

    func run() async throws {
        guard !self.list.json else {
            return print(
                json: try await self.options.talk(connects: false) { core in
                    try await core.listed("contact_list", "contacts", after: "whisperId")
                        + core.listed("request_list", "contacts", after: "whisperId")
                        + core.listed("group_list", "groups", after: "groupId")
                })
        }
        let (contacts, groups, unread, suspicious) = try await self.options.talk(connects: false) { core in
            (
                try await core.contacts(), try await core.groups(), try await core.unreadCounts(),
                try await core.suspiciousCounts()
            )
        }
        guard !contacts.isEmpty || !groups.isEmpty else {
            return print("Nobody yet. Add somebody with `whisper add ID NAME`.")
        }
        // Names may have come from another client, with the backup.
        let names = contacts.map { harmlessLine($0.name ?? "(no name)") }
        let width = names.map { TextWidth.columns($0) }.max() ?? 0
        let style = Style.output
        for (contact, name) in zip(contacts, names) {
            let space = String(repeating: " ", count: width - TextWidth.columns(name))
            let news = unread[.direct(contact.id)].map { style.green("  \($0) unread") } ?? ""
            func doubts(_ reason: Suspicion.Reason, _ words: String) -> String {
                suspicious[Suspicion(sender: contact.id, reason: reason)].map { style.red("  \($0) \(words)") } ?? ""
            }
            let doubts = doubts(.unverified, "not verified") + doubts(.stale, "too old")
            let blocked = contact.isBlocked ? style.red("  blocked") : ""
            let banned = contact.isBanned ? style.red("  banned") : ""
            let gone = contact.isGone ? style.dim("  no longer here") : ""
            let stranger = contact.isStranger ? style.dim("  wrote first") : ""
            let vouched = contact.verification.map { style.dim("  " + describe($0)) } ?? ""
            print(
                "\(style.bold(name))\(space)  \(contact.id)\(news)\(doubts)\(banned)\(gone)\(blocked)\(stranger)\(vouched)"
            )
        }
        for group in groups {
            let partner = ChatPartner.group(id: group.id, title: group.title)
            let news = unread[partner.place].map { style.green("  \($0) unread") } ?? ""
            let about = group.isMember ? "a group of \(group.members)" : "a group that you have left"
            print("\(style.bold(partner.spokenName))  \(about)\(news)")
        }
        guard contacts.contains(where: \.isStranger) else { return }
        print(style.dim("Who wrote first waits for `whisper accept`, `whisper reject` or `whisper block`."))
    }
}

private func describe(_ verification: Verification) -> String {
    switch verification {
    case .linked: "by link"
    case .scanned: "verified by scan"
    case .compared: "verified"
    }
}

/// Somebody that a command is about.
struct PersonOptions: ParsableArguments {
    @OptionGroup var options: ProfileOptions
    @Argument(help: "A contact's name or Whisper ID.") var person: String

    /// - Parameter done: what is said afterwards.
    func decide(_ done: String, _ body: (CoreClient, WhisperID) async throws -> Void) async throws {
        try await self.options.talk { core in
            let contact = try find(self.person, in: try await core.contacts())
            do {
                try await body(core, contact.id)
            } catch let refusal as CoreClient.Refusal where refusal.code == CoreError.Code.notFound.rawValue {
                throw Problem("\(harmlessLine(contact.shownName)) is no stranger.")
            }
            printLine("\(harmlessLine(contact.shownName)): \(done)")
        }
    }
}

struct AcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Make a stranger who wrote to you a contact.",
        discussion: "From here on they are told what you have read. Answering accepts too.")

    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await self.person.decide("accepted.") { core, id in try await core.accept(id) }
    }
}

struct RejectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reject", abstract: "Delete what a stranger wrote to you.",
        discussion: "They are told nothing. More mail of theirs would come as another request: block whoever goes on.")

    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await self.person.decide("rejected, and all messages deleted.") { core, id in try await core.reject(id) }
    }
}

struct BlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "Take no more mail of somebody, and send none.",
        discussion: "They are told nothing.")

    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await self.person.decide("blocked. `whisper unblock` takes it back.") { core, id in
            try await core.set(isBlocked: true, id)
        }
    }
}

struct UnblockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unblock", abstract: "Take somebody's mail again.")

    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await self.person.decide("not blocked any more.") { core, id in
            try await core.set(isBlocked: false, id)
        }
    }
}
