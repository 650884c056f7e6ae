import Contract
import TerminalText
import WhisperClient

/// Does what a whisperer orders about listeners, and says what came of it.
struct WhisperControl {
    let client: WhisperClient
    let conversation: ConversationID

    /// - Returns: what to say; `nil` for "end".
    func perform(_ order: WhisperOrder) async throws(LiveError) -> [String]? {
        switch order {
        case .text: return []
        case .accept(let name):
            return try await self.withCaller(name) { caller throws(LiveError) in
                try await self.client.accept(caller.listener, in: self.conversation)
                return "\(harmlessLine(caller.name)) is let in."
            }
        case .decline(let name):
            return try await self.withCaller(name) { caller throws(LiveError) in
                await self.client.decline(caller.listener, in: self.conversation)
                return "\(harmlessLine(caller.name)) is sent away."
            }
        case .remove(let name): return try await self.remove(name, isBlocked: false)
        case .block(let name): return try await self.remove(name, isBlocked: true)
        case .who: return await self.people()
        case .end: return nil
        case .unknown: return ["There is no such order. There are \(WhisperOrder.help)."]
        }
    }

    private func withCaller(
        _ name: String?, _ body: (AdmissionDesk.Caller) async throws(LiveError) -> String
    ) async throws(LiveError) -> [String] {
        let callers = await self.client.callers(of: self.conversation)
        guard let name else {
            guard let caller = callers.first else { return ["Nobody asks to listen."] }
            return [try await body(caller)]
        }
        switch Self.choose(name, callers.map { ($0.listener, $0.name) }) {
        case .one(let id): return [try await body(callers.first { $0.listener == id }!)]
        case .problem(let text): return [text]
        }
    }

    private func remove(_ name: String, isBlocked: Bool) async throws(LiveError) -> [String] {
        let listeners = await self.client.listeners(of: self.conversation).map { ($0.listener.id, $0.listener.name) }
        let callers = isBlocked ? await self.client.callers(of: self.conversation).map { ($0.listener, $0.name) } : []
        switch Self.choose(name, listeners + callers) {
        case .one(let id):
            try await self.client.remove(id, isBlocked: isBlocked, in: self.conversation)
            return ["\(harmlessLine(name)) is \(isBlocked ? "blocked" : "removed"). Everybody else gets new keys."]
        case .problem(let text): return [text]
        }
    }

    private func people() async -> [String] {
        let callers = await self.client.callers(of: self.conversation)
            .map { "? \(harmlessLine($0.name)) (\($0.listener)) asks to listen." }
        let listeners = await self.client.listeners(of: self.conversation).map { listener, isPresent in
            "\(isPresent ? "●" : "○") \(harmlessLine(listener.name)) (\(listener.id))\(isPresent ? "" : ", not here")"
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
