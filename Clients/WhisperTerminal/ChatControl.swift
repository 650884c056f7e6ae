import Contract
import FoundationEssentials
import TerminalText
import WhisperClient
import WhisperCore

/// Does what a person orders in a chat, and says what came of it. Knows which file of theirs came last.
actor ChatControl {
    private let core: CoreClient
    private let partner: ChatPartner
    /// The latest message of theirs with a file, and the one whose file is wanted here.
    private var offered: Message?
    private var saving: UUIDText?

    struct Remark {
        enum Tone { case plain, good, bad }
        var text: String
        var tone = Tone.plain
    }

    enum Outcome {
        case said([Remark])
        /// Messages that were searched for, the oldest first.
        case found([Message])
        /// The person is done here.
        case left([Remark])
    }

    /// Messages that a search shows. `whisper do search` has the rest.
    private static let foundMax = 20

    init(core: CoreClient, partner: ChatPartner) {
        self.core = core
        self.partner = partner
    }

    /// Sends a text, or does an order.
    /// - Throws: a `Problem` if the daemon has gone.
    func perform(_ order: ChatOrder) async throws -> Outcome {
        do {
            return try await self.work(order)
        } catch let refusal as CoreClient.Refusal {
            return .said([Remark(text: refusal.words, tone: .bad)])
        }
    }

    private func work(_ order: ChatOrder) async throws -> Outcome {
        let chat = self.partner.place
        let folder = FileManager.default.currentDirectoryPath
        switch order {
        case .text(let text):
            guard !text.trimmed.isEmpty else { return .said([]) }
            // Shown when its first event comes, which is at once.
            _ = try await self.core.send(text, to: chat)
            return .said([])
        case .reply(let number, let text):
            guard let message = try await self.core.latest(number, in: chat, isOurs: false) else { return Self.tooFar }
            let reply = MessageReference(id: message.id, author: message.peer)
            _ = try await self.core.send(text, to: chat, answering: reply)
            return .said([])
        case .react(let number, let reaction):
            guard let message = try await self.core.latest(number, in: chat, isOurs: false) else { return Self.tooFar }
            try await self.core.react(reaction, to: message)
            return .said([])
        case .edit(let number, let text):
            guard let message = try await self.core.latest(number, in: chat, isOurs: true) else { return Self.tooFar }
            try await self.core.edit(message, text)
            return .said([])
        case .delete(let number):
            guard let message = try await self.core.latest(number, in: chat, isOurs: true) else { return Self.tooFar }
            try await self.core.delete(message)
            return .said([])
        case .search(let words):
            let found = try await self.core.search(words, in: chat, limit: Self.foundMax)
            return found.isEmpty ? Self.plain("No message here has these words.") : .found(found)
        case .file(let path):
            let file = ChatFile.absolute(path, in: folder)
            do {
                _ = try await self.core.send(file: file, type: ChatFile.type(of: path), to: chat)
            } catch let refusal as CoreClient.Refusal where refusal.isOfFile {
                return Self.bad(
                    FileManager.default.fileExists(atPath: file)
                        ? "\(harmlessLine(path)) cannot be read." : "There is no file \(harmlessLine(path)).")
            }
            return .said([])
        case .save(let path):
            guard let message = self.offered else { return Self.bad("There is no file of theirs here.") }
            self.saving = message.id
            do {
                try await self.core.fetchFile(of: message, to: ChatFile.absolute(path, in: folder))
            } catch let refusal as CoreClient.Refusal where refusal.isOfFile {
                return Self.bad("\(harmlessLine(path)) cannot be written.")
            }
            return .said([])
        case .retry: return Self.plain(describe(retried: try await self.core.retry(to: chat).count))
        case .cancel: return Self.plain(describe(cancelled: try await self.core.cancel(to: chat)))
        case .resume:
            try await self.core.resumeOutbox()
            return Self.plain("What was kept apart goes out.")
        case .discard: return Self.plain(describe(cancelled: try await self.core.discardOutbox()))
        case .accept, .reject, .block, .unblock, .verify, .verified:
            guard case .person(let contact) = self.partner else {
                return Self.bad("That is for a chat with one person. `whisper contacts` lists them.")
            }
            return try await self.decide(order, about: contact.id)
        case .members: return .said(try await self.members())
        case .poll, .vote, .timer: return try await self.arrange(order, in: chat)
        case .link: return .said(try await self.link())
        case .help: return .said(ChatOrder.helpLines.map { Remark(text: $0) })
        case .quit: return .left([])
        case .misused(let usage): return Self.bad("Nothing was sent. It is written \(usage); /help lists the orders.")
        case .unknown(let order): return Self.bad(SlashLine.unknown(order))
        }
    }

    /// The own link, drawn for whoever sees this terminal.
    private func link() async throws -> [Remark] {
        let link = try await self.core.link()
        let code = Style.output.isPlain ? nil : QRCode(link)
        return ([link] + (code?.lines(Style(isOn: false)) ?? [])).map { Remark(text: $0) }
    }

    /// Orders about the chat as a whole, which others see.
    private func arrange(_ order: ChatOrder, in chat: Conversation) async throws -> Outcome {
        switch order {
        case .poll(let question, let options):
            try await self.core.send(poll: options, asking: question, to: chat)
            return .said([])
        case .vote(let choices):
            let messages = try await self.core.messages(in: chat, limit: CoreLimits.listMax)
            guard let poll = messages.last(where: { $0.message.poll != nil })?.message else {
                return Self.bad("There is no poll here.")
            }
            guard poll.poll?.mayChoose(choices) == true else {
                return Self.bad("The poll has no such answer, or takes one only.")
            }
            try await self.core.vote(choices, in: poll)
            return .said([])
        case .timer(let seconds):
            do {
                try await self.core.set(timer: seconds, in: chat)
            } catch let refusal as CoreClient.Refusal where refusal.code == CoreError.Code.forbidden.rawValue {
                return Self.bad("Only the owner and admins of the group set its timer.")
            }
            return .said([])
        default: return .said([])
        }
    }

    private func decide(_ order: ChatOrder, about peer: WhisperID) async throws -> Outcome {
        switch order {
        case .accept:
            try await self.core.accept(peer)
            return Self.plain("Accepted: this person is a contact now.")
        case .reject:
            try await self.core.reject(peer)
            return .left([Remark(text: "Rejected: the messages are deleted. Nobody was told.")])
        case .block:
            try await self.core.set(isBlocked: true, peer)
            return Self.plain("Blocked. /unblock takes it back.")
        case .unblock:
            try await self.core.set(isBlocked: false, peer)
            return Self.plain("Not blocked any more.")
        case .verified(let isSame):
            try await self.core.set(isVerified: isSame, peer)
            return Self.plain(isSame ? "Verified: these are the true keys." : "Not verified.")
        default:
            let number = try await self.core.safetyNumber(with: peer)
            return .said([
                Remark(text: "The safety number of you two. Compare it by voice:"), Remark(text: number),
                Remark(text: "/verified yes notes that both see the same, /verified no that they do not."),
            ])
        }
    }

    private func members() async throws -> [Remark] {
        guard case .group(let id, _) = self.partner else {
            return [Remark(text: "Only you and \(self.partner.spokenName) are here.")]
        }
        let members = try await self.core.members(ofGroup: id).map { member in
            let name = member.name.map { "\(harmlessLine($0)) · " } ?? ""
            return Remark(
                text: name + "\(member.id)" + (member.role == "member" ? "" : ", \(harmlessLine(member.role))"))
        }
        let group = try await self.core.groups().first { Conversation.key(ofGroup: $0.id) == self.partner.place.name }
        guard let group, group.newcomers > 0 else { return members }
        return members + [
            Remark(
                text: "\(group.newcomers) of them came without your word and receive nothing of yours: "
                    + "`whisper do group_admit` admits them.", tone: .bad)
        ]
    }

    private static var tooFar: Outcome {
        Self.bad("There is no such message among the latest ones. Nothing was changed.")
    }

    private static func plain(_ text: String) -> Outcome { .said([Remark(text: text)]) }
    private static func bad(_ text: String) -> Outcome { .said([Remark(text: text, tone: .bad)]) }

    // MARK: Files

    /// A message of theirs came or is shown.
    func saw(_ message: Message) {
        if message.state == nil, message.attachment != nil { self.offered = message }
    }

    /// Something became of a message of theirs.
    /// - Returns: what to say; `nil` if it is not the one whose file is wanted.
    func saved(_ message: Message) -> [Remark]? {
        guard self.saving == message.id, let attachment = message.attachment, message.content != .deleted else {
            return nil
        }
        let name = describe(attachment.details)
        return switch attachment.state {
        case .complete: [Remark(text: "\(name): saved.", tone: .good)]
        case .failed(let failure): [Remark(text: "\(name): not saved, \(describe(failure)).", tone: .bad)]
        case .offered, .waiting, .kept: []
        }
    }
}
