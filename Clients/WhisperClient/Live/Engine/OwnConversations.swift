package import Contract

/// Commands for our own conversations that need no stream (contract §14.6, §14.11).
extension WhisperClient {
    /// All our conversations.
    /// - Returns: each with the server's view of it; `nil` if it never had a stream.
    package func ownConversations() async throws(LiveError) -> [(OwnConversation, LiveConversation?)] {
        let (own, profile) = try self.kept { (try $0.conversations(), try $0.profile().id) }
        guard !own.isEmpty else { return [] }
        var known: [LiveConversation] = []
        do throws(LiveError) {
            let answer = try await self.ask(LiveList(profile))
            known = (answer as? LiveConversations)?.conversations ?? []
        } catch {
            // The first stream creates the profile at the server.
            guard case .refused(.notFound, _) = error else { throw error }
        }
        return own.map { one in (one, known.first { $0.conversation == one.id }) }
    }

    /// Stores the conversation, and updates it at the server. Repeat it if the server did not answer: each update
    /// contains everything.
    package func update(_ conversation: OwnConversation) async throws(LiveError) {
        let profile = try self.kept { store in
            try store.update(conversation)
            return try store.profile().id
        }
        guard let device = self.id else { throw .offline }
        let id = conversation.id
        let info = LiveSigned(
            conversation.info.sealed(for: id, link: conversation.link, nonce: Sodium.random(LiveLimits.nonceBytes)),
            as: .update(profile: profile), of: id, from: .identity(device), timestamp: self.serverNow,
            signer: conversation.keys.pair)
        do throws(LiveError) {
            try await self.ask(
                LiveUpdate(
                    id, linkVerifier: Bytes32(conversation.link.verifier), transcriptDays: conversation.transcriptDays,
                    info: info))
        } catch {
            // The first stream creates the conversation at the server.
            guard case .refused(.notFound, _) = error else { throw error }
        }
    }

    /// Ends the stream, removes listeners, transcripts and shares, and forgets the keys.
    package func delete(_ id: ConversationID) async throws(LiveError) {
        do throws(LiveError) {
            try await self.ask(LiveDelete(id))
        } catch {
            guard case .refused(.notFound, _) = error else { throw error }
        }
        try self.kept { try $0.remove(id) }
    }

    // MARK: Transcripts

    /// Transcripts that the server keeps, the newest first.
    package func transcripts(of id: ConversationID) async throws(LiveError) -> [Transcript] {
        var (found, cursor): ([Transcript], String?) = ([], nil)
        // A hostile server must not keep us busy for ever.
        for _ in 0..<Self.transcriptPagesMax {
            let body = try await self.fetch(TranscriptPage.path(id, cursor: cursor))
            guard let page = TranscriptPage(body) else { throw .server(status: 0) }
            found += page.transcripts
            guard let next = page.next else { return found }
            cursor = next
        }
        return found
    }

    /// Makes a link that opens the lines of a stream.
    /// - Parameter expiresIn: 60 seconds to 365 days.
    /// - Throws: `.tooLong` if the lines have more keys than one share holds, or are on more than `linePagesMax` pages.
    package func share(
        _ content: UUIDText, of conversation: OwnConversation, expiresIn: Duration
    ) async throws(LiveError) -> TranscriptShare {
        var (generations, after): (Set<Int>, Int?) = ([], 0)
        for _ in 0..<Self.linePagesMax {
            guard let start = after else { break }
            let body = try await self.fetch(LinePage.path(conversation.id, content, after: start))
            guard let page = LinePage(body) else { throw .server(status: 0) }
            generations.formUnion(page.generations)
            after = page.next.flatMap { $0 > start ? $0 : nil }
        }
        guard after == nil else { throw .tooLong }
        let secret = SecretBytes(Sodium.random(LiveLimits.shareSecretBytes))
        let body = TranscriptShare.body(
            ShareKeys(secret: secret), of: conversation, content: content, generations: generations,
            expiresIn: expiresIn)
        guard let body else { throw .tooLong }
        guard let token else { throw .offline }
        let path = TranscriptShare.path(conversation.id, content)
        let answer: HTTPAnswer
        do { answer = try await self.server.post(path, body, bearer: token.token) } catch { throw .unreachable(error) }
        guard let share = TranscriptShare(try Self.body(of: answer), secret: secret) else { throw .server(status: 0) }
        return share
    }

    /// The link of a share opens nothing more.
    package func unshare(_ share: UUIDText, of id: ConversationID) async throws(LiveError) {
        try await self.remove("/live/\(id)/shares/\(share)")
    }

    /// Deletes the lines of a stream, and all shares of them.
    package func deleteTranscript(_ content: UUIDText, of id: ConversationID) async throws(LiveError) {
        try await self.remove("/live/\(id)/transcripts/\(content)")
    }

    private static let transcriptPagesMax = 100
    /// Pages of one transcript's lines.
    private static let linePagesMax = 10_000

    private func fetch(_ path: String) async throws(LiveError) -> [UInt8] {
        guard let token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.get(path, bearer: token.token) } catch { throw .unreachable(error) }
        return try Self.body(of: answer)
    }

    private func remove(_ path: String) async throws(LiveError) {
        guard let token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.delete(path, bearer: token.token) } catch { throw .unreachable(error) }
        _ = try Self.body(of: answer)
    }

    private static func body(of answer: HTTPAnswer) throws(LiveError) -> [UInt8] {
        switch answer.status {
        case 200: return answer.body
        case 404: throw .notFound
        default: throw .server(status: answer.status)
        }
    }
}
