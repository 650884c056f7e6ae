package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// Transcripts and their shares, for members of the conversation's profile (contract §14.11). To all others there is no such
/// conversation.
package struct TranscriptRoutes: Sendable {
    private let sessions: HTTPSessions
    private let pool: PostgresPool
    private let kept: KeptBounds
    private let logger: Logger
    private let errors = ErrorMetrics()

    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies, kept: KeptBounds,
        logger: Logger
    ) {
        self.sessions = HTTPSessions(
            pool: pool, bus: bus, rates: rates, trustedProxies: trustedProxies, logger: logger)
        self.pool = pool
        self.kept = kept
        self.logger = logger
    }

    package func add(to router: Router<ClientContext>) {
        router.get("live/{conversationId}/transcripts") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in try await self.list(request, context) }
        }
        router.get("live/{conversationId}/transcripts/{contentId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in try await self.read(request, context) }
        }
        router.delete("live/{conversationId}/transcripts/{contentId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in try await self.delete(request, context) }
        }
        router.post("live/{conversationId}/transcripts/{contentId}/shares") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in try await self.share(request, context) }
        }
        router.delete("live/{conversationId}/shares/{shareId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.deleteShare(request, context)
            }
        }
    }

    // MARK: Transcripts

    private func list(_ request: Request, _ context: ClientContext) async throws(HTTPRefusal) -> Response {
        let (identity, conversation) = try await self.caller(request, context)
        let limit = try Self.number("limit", in: LiveLimits.transcriptPage, of: request)
        var cursor: TranscriptCursor?
        if let text = request.uri.queryParameters["cursor"] {
            cursor = TranscriptCursor(String(text))
            guard cursor != nil else { throw .badParameter("cursor") }
        }
        let shown = limit ?? Int(LiveLimits.transcriptPage.upperBound)
        let found = try await self.asMember(identity, of: conversation) {
            // One more than is shown tells whether there is another page.
            $0.add(TranscriptTable.list(of: conversation, behind: cursor, limit: shown + 1, at: .now))
        }
        let transcripts = Array(found.prefix(shown))
        return .answer(
            TranscriptOperations.answer(
                transcripts, next: found.count > shown ? transcripts.last?.cursor : nil))
    }

    private func read(_ request: Request, _ context: ClientContext) async throws(HTTPRefusal) -> Response {
        let (identity, conversation) = try await self.caller(request, context)
        let content = try Self.content(of: conversation, context)
        let after = try Self.number("after", in: 0...LiveLimits.lineNumbers.upperBound, of: request) ?? 0
        let limit =
            try Self.number("limit", in: LiveLimits.linePage, of: request) ?? Int(LiveLimits.linePage.upperBound)
        let head = try await self.asMember(identity, of: conversation) {
            $0.add(TranscriptTable.head(of: content, at: .now))
        }
        guard let head else { throw .noSuchTranscript }
        let lines = try await self.stored { () async throws(StoreError) in
            try await self.pool.query(
                TranscriptTable.lines(
                    of: content, after: after, limit: limit, bytesMax: ConversationLimits.linesBytesMax))
        }
        return .answer(head.page(of: lines).json)
    }

    private func delete(_ request: Request, _ context: ClientContext) async throws(HTTPRefusal) -> Response {
        let (identity, conversation) = try await self.caller(request, context)
        let content = try Self.content(of: conversation, context)
        try await self.requireMember(identity, of: conversation)
        _ = try await self.stored { () async throws(StoreError) in
            try await self.pool.persistently { transaction throws(StoreError) in
                try await transaction.execute(TranscriptTable.delete(content))
            }
        }
        return .answer(TranscriptOperations.done)
    }

    // MARK: Shares

    private func share(_ request: Request, _ context: ClientContext) async throws(HTTPRefusal) -> Response {
        let (identity, conversation) = try await self.caller(request, context)
        let content = try Self.content(of: conversation, context)
        let body: TranscriptOperations.Share = try await JSONBody.read(
            of: request, bytesMax: ConversationLimits.shareBodyBytesMax)
        let head = try await self.asMember(identity, of: conversation) {
            $0.add(TranscriptTable.head(of: content, at: .now))
        }
        guard head != nil else { throw .noSuchTranscript }
        let id = UUIDText.random()
        let sharing = try await self.stored { () async throws(StoreError) in
            try await self.pool.withTransaction { transaction throws(StoreError) in
                // A statement of its own: the one behind it sees what was committed while it waited.
                var locking = Pipeline()
                locking.add(TranscriptShareTable.lock(content))
                _ = try await transaction.pipeline(locking)
                var inserting = Pipeline()
                let inserted = inserting.add(
                    TranscriptShareTable.insert(
                        id, of: content, body, by: identity, within: self.kept, at: .now))
                return try await transaction.pipeline(inserting)[inserted]
            }
        }
        switch sharing {
        case .noTranscript: throw .noSuchTranscript
        case .noRoom: throw .tooManyShares
        case .made(let expiresAt): return .answer(TranscriptOperations.answer(share: id, expiresAt: expiresAt))
        }
    }

    private func deleteShare(_ request: Request, _ context: ClientContext) async throws(HTTPRefusal) -> Response {
        let (identity, conversation) = try await self.caller(request, context)
        try await self.requireMember(identity, of: conversation)
        // A text that is no id names no share: there is nothing to delete.
        if let share = Self.id("shareId", context) {
            try await self.run(TranscriptShareTable.delete(share, of: conversation))
        }
        return .answer(TranscriptOperations.done)
    }

    // MARK: Who asks, and for what

    private func caller(
        _ request: Request, _ context: ClientContext
    ) async throws(HTTPRefusal) -> (WhisperID, ConversationID) {
        let session = try await self.sessions.session(of: request, from: context.peer, within: Rates.transcripts)
        guard let conversation = context.parameters.get("conversationId").flatMap({ ConversationID($0) }) else {
            throw .noSuchConversation
        }
        return (session.caller.identity, conversation)
    }

    private static func id(_ name: String, _ context: ClientContext) -> UUIDText? {
        context.parameters.get(name).flatMap { UUIDText($0) }.flatMap { $0.upperCase == 0 ? $0 : nil }
    }

    private static func content(
        of conversation: ConversationID, _ context: ClientContext
    ) throws(HTTPRefusal) -> LiveFacts.Content {
        guard let content = self.id("contentId", context) else { throw .noSuchTranscript }
        return .init(conversation: conversation, content: content)
    }

    private static func number(
        _ name: StaticString, in range: ClosedRange<Int64>, of request: Request
    ) throws(HTTPRefusal) -> Int? {
        guard let text = request.uri.queryParameters["\(name)"] else { return nil }
        guard let number = Int64(text), range.contains(number) else { throw .badParameter(name) }
        return Int(number)
    }

    // MARK: The database

    /// Reads what only members may see, in one round trip with who is one.
    private func asMember<Answer>(
        _ identity: WhisperID, of conversation: ConversationID,
        _ read: (inout Pipeline) -> Pipeline.Ticket<Answer>
    ) async throws(HTTPRefusal) -> Answer {
        var pipeline = Pipeline()
        let member = pipeline.add(TranscriptTable.isMember(identity, of: conversation))
        let answer = read(&pipeline)
        let reading = pipeline
        let (isMember, found) = try await self.stored { () async throws(StoreError) in
            let answers = try await self.pool.pipeline(reading)
            return (try answers[member], try answers[answer])
        }
        guard isMember else { throw .noSuchConversation }
        return found
    }

    private func requireMember(_ identity: WhisperID, of conversation: ConversationID) async throws(HTTPRefusal) {
        let isMember = try await self.stored { () async throws(StoreError) in
            try await self.pool.query(TranscriptTable.isMember(identity, of: conversation))
        }
        guard isMember else { throw .noSuchConversation }
    }

    private func run(_ sql: SQL) async throws(HTTPRefusal) {
        _ = try await self.stored { () async throws(StoreError) in try await self.pool.query(sql) }
    }

    private func stored<Answer>(
        _ body: () async throws(StoreError) -> Answer
    ) async throws(HTTPRefusal) -> Answer {
        do throws(StoreError) {
            return try await body()
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
    }

}

extension TranscriptTable.Head {
    /// - Parameter lines: that were read after the head.
    func page(of lines: [TranscriptOperations.Line]) -> TranscriptOperations.Lines {
        .init(lines: lines, isOpen: self.isOpen, hasMore: lines.last.map { $0.line < self.lastLine } ?? false)
    }
}

extension HTTPRefusal {
    /// The same for an unknown id, a wrong proof and a caller who is no member.
    static let noSuchConversation = HTTPRefusal(.notFound, "there is no such conversation")
    fileprivate static let noSuchTranscript = HTTPRefusal(.notFound, "there is no such transcript")
    fileprivate static let tooManyShares = HTTPRefusal(
        .forbidden, "there is no room for more shares: delete one, or wait until one expires")

    fileprivate static func badParameter(_ name: StaticString) -> HTTPRefusal {
        .invalid(PayloadViolation("\(name)", "is not valid"))
    }
}
