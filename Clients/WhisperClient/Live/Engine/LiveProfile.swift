package import Contract

/// The profile of live conversations that several devices of one person share (contract §14.4). Each device has its own
/// identity. The server keeps the profile's documents, and cannot read them.
package struct LiveProfile: Sendable {
    private let store: LiveStore
    private let server: any ServerLink

    init(store: LiveStore, server: any ServerLink) {
        self.store = store
        self.server = server
    }

    /// The link with which another device joins. The first call draws its secret.
    package func link() throws(LiveError) -> ProfileLink {
        let profile = try self.store.kept { try $0.profile() }
        return ProfileLink(id: profile.id, secret: profile.secret)
    }

    /// Creates our profile at the server, so that other devices can join. A repetition changes nothing.
    package func share(_ host: isolated some LiveHost) async throws(LiveError) -> SharedProfile {
        // A device without the newest secret must not restore its older one.
        do throws(LiveError) { return try await self.shared(host) } catch {
            guard error == .notFound else { throw error }
        }
        let link = try self.link()
        let made = try await self.profile(host) { (server, token) throws(LinkError) in
            try await server.put(
                Self.path(of: link.id), ProfileKeys(secret: link.secret).body, if: nil, bearer: token)
        }
        try self.store.kept { try $0.setProfileAbsent(false) }
        return made
    }

    /// Joins another device's profile, in place of our own.
    /// - Throws: `.inUse` if conversations of our own are not untouched: they belong to our profile.
    package func join(_ link: ProfileLink, _ host: isolated some LiveHost) async throws(LiveError) -> SharedProfile {
        let isFree = try self.store.kept { store in
            try store.hasProfile() && store.profile().id == link.id || !store.isInUse()
        }
        guard isFree else { throw .inUse }
        let shared = try await self.profile(host) { (server, token) throws(LinkError) in
            try await server.post(
                Self.path(of: link.id) + "/members", ProfileKeys(secret: link.secret).joinBody, bearer: token)
        }
        // Stored even if it is our own profile: another device may have renewed its secret.
        try self.store.kept { store in
            try store.join(link.id, secret: link.secret)
            try store.setProfileShared()
        }
        host.profileKeeper.joined(host)
        return shared
    }

    /// Our profile as the server knows it.
    /// - Throws: `.notFound` if the profile does not exist, or another device has removed us.
    package func shared(_ host: isolated some LiveHost) async throws(LiveError) -> SharedProfile {
        let id = try self.store.kept { try $0.profile().id }
        let shared = try await self.profile(host) { (server, token) throws(LinkError) in
            try await server.get(Self.path(of: id), bearer: token)
        }
        try self.store.kept { if try $0.profile().id == id { try $0.setProfileAbsent(false) } }
        return shared
    }

    /// Removes a device from our profile. The device keeps the secrets it had, but the server refuses its commands.
    /// After our own removal a new profile is drawn, and our conversations stay with the other devices.
    /// - Parameter member: `nil` for this device.
    package func remove(_ member: WhisperID?, _ host: isolated some LiveHost) async throws(LiveError) {
        guard let own = host.id, let token = host.token else { throw .offline }
        let isOurs = member == nil || member == own
        let id = try self.store.kept { try $0.profile().id }
        if isOurs, try await self.isNeededHere(host) { throw .inUse }
        let answer: HTTPAnswer
        do throws(LinkError) {
            answer = try await self.server.delete(
                Self.path(of: id) + "/members/\(member ?? own)", bearer: token.token)
        } catch {
            throw .unreachable(error)
        }
        _ = try Self.body(of: answer)
        if isOurs {
            try self.store.kept { try $0.leaveProfile() }
            host.profileKeeper.joined(host)
        }
    }

    /// Whether conversations that the person uses would be lost with this device.
    private func isNeededHere(_ host: isolated some LiveHost) async throws(LiveError) -> Bool {
        guard try self.store.kept({ try $0.isInUse() }) else { return false }
        guard !host.streams.isWhispering, try self.store.kept({ try $0.owedDocuments()[.whisper] == nil }) else {
            return true
        }
        return try await self.shared(host).members.count < 2
    }

    private static func path(of profile: UUIDText) -> String { "/profiles/\(profile)" }

    private func profile(
        _ host: isolated some LiveHost, _ ask: (any ServerLink, String) async throws(LinkError) -> HTTPAnswer
    ) async throws(LiveError) -> SharedProfile {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do throws(LinkError) { answer = try await ask(self.server, token.token) } catch { throw .unreachable(error) }
        guard let profile = SharedProfile(try Self.body(of: answer)) else { throw .server(status: 0) }
        return profile
    }

    private static func body(of answer: HTTPAnswer) throws(LiveError) -> [UInt8] {
        switch answer.status {
        case 200: return answer.body
        case 401: throw .refused(.notRegistered, retryAfter: nil)
        case 403: throw .refused(.forbidden, retryAfter: nil)
        case 404: throw .notFound
        case 429: throw .refused(.rateLimited, retryAfter: nil)
        default: throw .server(status: answer.status)
        }
    }

    // MARK: Documents

    /// - Throws: `.notFound` if no document has this name, or we are in no profile; `.outdated` if the server shows an
    ///   older document than this device has seen; `.unreadable`.
    package func document(
        _ name: ProfileDocumentName, _ host: isolated some LiveHost
    ) async throws(LiveError) -> ProfileDocument {
        let link = try self.link()
        let (written, text) = try await self.standing(name, of: link, host)
        let seen = SeenDocument(version: written.version, counter: text.counter)
        guard try self.store.kept({ try $0.note(seen, as: name, of: link.id) }) else { throw .outdated }
        return ProfileDocument(
            name: name, version: written.version, updatedAt: Timestamp(milliseconds: written.updatedAt),
            content: text.content)
    }

    /// The server's document, whatever was seen here before.
    /// - Throws: `.notFound`, `.unreadable`.
    func standing(
        _ name: ProfileDocumentName, of link: ProfileLink, _ host: isolated some LiveHost
    ) async throws(LiveError) -> (written: DocumentBody.Written, text: DocumentText) {
        let body = try await self.documentBody(host) { (server, token) throws(LinkError) in
            try await server.get(Self.path(of: name, link.id), bearer: token)
        }
        guard let read = DocumentBody.read(body) else { throw .server(status: 0) }
        // While the secret is renewed, some documents already have the next key.
        let secrets = [link.secret] + (try self.store.kept { try $0.nextProfileSecret() }.map { [$0] } ?? [])
        let texts = secrets.lazy.compactMap { secret in
            DocumentText(read.sealed, as: name, of: link.id, key: ProfileKeys(secret: secret).documentKey)
        }
        guard let text = texts.first else { throw .unreadable }
        return (read.written, text)
    }

    /// Replaces the version that was read here.
    /// - Parameters:
    ///   - version: 0 for the first write.
    ///   - secret: the profile's next secret, while it is renewed.
    /// - Throws: `.changed` if another device has written meanwhile, or this version was not read here; `.tooLong` if
    ///   the document is too long for the server.
    package func write(
        _ content: String, as name: ProfileDocumentName, over version: Int64, secret: SecretBytes? = nil,
        _ host: isolated some LiveHost
    ) async throws(LiveError) -> ProfileDocument {
        let link = try self.link()
        let seen = try self.store.kept { try $0.seenDocument(name, of: link.id) }
        guard seen?.version ?? 0 == version else { throw .changed }
        let (counter, overflow) = (seen?.counter ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .outdated }
        // While the secret is renewed, nobody who was removed may open what is written.
        let pending = try self.store.kept { try $0.nextProfileSecret() }
        let sealed = DocumentText(counter: counter, content: content).sealed(
            as: name, of: link.id, key: ProfileKeys(secret: secret ?? pending ?? link.secret).documentKey,
            nonce: Sodium.random(LiveLimits.nonceBytes))
        // Leave room for the longest counter, so that the document can always be sealed again.
        let bytes = sealed.ciphertext.count - "\(counter)".utf8.count + "\(Int64.max)".utf8.count
        guard bytes <= Limits.profileDocumentBytesMax else { throw .tooLong }
        let body = try await self.documentBody(host) { (server, token) throws(LinkError) in
            try await server.put(
                Self.path(of: name, link.id), DocumentBody.encode(sealed),
                if: version == 0 ? .isNew : .matches("\"\(version)\""), bearer: token)
        }
        guard let written = DocumentBody.written(body) else { throw .server(status: 0) }
        let news = SeenDocument(version: written.version, counter: counter)
        // Another device may have written since, and this device may have seen its document.
        _ = try self.store.kept { try $0.note(news, as: name, of: link.id) }
        return ProfileDocument(
            name: name, version: written.version, updatedAt: Timestamp(milliseconds: written.updatedAt),
            content: content)
    }

    private static func path(of name: ProfileDocumentName, _ profile: UUIDText) -> String {
        Self.path(of: profile) + "/documents/\(name.rawValue)"
    }

    private func documentBody(
        _ host: isolated some LiveHost, _ ask: (any ServerLink, String) async throws(LinkError) -> HTTPAnswer
    ) async throws(LiveError) -> [UInt8] {
        guard let token = host.token else { throw .offline }
        let answer: HTTPAnswer
        do throws(LinkError) { answer = try await ask(self.server, token.token) } catch { throw .unreachable(error) }
        guard answer.status != 412 else { throw .changed }
        // The server's limit is lower for a profile whose members have no peers.
        guard answer.status != 413 else { throw .tooLong }
        return try Self.body(of: answer)
    }

    // MARK: Renewal

    /// Draws a new secret, and seals all documents with its key. The previous link neither admits a device nor opens
    /// later documents. Other devices join again by the new link.
    ///
    /// The new secret is stored before it is used at the server. A retry after an interruption uses the same secret.
    /// - Returns: the profile; its link has the new secret.
    package func renew(_ host: isolated some LiveHost) async throws(LiveError) -> SharedProfile {
        let old = try self.link()
        let next = try self.store.kept {
            try $0.nextProfileSecret(orKeep: SecretBytes(Sodium.random(LiveLimits.secretBytes)))
        }
        // The removed device cannot join while documents are written.
        let shared = try await self.profile(host) { (server, token) throws(LinkError) in
            try await server.put(Self.path(of: old.id), ProfileKeys(secret: next).body, if: nil, bearer: token)
        }
        for name in ProfileDocumentName.allCases { try await self.sealAnew(name, of: old, with: next, host) }
        try self.store.kept { try $0.set(profile: old.id, secret: next) }
        host.profileKeeper.joined(host)
        return shared
    }

    /// Removes another device and renews the profile, so that the device cannot join again.
    /// - Returns: the new link; `nil` if the renewal failed. Its secret is kept for the next one.
    package func expel(_ member: WhisperID, _ host: isolated some LiveHost) async throws(LiveError) -> ProfileLink? {
        try await self.remove(member, host)
        do throws(LiveError) {
            _ = try await self.renew(host)
        } catch {
            if case .store = error { throw error }
            return nil
        }
        return try self.link()
    }

    private func sealAnew(
        _ name: ProfileDocumentName, of old: ProfileLink, with next: SecretBytes, _ host: isolated some LiveHost
    ) async throws(LiveError) {
        for _ in 0..<ClientLimits.documentAttemptsMax {
            let document: ProfileDocument
            do throws(LiveError) { document = try await self.document(name, host) } catch {
                guard error == .notFound else { throw error }
                return
            }
            do throws(LiveError) {
                _ = try await self.write(document.content, as: name, over: document.version, secret: next, host)
                return
            } catch {
                // Another device was faster: its document is read and sealed again.
                guard error == .changed else { throw error }
            }
        }
        throw .changed
    }

    // MARK: Frames of the server

    /// Another device has changed our profile. Notices about other profiles are ignored.
    func take(_ changed: ProfileChanged, _ host: isolated some LiveHost) {
        guard let own = try? self.store.profile().id, own == changed.profileID else { return }
        host.publish(.passing(.profile(own, changed.change)))
        host.profileKeeper.heard(of: changed.change, host)
    }
}
