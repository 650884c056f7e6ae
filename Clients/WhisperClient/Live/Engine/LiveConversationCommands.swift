package import Contract

/// Commands for conversations that need no stream (contract §14.6, §14.11).
package struct LiveConversationCommands: Sendable {
    private let store: LiveStore
    private let server: any ServerLink

    init(store: LiveStore, server: any ServerLink) {
        self.store = store
        self.server = server
    }

    /// A new conversation. Its first stream creates it at the server.
    package func make(
        name: String, title: String, whisperer: String, admission: Admission, passcode: String?, transcriptDays: Int,
        _ host: isolated some LiveHost
    ) throws(LiveError) -> OwnConversation {
        let taken = try self.store.kept { try $0.conversation(named: name) }
        guard taken == nil else { throw .nameTaken }
        let conversation = OwnConversation(
            drawn: name, title: title, of: whisperer, admission: admission, passcode: passcode,
            transcriptDays: transcriptDays, isUsed: true)
        try self.store.kept { try $0.add(conversation, at: host.serverNow) }
        host.profileKeeper.changed(host)
        return conversation
    }

    package func find(named name: String) throws(ClientStoreError) -> OwnConversation? {
        try self.store.conversation(named: name)
    }

    /// Fetches the info of a link's conversation. Needs no connection.
    package func look(at link: ListenLink) async throws(LiveError) -> ConversationLook {
        let keys = LinkKeys(secret: link.secret)
        let answer: HTTPAnswer
        do {
            answer = try await self.server.post(
                ConversationLook.path(link.conversation), ConversationLook.body(keys), bearer: nil)
        } catch {
            throw .unreachable(error)
        }
        switch answer.status {
        case 200:
            guard let look = ConversationLook(answer.body, of: link.conversation, link: keys) else { throw .forged }
            return look
        case 404: throw .notFound
        default: throw .server(status: answer.status)
        }
    }

    /// All our conversations.
    /// - Returns: each with the server's view of it; `nil` if it never had a stream.
    package func list(_ host: isolated some LiveHost) async throws(LiveError) -> [(OwnConversation, LiveConversation?)]
    {
        let own = try self.store.kept { try $0.conversations() }
        guard !own.isEmpty else { return [] }
        let profile = try self.store.kept { try $0.profile().id }
        var known: [LiveConversation] = []
        do throws(LiveError) {
            let answer = try await host.ask(LiveList(profile))
            known = (answer as? LiveConversations)?.conversations ?? []
        } catch {
            // The first stream creates the profile at the server.
            guard case .refused(.notFound, _) = error else { throw error }
        }
        return own.map { one in (one, known.first { $0.conversation == one.id }) }
    }

    /// Stores the conversation, and updates it at the server. Repeat it if the server did not answer: each update
    /// contains everything.
    package func update(_ conversation: OwnConversation, _ host: isolated some LiveHost) async throws(LiveError) {
        let profile = try self.store.kept { store in
            try store.update(conversation, at: host.serverNow)
            return try store.profile().id
        }
        host.streams.follow(conversation)
        host.profileKeeper.changed(host)
        guard let device = host.id else { throw .offline }
        let id = conversation.id
        let info = LiveSigned(
            conversation.info.sealed(for: id, link: conversation.link, nonce: Sodium.random(LiveLimits.nonceBytes)),
            as: .update(profile: profile), of: id, from: .identity(device), timestamp: host.serverNow,
            signer: conversation.keys.pair)
        do throws(LiveError) {
            try await host.ask(
                LiveUpdate(
                    id, linkVerifier: Bytes32(conversation.link.verifier), transcriptDays: conversation.transcriptDays,
                    info: info))
        } catch {
            // The first stream creates the conversation at the server.
            guard case .refused(.notFound, _) = error else { throw error }
        }
    }

    /// Ends the stream, removes listeners, transcripts and shares, and forgets the keys.
    package func delete(_ id: ConversationID, _ host: isolated some LiveHost) async throws(LiveError) {
        do throws(LiveError) {
            try await host.ask(LiveDelete(id))
        } catch {
            guard case .refused(.notFound, _) = error else { throw error }
        }
        try self.store.kept { try $0.remove(id, at: host.serverNow) }
        host.profileKeeper.changed(host)
    }

    /// The conversation in which the person whispers without choosing one. Without one it is drawn.
    package func standard(_ host: isolated some LiveHost) throws(LiveError) -> OwnConversation {
        let own = try self.store.kept { try $0.drawDefault() }
        host.profileKeeper.changed(host)
        return own
    }

    /// - Throws: `.notFound`
    package func setStandard(_ id: ConversationID, _ host: isolated some LiveHost) throws(LiveError) -> OwnConversation
    {
        guard let own = try self.store.kept({ try $0.conversation(id) }) else { throw .notFound }
        try self.store.kept { try $0.setDefault(id, at: host.serverNow) }
        host.profileKeeper.changed(host)
        return own
    }

    // MARK: What else the devices of a profile share

    /// Names the person, and this device.
    package func name(user: String?, device: String?, _ host: isolated some LiveHost) throws(LiveError) {
        let now = host.serverNow
        try self.store.kept { store in
            try store.change(.user, at: now) { edit in
                if let user { edit.set(["fields", "username"], to: user) }
                guard let device, let id = host.id else { return }
                let path = ["devices", "\(id)"]
                var shared = edit.contents[path]?.value.flatMap { SharedDevice($0) } ?? SharedDevice()
                shared.name = device
                edit.set(path, to: shared)
            }
        }
        host.profileKeeper.changed(host)
    }

    /// - Parameter place: `nil`: behind all others, or where it stands.
    /// - Returns: `nil` if there are `ProfileLimits.favoritesMax` others.
    package func keep(
        _ id: UUIDText, name: String, text: String, place: Int64?, _ host: isolated some LiveHost
    ) throws(LiveError) -> Favorite? {
        let known = try self.store.kept { try $0.favorites() }
        let before = known.first { $0.id == id }
        guard before != nil || known.count < ProfileLimits.favoritesMax else { return nil }
        let last = known.map(\.favorite.place).max().map { $0 + 1 } ?? 0
        let favorite = Favorite(name: name, text: text, place: place ?? before?.favorite.place ?? last)
        let now = host.serverNow
        try self.store.kept { store in
            try store.change(.favorites, at: now) { $0.set(["favorites", "\(id)"], to: favorite) }
        }
        host.profileKeeper.changed(host)
        return favorite
    }

    package func removeFavorite(_ id: UUIDText, _ host: isolated some LiveHost) throws(LiveError) {
        let now = host.serverNow
        try self.store.kept { try $0.change(.favorites, at: now) { $0.remove(["favorites", "\(id)"]) } }
        host.profileKeeper.changed(host)
    }

    // MARK: Transcripts

    /// Transcripts that the server keeps, the newest first.
    package func transcripts(
        of id: ConversationID, _ host: isolated some LiveHost
    ) async throws(LiveError) -> [Transcript] {
        var (found, cursor): ([Transcript], String?) = ([], nil)
        // A hostile server must not keep us busy for ever.
        for _ in 0..<Self.transcriptPagesMax {
            let body = try await self.fetch(TranscriptPage.path(id, cursor: cursor), host)
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
        _ content: UUIDText, of conversation: OwnConversation, expiresIn: Duration, _ host: isolated some LiveHost
    ) async throws(LiveError) -> TranscriptShare {
        var (generations, after): (Set<Int>, Int?) = ([], 0)
        for _ in 0..<Self.linePagesMax {
            guard let start = after else { break }
            let body = try await self.fetch(LinePage.path(conversation.id, content, after: start), host)
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
        guard let token = host.token else { throw .offline }
        let path = TranscriptShare.path(conversation.id, content)
        let answer: HTTPAnswer
        do { answer = try await self.server.post(path, body, bearer: token.token) } catch { throw .unreachable(error) }
        guard let share = TranscriptShare(try Self.body(of: answer), secret: secret) else { throw .server(status: 0) }
        return share
    }

    /// The link of a share opens nothing more.
    package func unshare(
        _ share: UUIDText, of id: ConversationID, _ host: isolated some LiveHost
    ) async throws(LiveError) {
        try await self.remove("/live/\(id)/shares/\(share)", host)
    }

    /// Deletes the lines of a stream, and all shares of them.
    package func deleteTranscript(
        _ content: UUIDText, of id: ConversationID, _ host: isolated some LiveHost
    ) async throws(LiveError) {
        try await self.remove("/live/\(id)/transcripts/\(content)", host)
    }

    private static let transcriptPagesMax = 100
    /// Pages of one transcript's lines.
    private static let linePagesMax = 10_000

    private func fetch(_ path: String, _ host: isolated some LiveHost) async throws(LiveError) -> [UInt8] {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do { answer = try await self.server.get(path, bearer: token.token) } catch { throw .unreachable(error) }
        return try Self.body(of: answer)
    }

    private func remove(_ path: String, _ host: isolated some LiveHost) async throws(LiveError) {
        guard let token = host.token else { throw .offline }
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
