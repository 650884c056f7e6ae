import Contract
import FoundationEssentials
import TerminalText
import WhisperClient

/// Does what a person orders in a chat, and says what came of it. Knows which file of theirs came last.
actor ChatControl {
    private let core: CoreClient
    private let peer: Contact
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
        /// The person is done here.
        case left([Remark])
    }

    init(core: CoreClient, peer: Contact) {
        self.core = core
        self.peer = peer
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
        let peer = self.peer.id
        let folder = FileManager.default.currentDirectoryPath
        switch order {
        case .text(let text):
            guard !text.trimmed.isEmpty else { return .said([]) }
            // Shown when its first event comes, which is at once.
            _ = try await self.core.send(text, to: peer)
            return .said([])
        case .file(let path):
            _ = try await self.core.send(
                file: ChatFile.absolute(path, in: folder), type: ChatFile.type(of: path), to: peer)
            return .said([])
        case .save(let path):
            guard let message = self.offered else { return Self.bad("There is no file of theirs here.") }
            self.saving = message.id
            try await self.core.fetchFile(of: message, to: ChatFile.absolute(path, in: folder))
            return .said([])
        case .retry: return Self.plain(describe(retried: try await self.core.retry(to: peer).count))
        case .cancel: return Self.plain(describe(cancelled: try await self.core.cancel(to: peer)))
        case .resume:
            try await self.core.resumeOutbox()
            return Self.plain("What was kept apart goes out.")
        case .discard: return Self.plain(describe(cancelled: try await self.core.discardOutbox()))
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
        case .help: return .said(ChatOrder.helpLines.map { Remark(text: $0) })
        case .quit: return .left([])
        case .misused(let usage): return Self.bad("Nothing was sent. It is written \(usage); /help lists the orders.")
        case .unknown(let order): return Self.bad(SlashLine.unknown(order))
        }
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
        case .offered, .waiting: []
        }
    }
}
