import Contract
import TerminalText
import WhisperClient

/// Does what a whisperer orders about listeners, and says what came of it.
struct WhisperControl {
    let core: CoreClient
    let conversation: ConversationID

    /// - Returns: what to say; `nil` for "end".
    /// - Throws: a `Problem` if the daemon has gone.
    func perform(_ order: WhisperOrder) async throws -> [String]? {
        do {
            switch order {
            case .text: return []
            case .accept(let name):
                return try await self.withCaller(name) { id, name in
                    try await self.core.accept(id, in: self.conversation)
                    return "\(harmlessLine(name)) is let in."
                }
            case .decline(let name):
                return try await self.withCaller(name) { id, name in
                    try await self.core.refuse(id, in: self.conversation)
                    return "You declined \(harmlessLine(name))."
                }
            case .remove(let name): return try await self.remove(name, isBlocked: false)
            case .block(let name): return try await self.remove(name, isBlocked: true)
            case .who: return try await self.people()
            case .end: return nil
            case .help: return ["The orders are \(WhisperOrder.list). // stands for a / that is text."]
            case .unknown(let order): return [SlashLine.unknown(order)]
            }
        } catch let refusal as CoreClient.Refusal {
            return [describe(whispering: refusal)]
        }
    }

    private func withCaller(
        _ name: String?, _ body: (PrincipalID, String) async throws -> String
    ) async throws -> [String] {
        let callers = try await self.core.roster(of: self.conversation).callers
        guard let name else {
            guard let caller = callers.first else { return ["Nobody asks to listen."] }
            return [try await body(caller.id, caller.name)]
        }
        switch Self.choose(name, callers) {
        case .one(let id): return [try await body(id, callers.first { $0.id == id }!.name)]
        case .problem(let text): return [text]
        }
    }

    private func remove(_ name: String, isBlocked: Bool) async throws -> [String] {
        let roster = try await self.core.roster(of: self.conversation)
        switch Self.choose(name, roster.listeners.map(\.person) + (isBlocked ? roster.callers : [])) {
        case .one(let id):
            try await self.core.remove(id, isBlocked: isBlocked, in: self.conversation)
            return ["\(harmlessLine(name)) is \(isBlocked ? "blocked" : "removed"). Everybody else gets new keys."]
        case .problem(let text): return [text]
        }
    }

    private func people() async throws -> [String] {
        let roster = try await self.core.roster(of: self.conversation)
        let callers = roster.callers.map { "? \(harmlessLine($0.name)) (\($0.id)) asks to listen." }
        let listeners = roster.listeners.map { person, isPresent in
            "\(isPresent ? "●" : "○") \(harmlessLine(person.name)) (\(person.id))\(isPresent ? "" : ", not here")"
        }
        return callers.isEmpty && listeners.isEmpty ? ["Nobody listens."] : callers + listeners
    }

    enum Choice: Equatable {
        case one(PrincipalID)
        case problem(String)
    }

    /// People name themselves, so two may have one name: then the id decides.
    static func choose(_ name: String, _ people: [(id: PrincipalID, name: String)]) -> Choice {
        if let person = people.first(where: { "\($0.id)".lowercased() == name.lowercased() }) { return .one(person.id) }
        let named = people.filter { $0.name.lowercased() == name.lowercased() }
        switch named.count {
        case 0: return .problem("There is nobody called \"\(harmlessLine(name))\" here. /who lists them.")
        case 1: return .one(named[0].id)
        default:
            let ids = named.map { "\($0.id)" }.joined(separator: " or ")
            return .problem("Several are called \"\(harmlessLine(name))\". Say which: \(ids).")
        }
    }
}
